"""The tools that a turn can be offered: built-in ones, the client's, and the list of them all."""

from collections.abc import Collection, Container, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from pydantic_ai.exceptions import CallDeferred
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool
from typing_extensions import override

from long_running_agents.config import Settings
from long_running_agents.domain.agent import HARMLESS, AgentBounds
from long_running_agents.domain.skill import SkillKind
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.domain.turn import ClientTool
from long_running_agents.tools.code import code_tools, shell_tools
from long_running_agents.tools.delegation import agent_proposals, delegation_tools
from long_running_agents.tools.deps import (
    CLIENT,
    DefinedToolset,
    TurnDeps,
    effect_of,
    is_foreign,
    powers_of,
)
from long_running_agents.tools.files import data_tools, file_tools
from long_running_agents.tools.jobs import job_tools
from long_running_agents.tools.memory import memory_tools
from long_running_agents.tools.selection import lean, tool_search
from long_running_agents.tools.sessions import conversations, pinning, results
from long_running_agents.tools.skills import SkillTools, finding, skill_making
from long_running_agents.tools.tasks import task_tools, work_tools
from long_running_agents.tools.web import web_tools


@cache
def families(*, network: bool) -> tuple[FunctionToolset[TurnDeps], ...]:
    """Every toolset there is: made once, since their schemas take longer than all else here."""
    return (
        memory_tools(),
        conversations(),
        pinning(),
        task_tools(),
        work_tools(),
        delegation_tools(),
        agent_proposals(),
        job_tools(),
        file_tools(),
        data_tools(),
        code_tools(network=network),
        shell_tools(network=network),
        web_tools(),
        results(),
        tool_search(),
        skill_making(),
    )


def reserved(toolsets: Iterable[AbstractToolset[TurnDeps]] = ()) -> frozenset[str]:
    """The names that no skill may have: those of the built-in tools, and of these."""
    own = [toolset for toolset in toolsets if isinstance(toolset, FunctionToolset)]
    return frozenset(
        name for each in (*families(network=False), finding(), *own) for name in each.tools
    )


def built_in(
    *,
    without: Collection[str] = (),
    allow: Container[str] | None = None,
    network: bool = False,
) -> FunctionToolset[TurnDeps]:
    """All their tools as one toolset, in the form in which a model is offered them.

    One, since the library prepares each toolset anew at every step.

    Args:
        without: The families that are switched off, or have nothing to work with.
        allow: The names of the tools that may run; what may not is not even offered.
        network: Whether code in a sandbox can reach anybody.
    """
    tools = FunctionToolset[TurnDeps](id="built-in")
    for family in families(network=network):
        for known in family.tools.values() if family.id not in without else ():
            if allow is None or known.name in allow:
                tool, form = copy(known), known.function_schema
                tool.function_schema = replace(form, json_schema=lean(form.json_schema))
                tools.add_tool(tool)
    return tools


_FAMILIES = {"pyexe": "code", "fetch": "web"}
"""Families that have another name than their switch."""


def switched_on(settings: Settings) -> FunctionToolset[TurnDeps]:
    """The built-in tools that a home's settings allow."""
    off = {_FAMILIES.get(name, name) for name, on in settings.agent.tools.enable if not on}
    if not settings.memory.enabled:
        off.add("memory")
    return built_in(
        without=off | {WORK},
        allow=settings.agent.tools.allow,
        network=bool(settings.sandbox.network),
    )


WORK = "work"
"""The family that only a turn of a work is offered."""


def for_works(settings: Settings) -> FunctionToolset[TurnDeps]:
    """The built-in tools that a turn of a work has beside."""
    others = {family.id or "" for family in families(network=False)} - {WORK}
    return built_in(without=others, allow=settings.agent.tools.allow)


def within(
    toolsets: Sequence[AbstractToolset[TurnDeps]], bounds: AgentBounds, client: Collection[str]
) -> Sequence[AbstractToolset[TurnDeps]]:
    """The tools that the agents of a turn may use; what the client brought is not ours to judge."""
    if bounds == AgentBounds():
        return toolsets

    def fits(_: RunContext[TurnDeps], tool: ToolDefinition) -> bool:
        if tool.name in client:
            return True
        writes = bounds.read_only and effect_of(tool) is not Effect.READ
        if (writes and tool.name not in HARMLESS) or not bounds.permits(tool.name):
            return False
        return bounds.memory or tool.name not in memory_tools().tools

    return [each.filtered(fits) for each in toolsets]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A tool."""

    name: str
    family: str
    enabled: bool
    """Whether the settings let the model use it."""
    effect: Effect
    """What running it again would do, at worst."""
    powers: frozenset[Power]
    """What it can do beyond its own result."""
    foreign: bool
    """Whether its results are somebody else's words."""
    description: str
    parameters: dict[str, Any]
    """The JSON Schema of its arguments."""


def listed(settings: Settings) -> Sequence[ListedTool]:
    """Every built-in tool, by family."""
    on = {*switched_on(settings).tools, *for_works(settings).tools}
    tools = settings.agent.tools
    helpers = finding()
    if tools.enable.skills:
        on |= {name for name in helpers.tools if tools.allow is None or name in tools.allow}
    return [
        told(tool.tool_def, family.id or "", enabled=name in on)
        for family in (*families(network=bool(settings.sandbox.network)), helpers)
        for name, tool in family.tools.items()
    ]


def told(tool: ToolDefinition, family: str, *, enabled: bool) -> ListedTool:
    """A tool as its definition tells of it."""
    return ListedTool(
        name=tool.name,
        family=family,
        enabled=enabled,
        effect=effect_of(tool),
        powers=powers_of(tool),
        foreign=is_foreign(tool),
        description=tool.description or "",
        parameters=tool.parameters_json_schema,
    )


_RETRIES = 1_000_000
"""The step limit bounds repetitions, as for all tools."""


class ClientTools(DefinedToolset):
    """Offers the client's tools, and lets every call of one wait for the client.

    They are not the library's external tools: those pass no middleware, and a turn that goes on
    must find their results in the ledger like all others.
    """

    name = "client"

    def __init__(self, tools: Sequence[ClientTool]) -> None:
        definitions = [
            ToolDefinition(
                name=tool.name,
                description=tool.description or None,
                parameters_json_schema=dict(tool.schema),
                metadata=CLIENT,
            )
            for tool in tools
        ]
        self._tools = self.offered(definitions, _RETRIES)

    @override
    async def get_tools(self, ctx: RunContext[TurnDeps]) -> dict[str, ToolsetTool[TurnDeps]]:
        return self._tools

    @override
    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[TurnDeps],
        tool: ToolsetTool[TurnDeps],
    ) -> Any:
        raise CallDeferred


ToolKind = Literal["built_in", "skill", "mcp", "client", "added"]
"""Shipped, made, a foreign server's, brought along for the turn, or handed over by a program."""

_KINDS: dict[str, ToolKind] = {
    "built-in": "built_in",
    "skill_tools": "skill",
    "skill_finding": "built_in",
    "mcp": "mcp",
    "client": "client",
}


@dataclass(frozen=True, slots=True)
class OfferCandidate:
    """A tool that could be offered."""

    kind: ToolKind
    definition: ToolDefinition


async def candidates(
    toolsets: Sequence[AbstractToolset[TurnDeps]], look: RunContext[TurnDeps]
) -> tuple[list[OfferCandidate], list[OfferCandidate]]:
    """The tools that a request may choose from, and the skills in use that are not among them."""
    found: list[OfferCandidate] = []
    bare: list[AbstractToolset[TurnDeps]] = []
    for toolset in toolsets:
        toolset.apply(bare.append)
        for tool in (await toolset.get_tools(look)).values():
            kind = _KINDS.get(tool.toolset.id or "", "added")
            found.append(OfferCandidate(kind, tool.tool_def))
    taken = {each.definition.name for each in found}
    skills = next((each for each in bare if isinstance(each, SkillTools)), None)
    if skills is None or look.deps.skills is None:
        return found, []
    index = await look.deps.skills.index()
    rest = [each for each in index.of(SkillKind.FUNCTION) if each.name not in taken]
    return found, [OfferCandidate("skill", skills.definition(each)) for each in rest]
