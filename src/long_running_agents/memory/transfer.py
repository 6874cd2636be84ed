"""Export and import of memories: JSON lines out, JSON lines and Markdown in.

An import passes the write gate, and known memories are merged: importing twice is importing once.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    Memory,
    MemoryDraft,
    MemoryId,
    MemoryKind,
    Selection,
    Trust,
)
from long_running_agents.errors import LraError, NotFound, UsageError
from long_running_agents.memory import words, write_gate
from long_running_agents.memory.embedding.base import well_formed
from long_running_agents.memory.mirrors import MarkdownItem, items, uncommented
from long_running_agents.memory.service import MemoryService, pieces
from long_running_agents.store import memories as stored
from long_running_agents.store import memory_lineage
from long_running_agents.store.database import Transaction

Name = TypeVar("Name", bound=str)

_MEMORY: TypeAdapter[Memory] = TypeAdapter(Memory)

_ORIGINS = "derived_from"
"""The key of what a memory was derived from."""

_PAGE = 1000


async def export_lines(memories: MemoryService, owner: str) -> AsyncIterator[str]:
    """Each memory of an owner as a line, without its end."""
    after = 0
    while page := await memories.database.read(lambda tx, last=after: _page(tx, owner, last)):
        for number, line in page:
            yield line
            after = number


def _page(tx: Transaction, owner: str, after: int) -> list[tuple[int, str]]:
    ids = memory_lineage.numbers(tx, owner, after, limit=_PAGE)
    if not ids:
        return []
    origins = memory_lineage.origins(tx, ids)
    found = stored.selected(tx, owner, Selection(ids=frozenset(ids)))
    return [(memory.id, _line(memory, origins.get(memory.id, []))) for memory in found]


def _line(memory: Memory, origins: Sequence[int]) -> str:
    body = {**_MEMORY.dump_python(memory, mode="json"), _ORIGINS: origins}
    return json.dumps(body, ensure_ascii=False)


class Format(StrEnum):
    """What can be imported."""

    EXPORT = "export"
    """Lines that 'lra memory export' wrote."""
    LINES = "lines"
    """Lines of JSON with a text each."""
    NOTES = "notes"
    """Markdown: knowledge.md, learnings.md and the like."""


@dataclass(frozen=True, slots=True)
class ImportRefusal:
    """A line that is not taken over, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class ImportedDraft:
    """A new memory from a plain line or a Markdown item."""

    line: int
    draft: MemoryDraft


@dataclass(frozen=True, slots=True)
class Copy:
    """A memory from an export, with the numbers it had there."""

    line: int
    memory: Memory
    derived_from: tuple[MemoryId, ...]


Piece = ImportedDraft | Copy | ImportRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a file."""

    added: int
    merged: int
    """How many were known already."""
    refused: Sequence[ImportRefusal]
    form: Format


class _RehearsedError(Exception):
    """Ends a transaction that must leave nothing behind, and says what it would have done."""

    def __init__(self, imported: Imported) -> None:
        super().__init__("nothing was written")
        self.imported = imported


async def import_file(
    memories: MemoryService,
    owner: str,
    path: Path,
    *,
    form: Format | None = None,
    rehearse: bool = False,
) -> Imported:
    """Take over the memories of a file.

    To rehearse is to say only what would happen. Which form it has is found out unless it is said.

    Raises:
        UsageError: It is nothing that can be imported.
    """
    chosen, found = await asyncio.to_thread(_read, path, form)
    now = memories.clock.now()

    def work(tx: Transaction) -> Imported:
        taker = _Import(tx, owner, f"import:{path.name}", now)
        for piece in found:
            taker.take(piece)
        taker.connect()
        done = Imported(
            added=taker.added, merged=taker.merged, refused=tuple(taker.refused), form=chosen
        )
        if rehearse:
            raise _RehearsedError(done)
        return done

    try:
        imported = await memories.database.write(work)
    except _RehearsedError as rehearsed:
        return rehearsed.imported
    await memories.refill()
    return imported


@dataclass(slots=True)
class _Import:
    """Takes over one piece after another within a transaction."""

    tx: Transaction
    owner: str
    source: str
    now: datetime
    added: int = 0
    merged: int = 0
    refused: list[ImportRefusal] = field(default_factory=list[ImportRefusal])
    _latest: dict[SessionId, MemoryId] = field(default_factory=dict[SessionId, MemoryId])
    _taken: set[MemoryId] = field(default_factory=set[MemoryId])
    """The numbers that lines of this file stand for already."""
    _numbers: dict[MemoryId, MemoryId] = field(default_factory=dict[MemoryId, MemoryId])
    """The number here of each number in the file."""
    _copies: list[tuple[Copy, Memory]] = field(default_factory=list[tuple[Copy, Memory]])
    """Those that came with this file, now or before."""

    def take(self, piece: Piece) -> None:
        """Store a piece, or note why not."""
        match piece:
            case ImportRefusal():
                self.refused.append(piece)
            case ImportedDraft(line, draft):
                if not self._refuse(line, draft):
                    self._add(draft)
            case Copy(line, memory):
                draft = MemoryDraft(content=memory.content, kind=memory.kind, trust=memory.trust)
                if memory.id in self._numbers:
                    self.refused.append(
                        ImportRefusal(line, f"the number {memory.id} was there already")
                    )
                elif not self._refuse(line, draft):
                    self._copy(piece)

    def _refuse(self, line: int, draft: MemoryDraft) -> bool:
        if reason := write_gate.refusal(draft, self.tx.redact):
            self.refused.append(ImportRefusal(line, reason))
        return bool(reason)

    def _add(self, draft: MemoryDraft) -> None:
        draft = replace(
            draft,
            actor=self.tx.redact(draft.actor) or "import",
            session_id=self._clean(draft.session_id),
            source=self.tx.redact(draft.source) or self.source,
        )
        own = stored.as_memory(self.owner, draft, self.now)
        known = self._known(own, dated=draft.event_at is not None)
        if known is None:
            stored_one = MemoryService.add(self.tx, self.owner, draft, self.now, self._latest)
            self.added += 1
            self._taken.add(stored_one.id)
        elif draft.kind is MemoryKind.CONVERSATION and draft.session_id is not None:
            # So that what follows it in the file follows it here.
            self._latest[draft.session_id] = known.id

    def _copy(self, copy: Copy) -> None:
        memory = copy.memory
        own = replace(
            memory,
            id=MemoryId(0),
            owner=self.owner,
            actor=self.tx.redact(memory.actor) or "import",
            agent=self._clean(memory.agent),
            session_id=self._clean(memory.session_id),
            turn_id=self._clean(memory.turn_id),
            source=self.source,
            previous=None if memory.previous is None else self._numbers.get(memory.previous),
            superseded_by=None,
            recorded_at=min(memory.recorded_at, self.now),
            seen=max(1, memory.seen),
        )
        known = self._known(own, dated=True)
        if known is None:
            own = stored.put_back(self.tx, own, [], words.indexed(own.content))
            self.added += 1
            self._taken.add(own.id)
        self._numbers[memory.id] = (known or own).id
        if known is None or known.source == self.source:
            self._copies.append((copy, known or own))

    def _known(self, memory: Memory, *, dated: bool) -> Memory | None:
        number = memory_lineage.same(self.tx, memory, dated=dated, apart=self._taken)
        if number is None:
            return None
        known = stored.get(self.tx, self.owner, number)
        self.merged += 1
        self._taken.add(number)
        if known.source != memory.source and memory.kind is not MemoryKind.CONVERSATION:
            draft = MemoryDraft(
                content=memory.content,
                trust=memory.trust,
                actor=memory.actor,
                source=memory.source,
                agent=memory.agent,
                session_id=memory.session_id,
                turn_id=memory.turn_id,
            )
            known = stored.saw_again(self.tx, known, draft)
        return known

    def _clean(self, name: Name | None) -> Name | None:
        return None if name is None else cast("Name", self.tx.redact(name))

    def connect(self) -> None:
        """Let memories know again what superseded them, and what they were derived from."""
        successors: dict[MemoryId, MemoryId] = {}
        for copy, memory in self._copies:
            origins = [self._numbers[old] for old in copy.derived_from if old in self._numbers]
            stored.link(self.tx, memory, origins)
            new = self._numbers.get(copy.memory.superseded_by or MemoryId(0))
            if new is None or memory.superseded_by is not None:
                continue
            successors[memory.id] = new
            if _goes_round(successors, memory.id):
                del successors[memory.id]
                continue
            end = copy.memory.valid_to or self.now
            stored.supersede(self.tx, memory, new, end)


def _goes_round(successors: dict[MemoryId, MemoryId], start: MemoryId) -> bool:
    """Whether a memory would supersede itself, which only a file made by hand can say."""
    step = successors.get(start)
    while step is not None and step != start:
        step = successors.get(step)
    return step == start


_TEXT = ("text", "content")
_SPEAKER = ("role", "actor", "speaker")
_SESSION = ("session", "session_id")
_MOMENT = ("date", "created_at", "timestamp")
"""The names that these fields may have in a plain line."""

_USER = frozenset({"user", "human", "me"})
_AGENT = frozenset({"assistant", "agent", "ai", "bot", "model"})
_LONGEST_NAME = 100
_KNOWN = (
    "There are two formats: JSON lines (from 'lra memory export', or one object a line such as"
    ' {"text": "…"}) and Markdown notes.'
)
_LOOKED_AT = 20


def detect(path: Path) -> Format:
    """Find out what a file is.

    Raises:
        UsageError: It is nothing that can be imported; the hint says what could be.
    """
    form = None
    try:
        if _is_text(path):
            form = _format(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if form is None:
        raise UsageError(f"{path} is nothing that can be imported.", hint=_KNOWN)
    return form


def _is_text(path: Path) -> bool:
    """Whether it is a file that is neither a database nor a pickle nor anything of that sort."""
    if path.is_dir():
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return b"\0" not in head and not head.startswith(b"\x80")


def _format(path: Path) -> Format | None:
    text = path.read_text(encoding="utf-8-sig", errors="replace").lstrip()
    if text.startswith("{"):
        return _format_of_lines(path)
    noted = any(item.heading for item in items(text)) or text.startswith(("- ", "* "))
    return Format.NOTES if noted or path.suffix == ".md" else None


def _format_of_lines(path: Path) -> Format | None:
    for _, body in islice(_objects(path), _LOOKED_AT):
        if isinstance(body, ImportRefusal):
            continue
        if {"id", "trust", "recorded_at", _ORIGINS} <= body.keys():
            return Format.EXPORT
        if _first(body, _TEXT) is not None:
            return Format.LINES
    return None


def _unreadable(path: Path, error: OSError) -> LraError:
    if isinstance(error, FileNotFoundError):
        return NotFound(f"There is no {path}.", hint="Name a file that is there.")
    return UsageError(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.")


def _read(path: Path, form: Format | None) -> tuple[Format, list[Piece]]:
    """What a file holds."""
    try:
        found = form if form is not None and _is_text(path) else detect(path)
        reader = {Format.EXPORT: _copies, Format.LINES: _plain_lines, Format.NOTES: _notes}[found]
        return found, list(reader(path))
    except OSError as error:
        raise _unreadable(path, error) from error


_MOMENTS = ("event_at", "recorded_at", "valid_to", "expires_at")
_NUMBERS: TypeAdapter[tuple[MemoryId, ...]] = TypeAdapter(tuple[MemoryId, ...])

_Object = dict[str, Any]


def _objects(path: Path) -> Iterator[tuple[int, _Object | ImportRefusal]]:
    """The objects of a file, one from each line that is not blank."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                body = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                yield number, ImportRefusal(number, f"it is not JSON ({error})")
                continue
            if isinstance(body, dict):
                yield number, cast("_Object", body)
            else:
                yield number, ImportRefusal(number, "it is not a JSON object")


def _copies(path: Path) -> Iterator[Piece]:
    """The memories of an export."""
    for number, body in _objects(path):
        yield body if isinstance(body, ImportRefusal) else _copy(number, body)


def _copy(line: int, body: _Object) -> Copy | ImportRefusal:
    try:
        memory = _MEMORY.validate_python(_well_formed(body))
        origins = _NUMBERS.validate_python(body.get(_ORIGINS, ()))
        return Copy(line, _in_utc(memory), origins)
    except ValidationError as error:
        details = error.errors()[0]
        where = ".".join(str(part) for part in details["loc"])
        return ImportRefusal(line, f"{where}: {details['msg']}".removeprefix(": "))
    except OverflowError:
        return ImportRefusal(line, "its date is beyond the calendar")


def _well_formed(body: _Object) -> _Object:
    return {
        name: well_formed(value) if isinstance(value, str) else value
        for name, value in body.items()
    }


def _in_utc(memory: Memory) -> Memory:
    moments = {name: getattr(memory, name) for name in _MOMENTS}
    return replace(memory, **{name: _aware(at) for name, at in moments.items() if at is not None})


def _aware(moment: datetime) -> datetime:
    # Written by hand, a moment may lack its zone; the database takes none without.
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)


def _plain_lines(path: Path) -> Iterator[ImportedDraft | ImportRefusal]:
    """Objects with a text; whatever else they say is optional."""
    for number, body in _objects(path):
        if isinstance(body, ImportRefusal):
            yield body
            continue
        try:
            draft = _draft(body, path.name)
        except ValueError as error:
            yield ImportRefusal(number, str(error))
            continue
        # A long answer becomes several memories, as when it was said here.
        talk = draft.kind is MemoryKind.CONVERSATION
        for piece in (pieces(draft.content) or [""]) if talk else [draft.content.strip()]:
            yield ImportedDraft(number, replace(draft, content=piece))


def _draft(body: Mapping[str, Any], file: str) -> MemoryDraft:
    text, named = _first(body, _TEXT), body.get("source")
    speaker, session = _name(_first(body, _SPEAKER)), _name(_first(body, _SESSION))
    source = named if isinstance(named, str) and named.strip() else file
    return MemoryDraft(
        content=well_formed(text) if isinstance(text, str) else "",
        kind=_kind(body.get("kind"), speaker),
        trust=_trust(speaker),
        actor=speaker or "import",
        source=f"import:{well_formed(source)}",
        session_id=None if session is None else SessionId(session),
        event_at=_moment(_first(body, _MOMENT)),
    )


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first of some fields that holds anything."""
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _name(value: Any) -> str | None:
    if value is None:
        return None
    return " ".join(well_formed(str(value)).split())[:_LONGEST_NAME] or None


def _kind(value: Any, speaker: str | None) -> MemoryKind:
    if value in (None, ""):
        return MemoryKind.FACT if speaker is None else MemoryKind.CONVERSATION
    try:
        return MemoryKind(str(value).lower())
    except ValueError:
        kinds = ", ".join(MemoryKind)
        raise ValueError(f"its kind {str(value)[:40]!r} is none of {kinds}") from None


def _trust(speaker: str | None) -> Trust:
    name = "" if speaker is None else speaker.lower()
    if name in _USER:
        return Trust.USER
    return Trust.AGENT if name in _AGENT else Trust.TOOL


_MILLISECONDS = 10**11
"""A number above this cannot be seconds: the year would be beyond 5000."""


def _moment(value: Any) -> datetime | None:
    if value in (None, 0):
        return None
    try:
        if isinstance(value, int | float):
            seconds = value / 1000 if value > _MILLISECONDS else value
            return datetime.fromtimestamp(seconds, UTC)
        moment = datetime.fromisoformat(str(value).strip())
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"its date {str(value)[:40]!r} cannot be read: use 2026-05-31") from None
    return _aware(moment)


_LESSONS = re.compile(r"learn|lesson|mistake", re.IGNORECASE)
_ABOUT = re.compile(r"\*Source: .*\*")
"""A line that says where the rest of a section is from."""
_ANSWER = "**Correction**"
_QUESTION = "**Mistake**"


def _notes(path: Path) -> Iterator[ImportedDraft]:
    """The items of a file; a learnings file holds lessons, any other facts."""
    kind = MemoryKind.LESSON if _LESSONS.search(path.name) else MemoryKind.FACT
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    for item in _whole(items(uncommented(text))):
        # The first heading is the file's title and says nothing about what is below it.
        topic = item.heading if item.level > 1 else ""
        draft = MemoryDraft(
            content=well_formed(f"{topic}: {item.text}" if topic else item.text),
            kind=kind,
            trust=Trust.AGENT,
            actor="import",
            source=f"import:{path.name}",
        )
        yield ImportedDraft(item.line, draft)


def _whole(found: Iterator[MarkdownItem]) -> Iterator[MarkdownItem]:
    """Items without those that only name a source; a mistake together with its correction."""
    last: MarkdownItem | None = None
    for item in found:
        if _ABOUT.fullmatch(item.text):
            continue
        if last is not None and _belongs(last, item):
            last = MarkdownItem(last.line, f"{last.text}\n{item.text}", last.heading, last.level)
            continue
        if last is not None:
            yield last
        last = item
    if last is not None:
        yield last


def _belongs(last: MarkdownItem, item: MarkdownItem) -> bool:
    return (
        item.heading == last.heading
        and item.text.startswith(_ANSWER)
        and last.text.startswith(_QUESTION)
    )
