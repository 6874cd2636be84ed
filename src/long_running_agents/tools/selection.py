"""Which tools a request offers when there is no room for all, and how the rest is found."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic_ai import FunctionToolset, RunContext, Tool
from pydantic_ai.tools import ToolDefinition
from typing_extensions import TypedDict

from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.context_window import Allotment, first_sentence, weight
from long_running_agents.domain.json_schema import mapped
from long_running_agents.domain.text import (
    WordIndex,
    about,
    asks_to_remember,
    is_question,
    is_small_talk,
)
from long_running_agents.domain.tool import Effect
from long_running_agents.models import quirks
from long_running_agents.models.quirks import Json
from long_running_agents.tools.deps import TurnDeps, alias_of, effect, is_clients
from long_running_agents.tools.jobs import JOB_CUE
from long_running_agents.tools.sessions import LOOKING_BACK, results

WRITING = ("write_memory", "update_memory")
"""They remember: offered when the user speaks of it, never because they were used before."""

_FILE = r"[\w/-]+\.(?!(?:com|org|net|io|de)\b)[a-z]\w{0,4}\b"
CUES = {
    "search_memory": r"\b(?:my|our|mine|me|I|we)\b.*\?|remember|recall|told you|memory|talked",
    # Its words are those of whoever asks to remember.
    "write_memory": r"(?!)",
    "update_memory": r"no longer|not any ?more|memory.*(?:correct|wrong)|correct.*(?:memory|#\d)",
    "forget_memory": r"^(?:please )?forget\b(?! not)|delete.*memory|memory.*delete",
    "get_recent_conversations": r"last time|earlier|yesterday|talked|conversation|discussed",
    "pin_rule": r"\b(?:never|always|rules?|from now on|at most)\b|must not|\bpin\b|me before",
    "create_task": r"\btask\b|(?:add|put|new).*\btasks\b|to-?do|todo|\bhave to\b|\bmust\b"
    r"|\bneed to\b|remind|don.t let me",
    "update_task_status": r"(?:done|finish|complet|cancel|start).*task|task.*(?:done|finish|compl)",
    "list_tasks": r"\btasks\b|to-?do|todo|get done|to do\b|\bplans?\b",
    "get_task_state": r"\btask #?\d",
    "list_files": r"\bfiles\b|folder|director|workspace",
    "read_file": rf"\bfile\b|{_FILE}",
    "search_files": r"(?:find|search|grep|look for|which|where).*(?:file|folder|workspace)",
    "write_file": rf"(?:write|save|put|store|create|add|append).*(?:file|{_FILE})",
    "edit_file": rf"(?:change|replace|edit|fix|correct|rename).*(?:file|{_FILE})",
    "data_view": r"\.(?:csv|tsv|xlsx?|parquet|jsonl)\b|spreadsheet|\btable\b|\bcolumns?\b",
    "execute_code": r"python|\bcode\b|script|comput|calculat|percent|\d\s*[-+*/^x\u00d7%]\s*\d"
    r"|how (?:much|many|long|far|old)|\bsum\b|average|convert|\bplot\b|chart|square root|divided",
    "shell": r"command|shell|terminal|\bbash\b|\bgit\b|\brun\b(?!.*python)|\bdisk\b|process",
    "create_sandbox": r"sandbox",
    "install_packages": r"\binstall|package",
    "web_fetch": r"https?://|\bwww\.|web ?page|\bpage\b|website|\blink\b|\burl\b",
    "web_fetch_js": r"javascript|browser",
    "web_fetch_stealth": r"robot|captcha",
    "web_search": r"\bweb\b|internet|online|\bnews\b|weather|latest|look up|find out|price"
    r"|current(?:ly)?\b|last night|\bwon\b|\bmatch\b|\bgame\b|this (?:week|year)|search for|google",
    "manage_tasks": r"manage_tasks",
    "propose_change": r"propose_change",
    "propose_agent": r"propose_agent|(?:make|create|new).*\bagent\b",
    "list_jobs": JOB_CUE,
    "propose_job": JOB_CUE,
    "delegate": r"delegat|\bagents?\b|specialist|hand (?:it|this) (?:to|over)|\bcoder\b|researcher",
    "generate_tool": r"(?:make|create|build|write).*\btool\b",
    "promote_skill": r"promote",
}
"""By the tool."""
_ELSEWHERE = ("list_files", "read_file", "data_view", "web_fetch", "shell")
"""What is there to be looked at is not looked for in memory."""


def cue_scores(text: str) -> dict[str, float]:
    """How clearly a text speaks of each tool; 0 when it does not."""
    found = {name: float(len(re.findall(cue, text, re.IGNORECASE))) for name, cue in CUES.items()}
    if asks_to_remember(text):
        found |= {"write_memory": 1.0, "search_memory": 0.0}
    elif any(found[name] for name in _ELSEWHERE):
        found["search_memory"] = 0.0
    return found


SEARCH = "search_tools"
"""The name of the tool that finds tools."""

_WORKING = ("manage_tasks", "write_file", "read_file", "shell")
"""What a work is carried out with: where the first is there, all are offered."""
_LISTING = ("list_tasks", "get_task_state")
CORE = (SEARCH, *LOOKING_BACK)
"""The tools that help where something is left out."""
_HITS = 5
_FRAME = 75
"""Characters the protocol puts around a tool."""


class ToolFound(TypedDict):
    """A tool, or a skill, as the model reads about it."""

    name: str
    description: str


def tool_search() -> FunctionToolset[TurnDeps]:
    """The toolset of one tool that finds the others."""
    return FunctionToolset([Tool(search_tools, metadata=effect(Effect.READ))], id="tool_search")


async def search_tools(ctx: RunContext[TurnDeps], query: str) -> list[ToolFound]:
    """Find more tools by what they do; those found can be called from the next step on.

    Args:
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


def others(tools: Iterable[ToolDefinition]) -> list[ToolDefinition]:
    """The tools without those that only help where something is left out."""
    return [tool for tool in once(tools) if tool.name not in CORE]


def _needed(tools: Iterable[ToolDefinition]) -> list[str]:
    """The tools of a work, in one: they are offered whatever the words are."""
    names = [tool.name for tool in tools if tool.name in _WORKING]
    return names if _WORKING[0] in names else []


def once(tools: Iterable[ToolDefinition]) -> list[ToolDefinition]:
    """The tools without those that are only another name of one of them."""
    known = {tool.name: tool for tool in tools}
    return [tool for tool in known.values() if alias_of(tool) not in known]


def found_in(content: object) -> list[str]:
    """The names of the tools in a result of the search."""
    hits = cast("list[object]", content) if isinstance(content, list) else []
    found = [cast("Any", hit) for hit in hits if isinstance(hit, dict) and "name" in hit]
    return [str(hit["name"]) for hit in found]


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
        query: What the turn is about; asked only when there is something to choose.
        found: The names of the tools that were searched for, the oldest first.
    """
    tools = once(tools)
    whole = [tool for tool in tools if tool.name != SEARCH]
    if takes(whole) <= allotment.tools:
        return whole
    brief = [in_short(tool) for tool in whole]
    if takes(brief) <= allotment.tools:
        return brief
    return _relevant([in_short(tool) for tool in tools], allotment, query(), found)


_FEW = 6
_NAMED = 3
_USED = 2
_USUAL = ("search_memory", "list_files", "read_file", "create_task", "execute_code")
"""Offered when the words of a message say nothing of what it needs."""


def few(
    tools: Sequence[ToolDefinition], said: Sequence[str], used: Iterable[str]
) -> list[ToolDefinition]:
    """The few tools for a small model: by the words of the message, and by what was used before.

    None for small talk, and none that remembers unless the user wants something remembered. They
    are in short and in the order of the catalog.

    Args:
        said: The user's last messages, the newest last.
        used: The tools that were called before, the latest first.
    """
    brief = [in_short(tool) for tool in others(tools)]
    newest = said[-1] if said else ""
    needed = _needed(brief)
    kept = [*needed, *(tool.name for tool in brief if is_clients(tool))]
    # The tasks of a work are in every request of it.
    known = (*needed, *(_LISTING if needed else ()))
    ours = {tool.name: tool for tool in brief if tool.name not in known and not is_clients(tool)}
    if is_small_talk(newest):
        ours = {}
    cued = _cued(newest, ours)
    recent = [name for name in dict.fromkeys(used) if name in ours and name not in WRITING]
    if not cued and not recent and not needed:
        # A question about the user has a cue; one about the world is not answered by memory.
        usual = _USUAL[is_question(newest) :]
        cued = _cued("\n".join(said), ours) or [name for name in usual if name in ours]
    kept += list(dict.fromkeys([*cued[: _FEW - _USED], *recent[:_USED], *cued]))[
        : _FEW - len(needed)
    ]
    return [tool for tool in brief if tool.name in kept]


def _cued(text: str, tools: Mapping[str, ToolDefinition]) -> list[str]:
    """The tools that a text speaks of, those first that it names most clearly."""
    foreign = [tool for name, tool in tools.items() if name not in CUES]
    scores = {**relevance(text, foreign), **cue_scores(text)}
    for name in tools:
        # Nothing says more clearly what is needed than its name.
        scores[name] += _NAMED * bool(re.search(rf"\b{re.escape(name)}\b", text))
    return sorted((name for name in tools if scores[name] > 0), key=lambda name: -scores[name])


def _relevant(
    brief: Sequence[ToolDefinition], allotment: Allotment, query: str, found: Iterable[str]
) -> list[ToolDefinition]:
    scores = relevance(query, brief)
    core = [tool for tool in brief if tool.name in (*CORE, *_needed(brief))]
    rest = [tool for tool in brief if tool not in core]
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
    return estimate_tokens(
        sum(
            weight(tool.name)
            + weight(tool.description or "")
            + weight(json.dumps(tool.parameters_json_schema, separators=(",", ":")))
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
    brief = mapped(schema, _brief_schema, ("properties",))
    if isinstance(brief.get("description"), str):
        brief["description"] = first_sentence(brief["description"])
    return brief


_OBVIOUS = 4
"""So many words about an argument say no more than its name."""
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum")
"""Whoever goes beyond them is told."""


def lean(schema: Json) -> Json:
    """The schema of a tool's arguments with no more than a model needs to call it."""
    return _lean(quirks.simple(schema))


def _lean(schema: Json) -> Json:
    kept = {key: value for key, value in schema.items() if key not in ("anyOf", *_BOUNDS)}
    if len(str(kept.get("description", "")).split()) <= _OBVIOUS:
        kept.pop("description", None)
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        kept |= options[0]
    return mapped(kept, _lean, ("properties", "items"))


def relevance(query: str, tools: Sequence[ToolDefinition]) -> dict[str, float]:
    """How well each tool matches some words, by name; 0 when it does not."""
    texts = {
        tool.name: about(tool.description or "", tool.parameters_json_schema) for tool in tools
    }
    return dict.fromkeys(texts, 0.0) | WordIndex(texts).scores(query)
