"""The tools that the agent is to others.

Nothing here runs a tool of the agent's directly, or touches settings and tokens: what is to be
done is said to the agent, and its gate decides.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from long_running_agents.domain.ids import session_id
from long_running_agents.domain.memory import (
    Draft,
    Merged,
    Query,
    Refused,
    Similar,
    Stored,
    Trust,
    Viewer,
)
from long_running_agents.domain.token import Scope
from long_running_agents.errors import NotConfigured
from long_running_agents.server.mcp import asking, shapes
from long_running_agents.server.mcp.agent import Agent, Memories
from long_running_agents.server.mcp.asking import Manner
from long_running_agents.server.mcp.shapes import Asked, Failure, Told

Run = Callable[[Agent, Any, Manner], Awaitable[Told]]
_SOURCE = "mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool, as it is offered."""

    name: str
    title: str
    description: str
    arguments: type[Asked]
    answer: type[Told]
    run: Run
    scope: Scope = Scope.READ
    """What a caller has to be allowed."""
    destructive: bool = False
    """Whether it may undo or overwrite something."""
    repeatable: bool = True
    """Whether doing it twice is doing it once."""
    open_world: bool = False
    """Whether it may reach beyond this home."""


async def _search_memory(agent: Agent, asked: shapes.MemorySearch, _: Manner) -> Told:
    query = Query(text=asked.query, limit=asked.limit)
    found = await _memories(agent).find(_viewer(agent), query)
    told = [shapes.MemoryTold.of(hit) for hit in found.hits]
    return shapes.MemoriesTold(memories=told, degraded=found.degraded)


async def _remember(agent: Agent, asked: shapes.NewMemory, _: Manner) -> Told:
    # Another program says it, which may have read it anywhere.
    draft = Draft(content=asked.text, trust=Trust.TOOL, source=_SOURCE)
    written = await _memories(agent).write(_viewer(agent), draft)
    match written:
        case Stored(memory):
            return shapes.Remembered(status="stored", id=memory.id)
        case Merged(memory):
            return shapes.Remembered(status="merged", id=memory.id)
        case Similar(known):
            told = "; ".join(f"#{memory.id} {memory.content}" for memory in known)
            return Failure(
                code="similar",
                message=f"Not written: something similar is known: {told}",
                hint="Tell the agent which one is right, with 'ask'.",
            )
        case Refused(reason):
            return Failure(code="refused", message=f"Not written: {reason}.")


async def _list_tasks(agent: Agent, asked: shapes.OneSession, _: Manner) -> Told:
    tasks = await agent.sessions.tasks(session_id(asked.session_id))
    return shapes.TasksTold(tasks=[shapes.TaskTold.of(task) for task in tasks])


async def _list_sessions(agent: Agent, asked: shapes.Page, _: Manner) -> Told:
    found = await agent.sessions.previews(limit=asked.limit, offset=asked.offset)
    return shapes.SessionsTold(sessions=[shapes.SessionTold.of(each) for each in found])


async def _session_history(agent: Agent, asked: shapes.PartOfSession, _: Manner) -> Told:
    turns = await agent.sessions.turns(session_id(asked.session_id))
    told = [shapes.TurnTold.of(turn) for turn in turns[-asked.limit :]]
    return shapes.History(turns=told, total=len(turns))


def _viewer(agent: Agent) -> Viewer:
    return Viewer(owner=agent.owner, agent=agent.name)


def _memories(agent: Agent) -> Memories:
    if agent.memories is None:
        raise NotConfigured("Nothing is remembered here.", hint="Set memory.enabled.")
    return agent.memories


OFFERS = (
    Offer(
        name="ask",
        title="Ask the agent",
        description=(
            "Say something to the agent, and wait for its answer. It has tools, tasks and a memory"
            " of its own, and may work for minutes. Give the session_id of an earlier answer to"
            " go on with that conversation."
        ),
        arguments=shapes.Question,
        answer=shapes.Answer,
        run=asking.ask,
        scope=Scope.CHAT,
        # It may do whatever the agent's own tools may.
        destructive=True,
        repeatable=False,
        open_world=True,
    ),
    Offer(
        name="search_memory",
        title="Search the memory",
        description="Find what the agent remembers, by meaning and by words.",
        arguments=shapes.MemorySearch,
        answer=shapes.MemoriesTold,
        run=_search_memory,
    ),
    Offer(
        name="remember",
        title="Remember something",
        description=(
            "Have the agent remember a fact, in all its conversations. What is known already is"
            " not written twice."
        ),
        arguments=shapes.NewMemory,
        answer=shapes.Remembered,
        run=_remember,
        scope=Scope.CHAT,
    ),
    Offer(
        name="list_tasks",
        title="List tasks",
        description="List the tasks of a conversation, and how far they are.",
        arguments=shapes.OneSession,
        answer=shapes.TasksTold,
        run=_list_tasks,
    ),
    Offer(
        name="list_sessions",
        title="List conversations",
        description="List conversations with the agent, the latest first.",
        arguments=shapes.Page,
        answer=shapes.SessionsTold,
        run=_list_sessions,
    ),
    Offer(
        name="session_history",
        title="Read a conversation",
        description="Read the newest messages of a conversation, and their answers.",
        arguments=shapes.PartOfSession,
        answer=shapes.History,
        run=_session_history,
    ),
)
"""Everything that is offered."""
