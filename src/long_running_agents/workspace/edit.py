"""Edits of a text: a passage replaced, or a unified diff applied; exactly, or not at all."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

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
    """What could have been meant by a passage that is not in a text."""
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


_HEADING = re.compile(r"@@(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*)?")
_HEADER = re.compile(r"diff |index |--- |\+\+\+ |(new|old|deleted) |similarity |rename ")
_FORM = "A change begins with '@@ -LINE,COUNT +LINE,COUNT @@'; then come ' ', '-' and '+' lines."


class _Line(NamedTuple):
    text: str
    ending: str


@dataclass(slots=True)
class Hunk:
    """One change of a diff."""

    number: int
    line: int | None
    """Where the diff says that it is."""
    steps: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Lines, each with its sign: ' ' stays, '-' goes, '+' comes."""
    ends: set[str] = field(default_factory=set[str])
    """The signs of lines that are marked to have no line break."""

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [line for sign, line in self.steps if sign != "+"]


def hunks(diff: str) -> list[Hunk]:
    """The changes of a diff of one file.

    The counts in its headings are not believed, since whoever writes by hand miscounts; the lines
    themselves have to fit.
    """
    found: list[Hunk] = []
    # The line break at the end of a diff begins no line.
    lines = diff.replace("\r\n", "\n").removesuffix("\n").split("\n")
    for place, line in enumerate(lines):
        if heading := _HEADING.fullmatch(line):
            at = heading.group(1)
            found.append(Hunk(len(found) + 1, None if at is None else int(at)))
        elif found:
            if _begins_a_file(lines, place):
                raise UsageError("The diff changes several files.", hint="Give each its own call.")
            _take(found[-1], line)
        elif line.strip() and not _HEADER.match(line):
            raise UsageError(f"{line[:80]!r} is no line of a diff.", hint=_FORM)
    if not any(sign != " " for hunk in found for sign, _ in hunk.steps):
        raise UsageError("The diff changes nothing.", hint=_FORM)
    return found


def patched(text: str, diff: str) -> tuple[str, int]:
    """The text with a diff applied, and the number of its changes.

    A change is applied at its line if its old lines are there; otherwise they must be at exactly
    one other place. White space counts.

    Raises:
        UsageError: A change fits nowhere, or at several places.
    """
    whole = list(_split(text))
    lines = [line.text for line in whole]
    ended = not whole or bool(whole[-1].ending)
    result: list[_Line] = []
    changes, end, moved = hunks(diff), 0, 0
    for hunk in changes:
        place = _place(lines, hunk, end, moved)
        moved = moved if hunk.line is None else place - (hunk.line - 1)
        result += whole[end:place]
        end = place + len(hunk.old)
        result += _merged(hunk, whole[place:end])
        if end == len(lines):
            ended = _is_ended(hunk, ended=ended)
    return _joined([*result, *whole[end:]], line_break(text), ended=ended), len(changes)


def _split(text: str) -> Iterator[_Line]:
    *lines, last = text.split("\n")
    for line in lines:
        yield _Line(line[:-1], "\r\n") if line.endswith("\r") else _Line(line, "\n")
    if last:
        yield _Line(last, "")


def _begins_a_file(lines: Sequence[str], place: int) -> bool:
    """Whether this is the head of another file, and no line that goes: '--- a' is both."""
    here = lines[place : place + 3]
    if here[0].startswith("diff --git "):
        return True
    return (
        len(here) == len(("---", "+++", "@@"))
        and here[0].startswith("--- ")
        and here[1].startswith("+++ ")
        and bool(_HEADING.fullmatch(here[2]))
    )


def _take(hunk: Hunk, line: str) -> None:
    # Editors strip the blank that an empty line of context begins with.
    sign = line[:1] or " "
    if sign == "\\" and hunk.steps:
        hunk.ends.add(hunk.steps[-1][0])
    elif sign in " -+":
        hunk.steps.append((sign, line[1:]))
    else:
        raise UsageError(
            f"{line[:80]!r} in change {hunk.number} begins with no ' ', '-' or '+'.", hint=_FORM
        )


def _place(lines: Sequence[str], hunk: Hunk, start: int, moved: int) -> int:
    old = hunk.old
    if not old:
        if lines:
            raise UsageError(
                f"Change {hunk.number} has no line of the file in it, so its place is not sure.",
                hint="Give a line before or after it, too.",
            )
        return 0
    places = [
        place
        for place in range(start, len(lines) - len(old) + 1)
        if lines[place] == old[0] and lines[place : place + len(old)] == old
    ]
    said = None if hunk.line is None else hunk.line - 1 + moved
    if said in places:
        return places[places.index(said)]
    if len(places) == 1:
        return places[0]
    if places:
        fits = ", ".join(str(place + 1) for place in places[:8])
        raise UsageError(
            f"Change {hunk.number} fits at lines {fits}.", hint="Give more lines around it."
        )
    raise UsageError(
        f"The old lines of change {hunk.number} are not in the file.",
        hint=advice("\n".join(lines[start:]), "\n".join(old), before=start),
    )


def _merged(hunk: Hunk, there: Sequence[_Line]) -> Iterator[_Line]:
    """What stands in the place of old lines; those that stay keep their own ending."""
    left = iter(there)
    for sign, line in hunk.steps:
        if sign == "+":
            yield _Line(line, "")
        else:
            stays = next(left)
            if sign == " ":
                yield stays


def _joined(lines: Sequence[_Line], ending: str, *, ended: bool) -> str:
    text = "".join(line.text + (line.ending or ending) for line in lines[:-1])
    if not lines:
        return ""
    return text + lines[-1].text + ((lines[-1].ending or ending) if ended else "")


def _is_ended(hunk: Hunk, *, ended: bool) -> bool:
    if {"+", " "} & hunk.ends:
        return False
    return ended or "-" in hunk.ends
