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


def items(text: str) -> Iterator[Item]:
    """Every item and paragraph of a text; comments are left out.

    An item begins at the left edge; what is indented under it belongs to it.
    """
    heading, level, start, fenced = "", 0, 0, False
    lines: list[str] = []
    # A comment leaves its line ends, so that the lines after it keep their numbers. One more line
    # at the end finishes what was begun.
    for number, line in enumerate([*_COMMENT.sub(_line_ends, text).split("\n"), ""], 1):
        title = None if fenced else _HEADING.fullmatch(line.rstrip())
        entry = None if fenced else _ITEM.fullmatch(line.rstrip())
        fenced ^= line.startswith(_FENCE)
        if (title or entry or not line.strip()) and not fenced and lines:
            yield Item(start, "\n".join(lines), heading, level)
            lines.clear()
        if title:
            heading, level = title[2].strip(), len(title[1])
        elif line.strip():
            start = start if lines else number
            lines.append(entry[1] if entry else line.strip())


def _line_ends(comment: re.Match[str]) -> str:
    return "\n" * comment.group().count("\n")
