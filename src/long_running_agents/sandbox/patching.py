"""Applying a unified diff to a text: where its lines are, exactly, or not at all."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from long_running_agents.errors import UsageError
from long_running_agents.sandbox.editing import advice, line_break

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

    Raises:
        UsageError: It is no such diff.
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
