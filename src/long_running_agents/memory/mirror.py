"""A mirror: memories as a page that a person can read, change and add to.

Making a page and reading what became of it are pure functions. At the end of a page a comment
notes what was written: only an item that was there can be missing, and a page whose end is cut
off is missing nothing.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from long_running_agents.domain.memory import Kind, Memory, MemoryId
from long_running_agents.memory.markdown import Item, items


@dataclass(frozen=True, slots=True)
class Page:
    """One file, and the kinds of memories that are in it."""

    file: str
    title: str
    sections: Mapping[Kind, str]


KNOWLEDGE = Page(
    "knowledge.md",
    "Knowledge",
    {Kind.FACT: "Facts", Kind.NOTE: "Notes", Kind.SUMMARY: "Summaries"},
)
LEARNINGS = Page("learnings.md", "Learnings", {Kind.LESSON: "Lessons"})

_HELP = (
    "> What is remembered. Change the words of an item to correct it, delete an item to forget it,"
    " add one without a number to have it remembered. Changes are read at the next start."
)
_REFUSED = "Not remembered"
_NUMBERED = re.compile(r"#(\d+) \((\w+)\)(?:\s+(.*))?", re.DOTALL)
_WRITTEN = re.compile(r"<!-- written:((?:\s+\d+=[0-9a-f]{8})*)\s*-->")
_REASON = re.compile(r"<!--[^\n]*?-->")
_MONTH = re.compile(r"\d{4}-\d{2}")
_PER_LINE = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """An item as a person left it."""

    number: MemoryId | None
    text: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Changes:
    """What a person did to a page since it was written."""

    corrected: Mapping[MemoryId, str]
    deleted: frozenset[MemoryId]
    added: Sequence[Entry]

    def __bool__(self) -> bool:
        return bool(self.corrected or self.deleted or self.added)


def page(form: Page, memories: Iterable[Memory], refused: Iterable[tuple[str, str]] = ()) -> str:
    """A page of memories.

    Args:
        form: Which page.
        memories: What is on it; those of other kinds are left out.
        refused: Words of a person that are not remembered, each with the reason.
    """
    shown = sorted((memory for memory in memories if memory.kind in form.sections), key=_place)
    lines = [f"# {form.title}", "", _HELP]
    for kind, title in form.sections.items():
        group = [memory for memory in shown if memory.kind is kind]
        if group:
            lines += ["", f"## {title}"]
        for month, some in groupby(group, lambda memory: f"{memory.event_at:%Y-%m}"):
            lines += ["", f"### {month}", ""]
            lines += [
                f"- #{memory.id} ({memory.trust}) {as_item(memory.content)}" for memory in some
            ]
    if kept := [f"- {as_item(text)} <!-- {_uncommented(why)} -->" for text, why in refused]:
        lines += ["", f"## {_REFUSED}", "", *kept]
    return "\n".join([*lines, "", *_record(shown)]) + "\n"


def _place(memory: Memory) -> tuple[str, int]:
    return f"{memory.event_at:%Y-%m}", memory.id


def as_item(content: str) -> str:
    """A content as the text of an item: nothing in it begins another item or a comment."""
    lines = [" ".join(line.split()) for line in content.splitlines()]
    return "\n  ".join(_uncommented(line) for line in lines if line)


def _uncommented(text: str) -> str:
    return text.replace("<!--", "<\\!--").replace("-->", "--\\>")


def _as_content(text: str) -> str:
    return text.replace("<\\!--", "<!--").replace("--\\>", "-->").strip()


def _record(memories: Sequence[Memory]) -> Iterator[str]:
    notes = [f"{memory.id}={fingerprint(memory.content)}" for memory in memories]
    yield "<!-- written:"
    for start in range(0, len(notes), _PER_LINE):
        yield " ".join(notes[start : start + _PER_LINE])
    yield "-->"


def fingerprint(content: str) -> str:
    """A mark of a content that does not change when its lines are broken elsewhere."""
    return hashlib.sha256(" ".join(content.split()).encode()).hexdigest()[:8]


def written(text: str) -> dict[MemoryId, str] | None:
    """The fingerprints of what a page had when it was written; None when its end is missing."""
    records = _WRITTEN.findall(text)
    if not records:
        return None
    notes = (note.split("=") for note in records[-1].split())
    return {MemoryId(int(number)): mark for number, mark in notes}


def changes(form: Page, text: str) -> Changes:
    """What a person did to a page."""
    record = written(text)
    corrected: dict[MemoryId, str] = {}
    seen: set[MemoryId] = set()
    added: list[Entry] = []
    for entry in _entries(form, text):
        number = entry.number
        if number is None or number in corrected or (record is not None and number not in record):
            added.append(entry)
        elif not entry.text:
            continue
        elif record is None or fingerprint(entry.text) != record[number]:
            # Without a record, whoever takes the page in compares it with what is stored.
            corrected[number] = entry.text
        seen.update([] if number is None else [number])
    return Changes(corrected, frozenset((record or {}).keys() - seen), added)


def _entries(form: Page, text: str) -> Iterator[Entry]:
    kinds = {title.lower(): kind for kind, title in form.sections.items()}
    first = next(iter(form.sections))
    plain = _REASON.sub("", _WRITTEN.sub("", text))
    # A fence or a comment that is never closed must not hide items: they would be forgotten.
    for item in items(plain, fences=False):
        if not item.text.startswith(_HELP[:20]):
            yield _entry(item, kinds.get(item.section.lower(), first), form)


def _entry(item: Item, kind: Kind, form: Page) -> Entry:
    if (numbered := _NUMBERED.fullmatch(item.text)) is not None:
        return Entry(MemoryId(int(numbered[1])), _as_content(numbered[3] or ""), kind)
    text = _as_content(item.text)
    ours = {form.title, _REFUSED, "", *form.sections.values()}
    topic = "" if item.heading in ours or _MONTH.fullmatch(item.heading) else item.heading
    return Entry(None, f"{topic}: {text}" if topic else text, kind)
