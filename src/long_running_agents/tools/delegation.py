"""Delegation tools: hand work to other agents, and propose one."""

from typing import Any

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.toolsets import FunctionToolset

from long_running_agents.domain.agent import AgentDraft, AgentSpec, AgentStage, ToolChoice, said_by
from long_running_agents.domain.tool import Effect
from long_running_agents.store import agents
from long_running_agents.tools.deps import DelegateRequest, TurnDeps, effect
from long_running_agents.tools.middleware import Delegated


async def delegate(
    ctx: RunContext[TurnDeps],
    agent: str,
    task: str | list[str],
    input: dict[str, Any] | None = None,  # noqa: A002 - the word that models know
    max_parallel: int = 4,
    background: bool = False,
) -> str:
    """Hand a task to another agent; what it reports is the result.

    Args:
        agent: coder, researcher, reviewer or another.
        task: All it has to know; a list runs side by side.
        input: As its schema says.
        max_parallel: Of a list.
        background: Do not wait.
    """
    wanted = DelegateRequest(
        agent=agent,
        tasks=[task] if isinstance(task, str) else task,
        input=input,
        max_parallel=max_parallel,
        background=background,
    )
    if ctx.deps.delegate is None or ctx.tool_call_id is None:
        raise ToolFailed("Nobody can be delegated to here.")
    told = await ctx.deps.delegate(ctx.tool_call_id, wanted)
    if told is None:
        raise Delegated
    return told


async def delegate_code_task(ctx: RunContext[TurnDeps], task: str) -> str:
    """Hand a piece of programming to the coder."""
    return await delegate(ctx, "coder", task)


async def delegate_research_task(ctx: RunContext[TurnDeps], task: str) -> str:
    """Hand a question to the researcher."""
    return await delegate(ctx, "researcher", task)


def delegation_tools() -> FunctionToolset[TurnDeps]:
    """The tools to work with other agents."""
    # The same call makes the same delegate, so it may be made again after a death.
    again = Effect.IDEMPOTENT
    return FunctionToolset[TurnDeps](
        [
            Tool(delegate, metadata=effect(again)),
            Tool(delegate_code_task, metadata=effect(again, alias="delegate")),
            Tool(delegate_research_task, metadata=effect(again, alias="delegate")),
        ],
        id="delegation",
    )


async def propose_agent(
    ctx: RunContext[TurnDeps],
    name: str,
    description: str,
    instructions: str,
    tools: list[str] | None = None,
) -> str:
    """Propose a new agent for work that comes again and again; a person looks and publishes it.

    Args:
        name: A short name, such as invoice-checker.
        description: What it is for.
        instructions: What it is told first.
        tools: The tools it may use; the usual ones if not given.
    """
    deps = ctx.deps
    draft = AgentDraft(
        name=name,
        description=description,
        instructions=instructions,
        tools=ToolChoice(allow=None if tools is None else tuple(tools)),
    )
    spec = AgentSpec(
        **said_by(draft),
        version=0,
        stage=AgentStage.DRAFT,
        origin=f"agent:{deps.agent}",
        created_at=deps.clock.now(),
        owner=deps.owner,
    )
    kept = await deps.database.write(lambda tx: agents.add(tx, spec))
    return f"Proposed as {kept.label}. It is used when a person publishes it."


def agent_proposals() -> FunctionToolset[TurnDeps]:
    """The tool to propose an agent, for works: that is where work comes again and again."""
    return FunctionToolset[TurnDeps](
        [Tool(propose_agent, metadata=effect(Effect.IDEMPOTENT))], id="work"
    )
