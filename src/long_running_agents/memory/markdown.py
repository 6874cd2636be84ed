"""Markdown as far as memories need it: headings, list items and paragraphs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+(.*)")
_FENCE = ("```", "~~~")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list, or a paragraph, and the heading it is under."""

    line: int
    text: str
    heading: str
    level: int
    """How deep the heading is; 0 without one."""
    section: str = ""
    """The heading of the second level that it is under."""


def items(text: str, *, fences: bool = True) -> Iterator[Item]:
    """Every item and paragraph of a text.

    An item begins at the left edge; what is indented under it belongs to it.

    Args:
        text: The text, without comments.
        fences: Whether what is between two fences is one paragraph, whatever it looks like.
    """
    heading, level, section, start, fenced = "", 0, "", 0, False
    lines: list[str] = []
    # One more line at the end finishes what was begun.
    for number, line in enumerate([*text.split("\n"), ""], 1):
        title = None if fenced else _HEADING.fullmatch(line.rstrip())
        entry = None if fenced else _ITEM.fullmatch(line.rstrip())
        fenced ^= fences and line.startswith(_FENCE)
        if (title or entry or not line.strip()) and not fenced and lines:
            yield Item(start, "\n".join(lines), heading, level, section)
            lines.clear()
        if title:
            heading, level = title[2].strip(), len(title[1])
            section = _section(section, heading, level)
        elif line.strip():
            start = start if lines else number
            lines.append(entry[1] if entry else line.strip())


def _section(section: str, heading: str, level: int) -> str:
    return {1: "", 2: heading}.get(level, section)


def uncommented(text: str) -> str:
    """A text without its comments; the lines after one keep their numbers."""
    return _COMMENT.sub(_line_ends, text)


def _line_ends(comment: re.Match[str]) -> str:
    return "\n" * comment.group().count("\n")
