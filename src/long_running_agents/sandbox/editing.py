"""Replacing a passage of a text: exactly, or not at all."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from long_running_agents.errors import UsageError

_NUMBERED = re.compile(r"(?m)^ *\d+\t")
_COMPARED = 5000
"""How many lines are compared with what was not found."""
_NEAR = 0.6
_SHOWN = 160


def replaced(text: str, old: str, new: str, *, every: bool = False) -> tuple[str, int]:
    r"""The text with a passage replaced, and how often it was.

    A line break in the passage fits both ``\n`` and ``\r\n``; new ones are written as the text
    writes them. Nothing else of the text changes.

    Args:
        text: The text.
        old: The passage, which must be there exactly once.
        new: What comes in its place.
        every: Replace it wherever it is.

    Raises:
        UsageError: It is not there, or more than once, or nothing would change.
    """
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise UsageError("The passage to replace is empty.", hint="Give the text that is there.")
    if old == new:
        raise UsageError("The old and the new text are the same.", hint="Nothing was changed.")
    plain = text.replace("\r\n", "\n")
    # Two places that overlap are two places, unless all are meant.
    places = list(_places(plain, old, len(old) if every else 1))
    if not places:
        raise UsageError("The passage is not in the file.", hint=advice(plain, old))
    if len(places) > 1 and not every:
        lines = ", ".join(str(plain.count("\n", 0, place) + 1) for place in places[:8])
        raise UsageError(
            f"The passage is there {len(places)} times, at lines {lines}.",
            hint="Give more of the lines around it, or set replace_all.",
        )
    return _rebuilt(text, places, len(old), new.replace("\n", line_break(text))), len(places)


def line_break(text: str) -> str:
    """How a text ends most of its lines."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def _places(text: str, passage: str, apart: int) -> Iterator[int]:
    place = text.find(passage)
    while place >= 0:
        yield place
        place = text.find(passage, place + apart)


def _rebuilt(text: str, places: Sequence[int], length: int, new: str) -> str:
    """Replace places of the text in which each line break counts as one character."""
    wide = [match.start() - count for count, match in enumerate(re.finditer("\r\n", text))]
    parts: list[str] = []
    end = 0
    for place in places:
        start = place + bisect_left(wide, place)
        parts += [text[end:start], new]
        end = place + length + bisect_left(wide, place + length)
    return "".join([*parts, text[end:]])


def advice(text: str, old: str, *, before: int = 0) -> str:
    """What could have been meant by a passage that is not in a text.

    Args:
        text: The text.
        old: The passage.
        before: How many lines come before the text.
    """
    if _NUMBERED.match(old) and _NUMBERED.sub("", old) in text:
        return "Leave out the line numbers and the tabs after them: they are not in the file."
    lines = text.split("\n")
    wanted = next((line for line in old.split("\n") if line.strip()), old)
    for place, line in enumerate(lines):
        if line.strip() == wanted.strip():
            differs = "it differs in white space" if line != wanted else "a line near it differs"
            return _nearest(before + place, line, differs)
    place = _similar(lines, wanted)
    if place is None:
        return "No line is like its first one; read the file again."
    return _nearest(before + place, lines[place], "it is not the same")


def _similar(lines: Sequence[str], wanted: str) -> int | None:
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[:_SHOWN])
    best, score = None, _NEAR
    for place, line in enumerate(lines[:_COMPARED]):
        matcher.set_seq1(line[:_SHOWN])
        if matcher.real_quick_ratio() > score and matcher.quick_ratio() > score:
            ratio = matcher.ratio()
            best, score = (place, ratio) if ratio > score else (best, score)
    return best


def _nearest(place: int, line: str, differs: str) -> str:
    return f"The nearest is line {place + 1}, {line[:_SHOWN]!r}: {differs}."
