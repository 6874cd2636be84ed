"""Mirrors: memories as Markdown files that a person can read, change and add to.

Making a page and reading what became of it are pure functions. At the end of a page a comment
notes what was written: only an item that was there can be missing, and a page whose end is cut
off is missing nothing.
"""

import asyncio
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from long_running_agents.domain.memory import (
    Memory,
    MemoryDraft,
    MemoryId,
    MemoryKind,
    MemoryScope,
    Merged,
    Refused,
    Selection,
    Stored,
    Trust,
    Viewer,
    Written,
)
from long_running_agents.errors import StorageFailed, UsageError
from long_running_agents.memory.service import MemoryService
from long_running_agents.store import memories as stored
from long_running_agents.store import memory_index
from long_running_agents.store.database import Transaction

T = TypeVar("T")
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+(.*)")
_FENCE = ("```", "~~~")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MarkdownItem:
    """An item of a list, or a paragraph, and the heading it is under."""

    line: int
    text: str
    heading: str
    level: int
    """How deep the heading is; 0 without one."""
    section: str = ""
    """The heading of the second level that it is under."""


def items(text: str, *, fences: bool = True) -> Iterator[MarkdownItem]:
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
            yield MarkdownItem(start, "\n".join(lines), heading, level, section)
            lines.clear()
        if title:
            heading, level = title[2].strip(), len(title[1])
            section = {1: "", 2: heading}.get(level, section)
        elif line.strip():
            start = start if lines else number
            lines.append(entry[1] if entry else line.strip())


def uncommented(text: str) -> str:
    """A text without its comments; the lines after one keep their numbers."""
    return _COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), text)


@dataclass(frozen=True, slots=True)
class MirrorPage:
    """One file, and the kinds of memories that are in it."""

    file: str
    title: str
    sections: Mapping[MemoryKind, str]


KNOWLEDGE = MirrorPage(
    "knowledge.md",
    "Knowledge",
    {MemoryKind.FACT: "Facts", MemoryKind.NOTE: "Notes", MemoryKind.SUMMARY: "Summaries"},
)
LEARNINGS = MirrorPage("learnings.md", "Learnings", {MemoryKind.LESSON: "Lessons"})

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
class MirrorEntry:
    """An item as a person left it."""

    number: MemoryId | None
    text: str
    kind: MemoryKind


@dataclass(frozen=True, slots=True)
class MirrorChanges:
    """What a person did to a page since it was written."""

    corrected: Mapping[MemoryId, str]
    deleted: frozenset[MemoryId]
    added: Sequence[MirrorEntry]

    def __bool__(self) -> bool:
        return bool(self.corrected or self.deleted or self.added)


def page(
    form: MirrorPage, memories: Iterable[Memory], refused: Iterable[tuple[str, str]] = ()
) -> str:
    """A page of memories."""
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


def changes(form: MirrorPage, text: str) -> MirrorChanges:
    """What a person did to a page."""
    record = written(text)
    corrected: dict[MemoryId, str] = {}
    seen: set[MemoryId] = set()
    added: list[MirrorEntry] = []
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
    return MirrorChanges(corrected, frozenset((record or {}).keys() - seen), added)


def _entries(form: MirrorPage, text: str) -> Iterator[MirrorEntry]:
    kinds = {title.lower(): kind for kind, title in form.sections.items()}
    first = next(iter(form.sections))
    plain = _REASON.sub("", _WRITTEN.sub("", text))
    # A fence or a comment that is never closed must not hide items: they would be forgotten.
    for item in items(plain, fences=False):
        if not item.text.startswith(_HELP[:20]):
            yield _entry(item, kinds.get(item.section.lower(), first), form)


def _entry(item: MarkdownItem, kind: MemoryKind, form: MirrorPage) -> MirrorEntry:
    if (numbered := _NUMBERED.fullmatch(item.text)) is not None:
        return MirrorEntry(MemoryId(int(numbered[1])), _as_content(numbered[3] or ""), kind)
    text = _as_content(item.text)
    ours = {form.title, _REFUSED, "", *form.sections.values()}
    topic = "" if item.heading in ours or _MONTH.fullmatch(item.heading) else item.heading
    return MirrorEntry(None, f"{topic}: {text}" if topic else text, kind)


PAGES = (KNOWLEDGE, LEARNINGS)
INDEX = "index.json"
"""The file that says what is on the pages; it is written, never read."""
_TITLE = 80


def index(memories: Iterable[Memory]) -> str:
    """What is on the pages, by number, for programs."""
    files = {kind: form.file for form in PAGES for kind in form.sections}
    listed = [
        {
            "id": memory.id,
            "kind": memory.kind,
            "title": " ".join(memory.content.split())[:_TITLE],
            "file": files[memory.kind],
            "updated": memory.recorded_at.isoformat(),
        }
        for memory in sorted(memories, key=lambda memory: memory.id)
    ]
    return json.dumps({"memories": listed}, ensure_ascii=False, indent=1) + "\n"


_KINDS = [kind for form in PAGES for kind in form.sections]

_MOST = 1000
"""Memories of one kind on a page, the latest ones."""
_MOST_CHANGES = 1000
_TRIES = 5
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """What a person's changes to the files came to."""

    corrected: tuple[Memory, ...] = ()
    """The memories with the new words."""
    forgotten: tuple[Memory, ...] = ()
    batches: tuple[str, ...] = ()
    """The names to undo the forgetting by."""
    added: tuple[Memory, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Words that are not remembered, and why; they stay in the file."""

    def __add__(self, other: "Edits") -> "Edits":
        names = [each.name for each in fields(Edits)]
        return Edits(**{name: getattr(self, name) + getattr(other, name) for name in names})


class Mirrors:
    """Keeps the files of one owner's memories."""

    def __init__(self, memories: MemoryService, folder: Path, owner: str) -> None:
        self._memories = memories
        self._folder = folder
        self._viewer = Viewer(owner=owner)
        self._lock = asyncio.Lock()
        self._revision: int | None = None
        self._shown: frozenset[int] = frozenset()
        self._ending = _NEVER
        """When the first of the shown memories expires."""

    async def read_edits(self) -> Edits:
        """Take in what a person changed in the files, then write them anew."""
        async with self._lock:
            return await self._refresh()

    async def write(self) -> None:
        """Bring the files up to date; nothing is done while nothing they show has changed."""
        async with self._lock:
            if await self._memories.database.read(self._stale):
                await self._refresh()

    async def look(self, work: Callable[[Transaction], T]) -> tuple[T, bool]:
        """Read something, and in the same transaction whether the files may be out of date."""
        database = self._memories.database
        if self._lock.locked():
            return await database.read(work), True
        async with self._lock:
            return await database.read(lambda tx: (work(tx), self._stale(tx)))

    async def _refresh(self) -> Edits:
        edits = Edits()
        pages: list[tuple[int, list[Memory]]] = []
        for form in PAGES:
            taken, seen = await self._refresh_page(form)
            edits += taken
            pages.append(seen)
        # What was written after the first page was made is looked at the next time.
        self._revision = min(revision for revision, _ in pages)
        shown = [memory for _, some in pages for memory in some]
        await asyncio.to_thread(self._write_index, pages[-1][1])
        self._shown = frozenset(memory.id for memory in shown)
        self._ending = min((memory.expires_at or _NEVER for memory in shown), default=_NEVER)
        return edits

    def _write_index(self, shown: Sequence[Memory]) -> None:
        path = self._folder / INDEX
        text, fresh = _read(path), index(shown)
        if (shown or text is not None) and text != fresh:
            _replace(path, text, fresh)

    async def _refresh_page(self, form: MirrorPage) -> tuple[Edits, tuple[int, list[Memory]]]:
        """Take in and write one page, again if somebody changes it in between."""
        path = self._folder / form.file
        edits = Edits()
        for _ in range(_TRIES):
            text = await asyncio.to_thread(_read, path)
            found = MirrorChanges({}, frozenset(), ()) if text is None else changes(form, text)
            edits += (taken := await self._take_in(form, found, text or ""))
            seen = await self._memories.database.read(self._shows)
            fresh = page(form, seen[1], taken.refused)
            needless = text is None and not any(memory.kind in form.sections for memory in seen[1])
            if needless or text == fresh or await asyncio.to_thread(_replace, path, text, fresh):
                return edits, seen
        raise StorageFailed(
            f"{path} changes faster than it can be read.", hint="Close what is writing it."
        )

    async def _take_in(self, form: MirrorPage, found: MirrorChanges, text: str) -> Edits:
        if not found:
            return Edits()
        outcome: list[tuple[str, Written]] = []
        source = f"file:{form.file}"
        for entry in found.added:
            draft = MemoryDraft(
                content=entry.text, kind=entry.kind, trust=Trust.USER, source=source
            )
            wrote = await self._memories.write(self._viewer, draft, keep_both=True)
            outcome.append((entry.text, wrote))
        added = _stored(outcome)
        # An item that was cut out and put back without its number is still there.
        kept = {wrote.memory.id for _, wrote in outcome if isinstance(wrote, Merged)}
        named = [*found.corrected, *found.deleted]
        known = await self._memories.database.read(lambda tx: stored.many(tx, self._viewer, named))
        corrections: list[tuple[str, Written]] = []
        for number, words in found.corrected.items():
            if number in known and fingerprint(known[number].content) != fingerprint(words):
                wrote = await self._correct(known[number], words, source)
                corrections.append((words, wrote))
        record = written(text) or {}
        gone = [
            number
            for number in found.deleted - kept
            if number in known
            and known[number].valid_to is None
            and fingerprint(known[number].content) == record[number]
        ]
        forgotten = await self._forget(gone)
        return forgotten + Edits(
            corrected=_stored(corrections),
            added=added,
            refused=tuple(
                (words, wrote.reason)
                for words, wrote in [*outcome, *corrections]
                if isinstance(wrote, Refused)
            ),
        )

    async def _correct(self, old: Memory, words: str, source: str) -> Written:
        draft = MemoryDraft(
            content=words,
            kind=old.kind,
            trust=Trust.USER,
            actor=old.actor,
            source=source,
            event_at=old.event_at,
        )
        if old.valid_to is None:
            return await self._memories.write(self._viewer, draft, supersedes=old.id)
        # Somebody else has corrected it meanwhile: both stand, and the person sees both.
        return await self._memories.write(self._viewer, draft, keep_both=True)

    async def _forget(self, numbers: Sequence[MemoryId]) -> Edits:
        if not numbers:
            return Edits()
        gone = await self._memories.forget(self._viewer.owner, Selection(ids=frozenset(numbers)))
        batches = () if gone.batch is None else (gone.batch,)
        return Edits(forgotten=gone.memories, batches=batches)

    def _shows(self, tx: Transaction) -> tuple[int, list[Memory]]:
        """The latest change, and what is on the pages after it."""
        now = self._memories.clock.now()
        found: list[Memory] = []
        for kind in _KINDS:
            found += stored.listed(tx, self._viewer, Selection(kind=kind), limit=_MOST)
        shown = [
            memory
            for memory in found
            if memory.scope is MemoryScope.USER
            and memory.enabled
            and (memory.expires_at or _NEVER) > now
        ]
        return memory_index.revision(tx), shown

    def _stale(self, tx: Transaction) -> bool:
        """Whether anything the pages show may have changed."""
        latest, last = memory_index.revision(tx), self._revision
        if last is None or self._ending <= self._memories.clock.now():
            return True
        if latest == last:
            return False
        if not 0 < latest - last <= _MOST_CHANGES or memory_index.oldest_change(tx) > last + 1:
            return True
        changed = memory_index.changed(tx, last)
        if not self._shown.isdisjoint(changed):
            return True
        some = stored.many(tx, self._viewer, changed).values()
        if any(memory.kind in _KINDS for memory in some):
            return True
        self._revision = latest
        return False


def _stored(outcome: Sequence[tuple[str, Written]]) -> tuple[Memory, ...]:
    return tuple(wrote.memory for _, wrote in outcome if isinstance(wrote, Stored))


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise UsageError(
            f"{path} is not text in UTF-8, so it is left as it is.", hint="Save it as UTF-8."
        ) from None
    except OSError as error:
        raise StorageFailed(
            f"{path} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error


def _replace(path: Path, before: str | None, text: str) -> bool:
    """Put a new page in the place of one that nobody has changed; False when somebody has."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A fresh file of our own, which only its owner can read: nobody can have prepared it.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        beside = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            if _read(path) != before:
                return False
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise StorageFailed(
            f"{path} cannot be written: {error.strerror}.", hint="Check its folder's permissions."
        ) from error
    return True
