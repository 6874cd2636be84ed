"""Mirrors: what is remembered as files that a person reads and edits beside the agent.

``knowledge.md`` and ``learnings.md`` show what every session of the owner may see. A page is never
written over changes that were not taken in: they are looked for before each writing, and once
more just before the new page takes its place.
"""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from long_running_agents.domain.memory import (
    Draft,
    Kind,
    Memory,
    MemoryId,
    Merged,
    Refused,
    Scope,
    Selection,
    Stored,
    Trust,
    Viewer,
    Written,
)
from long_running_agents.errors import StorageFailed, UsageError
from long_running_agents.memory.memories import Memories
from long_running_agents.memory.mirror import (
    KNOWLEDGE,
    LEARNINGS,
    Changes,
    Page,
    changes,
    fingerprint,
    page,
    written,
)
from long_running_agents.store import memories as stored
from long_running_agents.store import memory_entries
from long_running_agents.store.database import Transaction

PAGES = (KNOWLEDGE, LEARNINGS)

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
        return Edits(
            corrected=self.corrected + other.corrected,
            forgotten=self.forgotten + other.forgotten,
            batches=self.batches + other.batches,
            added=self.added + other.added,
            refused=self.refused + other.refused,
        )


class Mirrors:
    """Keeps the files of one owner's memories.

    Args:
        memories: What is mirrored.
        folder: Where the files are.
        owner: Whose memories they show.
    """

    def __init__(self, memories: Memories, folder: Path, owner: str) -> None:
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
        self._shown = frozenset(memory.id for memory in shown)
        self._ending = min((memory.expires_at or _NEVER for memory in shown), default=_NEVER)
        return edits

    async def _refresh_page(self, form: Page) -> tuple[Edits, tuple[int, list[Memory]]]:
        """Take in and write one page, again if somebody changes it in between."""
        path = self._folder / form.file
        edits = Edits()
        for _ in range(_TRIES):
            text = await asyncio.to_thread(_read, path)
            found = Changes({}, frozenset(), ()) if text is None else changes(form, text)
            edits += (taken := await self._take_in(form, found, text or ""))
            seen = await self._memories.database.read(self._shows)
            fresh = page(form, seen[1], taken.refused)
            needless = text is None and not any(memory.kind in form.sections for memory in seen[1])
            if needless or text == fresh or await asyncio.to_thread(_replace, path, text, fresh):
                return edits, seen
        raise StorageFailed(
            f"{path} changes faster than it can be read.", hint="Close what is writing it."
        )

    async def _take_in(self, form: Page, found: Changes, text: str) -> Edits:
        if not found:
            return Edits()
        outcome: list[tuple[str, Written]] = []
        source = f"file:{form.file}"
        for entry in found.added:
            draft = Draft(content=entry.text, kind=entry.kind, trust=Trust.USER, source=source)
            wrote = await self._memories.write(self._viewer, draft, keep_both=True)
            outcome.append((entry.text, wrote))
        added = _stored(outcome)
        # An item that was cut out and put back without its number is still there.
        kept = {wrote.memory.id for _, wrote in outcome if isinstance(wrote, Merged)}
        known = await self._known([*found.corrected, *found.deleted])
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

    async def _known(self, numbers: Sequence[MemoryId]) -> dict[int, Memory]:
        return await self._memories.database.read(lambda tx: stored.many(tx, self._viewer, numbers))

    async def _correct(self, old: Memory, words: str, source: str) -> Written:
        draft = Draft(
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
        for kind in _kinds():
            found += stored.listed(tx, self._viewer, Selection(kind=kind), limit=_MOST)
        shown = [
            memory
            for memory in found
            if memory.scope is Scope.USER and memory.enabled and (memory.expires_at or _NEVER) > now
        ]
        return memory_entries.revision(tx), shown

    def _stale(self, tx: Transaction) -> bool:
        """Whether anything the pages show may have changed."""
        latest, last = memory_entries.revision(tx), self._revision
        if last is None or self._ending <= self._memories.clock.now():
            return True
        if latest == last:
            return False
        if not 0 < latest - last <= _MOST_CHANGES or memory_entries.oldest_change(tx) > last + 1:
            return True
        changed = memory_entries.changed(tx, last)
        if not self._shown.isdisjoint(changed):
            return True
        some = stored.many(tx, self._viewer, changed).values()
        if any(memory.kind in _kinds() for memory in some):
            return True
        self._revision = latest
        return False


def _kinds() -> list[Kind]:
    return [kind for form in PAGES for kind in form.sections]


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
