"""Whether a text that is still being written begins with a call of a tool."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from long_running_agents.models import text_calls
from long_running_agents.models.text_calls import Names, TextCall

FENCE = "```"
FENCE_LINE = re.compile(r"```[ \t]*([^`\n]*?)[ \t]*\n")
"""A line that opens a fence, with its language."""

_LANGUAGES = frozenset({"", "json", "xml", "python", "py", "tool", "tool_call", "tool_code"})
_TAGS = ("<tool_call>", "<tool ", "<function=", "<tool_result")
_OPENING = re.compile(
    r"""<tool_call>|<tool\s+name\s*=\s*["']([^"'<>]+)["']\s*(/?)>|<function=([^<>\s]+)\s*>"""
)
_LONGEST_OPENING = 200
_WORD = re.compile(r"\[?\s*([A-Za-z_]\w*)")
_JSON_START = re.compile(r'\[?\s*\{?\s*\{?\s*(?:"(\w*)(")?)?')
_KEYS = (*text_calls.NAME_KEYS, *text_calls.ARGUMENT_KEYS, *text_calls.OTHER_KEYS)


class Open(Enum):
    """Not a call, or not one yet."""

    WAIT = auto()
    """More of the text is needed to tell."""
    NO = auto()
    """Whatever follows, the text does not begin with a call."""


@dataclass(frozen=True, slots=True)
class Found:
    """Calls at the beginning of a text."""

    calls: Sequence[TextCall]
    length: int
    """How much of the text they are."""
    explicit: bool = False
    """Whether they are written in tags that mean nothing else."""


Judgement = Open | Found


def judge(text: str, names: Names, *, final: bool) -> Judgement:
    """Look at a text that begins a line.

    Args:
        text: What has been written so far; not empty.
        names: The tools that can be called.
        final: Whether nothing more will be written.
    """
    first = text[0]
    if first == "<":
        return tag(text, names, final=final)
    if first == "`":
        return _fence(text, names, final=final)
    if first == "{" or (first == "[" and _WORD.match(text) is None):
        return _json(text, names, final=final)
    return _python(text, names, final=final)


def tag(text: str, names: Names, *, final: bool) -> Judgement:
    """Look at a text that begins with ``<``."""
    if not any(text.startswith(known) or known.startswith(text) for known in _TAGS):
        return Open.NO
    opening = _OPENING.match(text)
    if opening is None:
        unfinished = ">" not in text and len(text) < _LONGEST_OPENING
        return Open.WAIT if unfinished and not final else Open.NO
    name = opening[1] or opening[3]
    if name is not None and name not in names:
        return Open.NO
    if name is not None and opening[2]:
        return Found([TextCall(name, "{}")], opening.end(), explicit=True)
    inside = text[opening.end() :].lstrip()
    if name is None and inside and not _may_begin(inside, names):
        return Open.NO
    return _closed_tag(text, opening, names, final=final)


def _closed_tag(text: str, opening: re.Match[str], names: Names, *, final: bool) -> Judgement:
    name = opening[1] or opening[3]
    closing = "</function>" if opening[3] else "</tool>" if name else "</tool_call>"
    end = text.find(closing, opening.end())
    # The closing tag may stand in an argument as well, so each of them is tried.
    while end >= 0:
        if calls := _tag_calls(text[opening.end() : end], name, names):
            return Found(calls, end + len(closing), explicit=True)
        end = text.find(closing, end + 1)
    if not final:
        return Open.WAIT
    rest = text[opening.end() :]
    if calls := _tag_calls(rest, name, names) if rest.strip() else []:
        return Found(calls, len(text), explicit=True)
    meant = _meant(rest.partition(closing)[0], name, names)
    return Found([meant], len(text), explicit=True) if meant else Open.NO


def _tag_calls(inside: str, name: str | None, names: Names) -> list[TextCall]:
    if name is None:
        return text_calls.in_block(inside, names)
    arguments = text_calls.arguments_in(inside)
    return [] if arguments is None else [TextCall(name, arguments)]


def _meant(inside: str, name: str | None, names: Names) -> TextCall | None:
    if name is None:
        return text_calls.miswritten(inside, names)
    return TextCall(name, inside.strip()) if inside.lstrip().startswith("{") else None


def _fence(text: str, names: Names, *, final: bool) -> Judgement:
    opening = FENCE_LINE.match(text)
    if opening is None:
        ruled_out = "\n" in text or "`" in text[len(FENCE) :] or not FENCE.startswith(text[:3])
        return Open.NO if ruled_out or final else Open.WAIT
    inside = text[opening.end() :]
    if opening[1].lower() not in _LANGUAGES or not _may_begin(inside.lstrip(), names):
        return Open.NO
    end = inside.find(FENCE)
    while end >= 0:
        if calls := text_calls.in_block(inside[:end], names):
            return Found(calls, opening.end() + end + len(FENCE))
        if inside[:end].rpartition("\n")[2].strip() == "":
            # A fence that ends here and holds no call, unless it was meant to be one.
            meant = text_calls.miswritten(inside[:end], names)
            return Found([meant], opening.end() + end + len(FENCE)) if meant else Open.NO
        end = inside.find(FENCE, end + 1)
    if not final:
        return Open.WAIT
    calls = text_calls.in_block(inside, names) if inside.strip() else []
    meant = text_calls.miswritten(inside, names)
    found = calls or ([meant] if meant else [])
    return Found(found, len(text)) if found else Open.NO


def _json(text: str, names: Names, *, final: bool) -> Judgement:
    if not _may_be_json(text):
        return Open.NO
    if (decoded := text_calls.first_json(text)) is not None:
        value, end = decoded
        calls = text_calls.calls_of(value, names)
        return Found(calls, end) if calls else Open.NO
    if not final:
        return Open.WAIT
    meant = text_calls.miswritten(text, names)
    return Found([meant], len(text)) if meant else Open.NO


def _python(text: str, names: Names, *, final: bool) -> Judgement:
    if not _may_be_python(text, names):
        return Open.NO
    line, end, _ = text.partition("\n")
    if not end and not final:
        return Open.WAIT
    calls = text_calls.in_python(line, names)
    return Found(calls, len(line)) if calls else Open.NO


def _may_begin(text: str, names: Names) -> bool:
    """Whether a text could be the inside of a fence or a tag with a call."""
    if not text:
        return True
    if text[0] == "<":
        return any(text.startswith(known) or known.startswith(text) for known in _TAGS)
    return _may_be_json(text) or _may_be_python(text, names | {"print"})


def _may_be_json(text: str) -> bool:
    start = _JSON_START.match(text)
    if text[0] not in "[{" or start is None:
        return False
    key, closed = start[1], start[2]
    if key is None:
        return start.end() == len(text)
    if closed:
        return key in _KEYS
    return start.end() == len(text) and any(known.startswith(key) for known in _KEYS)


def _may_be_python(text: str, names: Names) -> bool:
    word = _WORD.match(text)
    if word is None:
        return False
    rest = text[word.end() :]
    if not rest:
        return any(name.startswith(word[1]) for name in names)
    return rest[0] == "(" and word[1] in names
