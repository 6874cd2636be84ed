"""Which tools a request offers when there is no room for all, and how the rest is found."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.tools import ToolDefinition
from typing_extensions import TypedDict

from long_running_agents.domain.fitting import Allotment, first_sentence, tokens, weight
from long_running_agents.domain.keywords import WordIndex, about
from long_running_agents.domain.tool import Effect
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.effects import effect, is_alias
from long_running_agents.tools.results import READ_RESULT, results

SEARCH = "search_tools"
"""The name of the tool that finds tools."""

CORE = (SEARCH, READ_RESULT)
"""The tools that help where something is left out."""
_HITS = 5
_FRAME = 90
"""Characters the protocol puts around a tool."""


class ToolFound(TypedDict):
    """A tool, or a skill, as the model reads about it."""

    name: str
    description: str


def tool_search() -> FunctionToolset[TurnDeps]:
    """The toolset of one tool that finds the others."""
    tools = FunctionToolset[TurnDeps](id="tool_search")

    @tools.tool(metadata=effect(Effect.READ))
    async def search_tools(ctx: RunContext[TurnDeps], query: str) -> list[ToolFound]:
        """Find more tools by what they do; those found can be called from the next step on.

        Args:
            ctx: The turn that asks.
            query: A few words, such as 'read a file'.
        """
        known = others(ctx.tools.values())
        scores = relevance(query, known)
        best = sorted(known, key=lambda tool: -scores[tool.name])[:_HITS]
        return [
            ToolFound(name=tool.name, description=first_sentence(tool.description or ""))
            for tool in best
            if scores[tool.name] > 0
        ]

    return tools


def others(tools: Iterable[ToolDefinition]) -> list[ToolDefinition]:
    """The tools without those that only help where something is left out."""
    return [tool for tool in tools if tool.name not in CORE]


def found_in(content: object) -> list[str]:
    """The names of the tools in a result of the search."""
    if not isinstance(content, list):
        return []
    hits = [cast("dict[str, object]", hit) for hit in cast("list[object]", content) if _is_hit(hit)]
    return [str(hit["name"]) for hit in hits]


def _is_hit(hit: object) -> bool:
    return isinstance(hit, dict) and "name" in hit


def choose(
    tools: Sequence[ToolDefinition],
    allotment: Allotment,
    query: Callable[[], str],
    found: Iterable[str],
) -> list[ToolDefinition]:
    """The tools to offer: all while they fit, then all in short, then the relevant ones in short.

    The order is that of the catalog, so the beginning of the prompt does not depend on the score;
    tools that were searched for come after it, in the order in which they were found.

    Args:
        tools: Every tool there is.
        allotment: How the window is shared out.
        query: What the turn is about; asked only when there is something to choose.
        found: The names of the tools that were searched for, the oldest first.
    """
    whole = [tool for tool in tools if tool.name != SEARCH]
    if takes(whole) <= allotment.tools:
        return whole
    # A second name for the same thing is the first that a tight fit does without.
    tools = [tool for tool in tools if not is_alias(tool)]
    brief = [in_short(tool) for tool in whole if not is_alias(tool)]
    if takes(brief) <= allotment.tools:
        return brief
    return _relevant([in_short(tool) for tool in tools], allotment, query(), found)


def _relevant(
    brief: Sequence[ToolDefinition], allotment: Allotment, query: str, found: Iterable[str]
) -> list[ToolDefinition]:
    scores = relevance(query, brief)
    core = [tool for tool in brief if tool.name in CORE]
    rest = [tool for tool in brief if tool.name not in CORE]
    left = allotment.tools - takes(core)
    chosen = {tool.name for tool in core}
    for tool in sorted(rest, key=lambda tool: -scores[tool.name]):
        if takes([tool]) <= left:
            chosen.add(tool.name)
            left -= takes([tool])
    offered = [tool for tool in brief if tool.name in chosen]
    wanted = [name for name in dict.fromkeys(found) if name not in chosen]
    return offered + _newest(wanted, {tool.name: tool for tool in rest}, allotment.found)


def _newest(
    wanted: Sequence[str], tools: Mapping[str, ToolDefinition], most: int
) -> list[ToolDefinition]:
    """As many of the tools found last as fit, in the order in which they were found."""
    kept: list[ToolDefinition] = []
    for name in reversed(wanted):
        if name in tools and takes([*kept, tools[name]]) <= most:
            kept.append(tools[name])
    return kept[::-1]


def core_tools() -> list[ToolDefinition]:
    """The tools that are always offered, in short."""
    known = {**results().tools, **tool_search().tools}
    return [in_short(known[name].tool_def) for name in CORE]


def takes(tools: Iterable[ToolDefinition]) -> int:
    """Tokens that tools take in a request."""
    return tokens(
        sum(
            weight(tool.name)
            + weight(tool.description or "")
            + weight(json.dumps(tool.parameters_json_schema))
            + _FRAME
            for tool in tools
        )
    )


def in_short(tool: ToolDefinition) -> ToolDefinition:
    """A tool with no more than a sentence for itself and for each argument."""
    return replace(
        tool,
        description=first_sentence(tool.description or ""),
        parameters_json_schema=_brief_schema(tool.parameters_json_schema),
    )


def _brief_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    brief = dict(schema)
    if isinstance(brief.get("description"), str):
        brief["description"] = first_sentence(brief["description"])
    if isinstance(brief.get("properties"), dict):
        properties = cast("dict[str, dict[str, Any]]", brief["properties"])
        brief["properties"] = {name: _brief_schema(value) for name, value in properties.items()}
    return brief


def relevance(query: str, tools: Sequence[ToolDefinition]) -> dict[str, float]:
    """How well each tool matches some words, by name; 0 when it does not."""
    texts = {
        tool.name: about(tool.description or "", tool.parameters_json_schema) for tool in tools
    }
    return dict.fromkeys(texts, 0.0) | WordIndex(texts).scores(query)
