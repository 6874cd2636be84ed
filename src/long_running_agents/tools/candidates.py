"""The tools that a request could offer, and whose they are. Looking calls none of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset

from long_running_agents.domain.skill import Kind
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.skill_tools import SkillTools

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
class Candidate:
    """A tool that could be offered."""

    kind: ToolKind
    definition: ToolDefinition


async def candidates(
    toolsets: Sequence[AbstractToolset[TurnDeps]], look: RunContext[TurnDeps]
) -> tuple[list[Candidate], list[Candidate]]:
    """The tools that a request may choose from, and the skills in use that are not among them.

    Args:
        toolsets: Where tools come from.
        look: The turn and its conversation; its tools know that they are only looked at.
    """
    found: list[Candidate] = []
    for toolset in toolsets:
        for tool in (await toolset.get_tools(look)).values():
            kind = _KINDS.get(tool.toolset.id or "", "added")
            found.append(Candidate(kind, tool.tool_def))
    taken = {each.definition.name for each in found}
    skills = next((each for each in map(_bare, toolsets) if isinstance(each, SkillTools)), None)
    if skills is None or look.deps.skills is None:
        return found, []
    shelf = await look.deps.skills.shelf()
    rest = [each for each in shelf.of(Kind.FUNCTION) if each.name not in taken]
    return found, [Candidate("skill", skills.definition(each)) for each in rest]


def _bare(toolset: AbstractToolset[TurnDeps]) -> AbstractToolset[TurnDeps]:
    """A toolset without what was put around it for one turn."""
    while isinstance(toolset, WrapperToolset):
        toolset = toolset.wrapped
    return toolset
