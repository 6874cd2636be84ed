"""Import: what another home or another program remembered, taken over whole or not at all.

Everything passes the gate's refusals. What is known already is merged, so that importing a file
twice is importing it once; numbers are given anew, and what hung together still does.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import Draft, Kind, Memory, MemoryId
from long_running_agents.memory import gate, words
from long_running_agents.memory.foreign import Copy, Piece, Refusal, Told
from long_running_agents.memory.formats import Format, detect, read
from long_running_agents.memory.memories import Memories
from long_running_agents.store import memories as stored
from long_running_agents.store import memory_transfer
from long_running_agents.store.database import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of a file."""

    added: int
    merged: int
    """How many were known already."""
    refused: Sequence[Refusal]
    form: Format


class _RehearsedError(Exception):
    """Ends a transaction that must leave nothing behind, and says what it would have done."""

    def __init__(self, imported: Imported) -> None:
        super().__init__("nothing was written")
        self.imported = imported


async def import_file(
    memories: Memories,
    owner: str,
    path: Path,
    *,
    form: Format | None = None,
    rehearse: bool = False,
) -> Imported:
    """Take over the memories of a file.

    Args:
        memories: Where they go.
        owner: Whose they become.
        path: The file, or the folder of a store.
        form: What it is; unset means that it is found out.
        rehearse: Only say what would happen.

    Raises:
        UsageError: It is nothing that can be imported.
    """
    chosen = form or await asyncio.to_thread(detect, path)
    pieces = await asyncio.to_thread(lambda: list(read(path, chosen)))
    now = memories.clock.now()

    def work(tx: Transaction) -> Imported:
        desk = _Desk(tx, owner, f"import:{path.name}", now)
        for piece in pieces:
            desk.take(piece)
        desk.connect()
        done = Imported(
            added=desk.added, merged=desk.merged, refused=tuple(desk.refused), form=chosen
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
class _Desk:
    """Takes over one piece after another within a transaction."""

    tx: Transaction
    owner: str
    source: str
    now: datetime
    added: int = 0
    merged: int = 0
    refused: list[Refusal] = field(default_factory=list[Refusal])
    _latest: dict[SessionId, MemoryId] = field(default_factory=dict[SessionId, MemoryId])
    _taken: set[MemoryId] = field(default_factory=set[MemoryId])
    """The numbers that lines of this file stand for already."""
    _numbers: dict[MemoryId, MemoryId] = field(default_factory=dict[MemoryId, MemoryId])
    """The number here of each number in the file."""
    _copies: list[tuple[Copy, Memory]] = field(default_factory=list[tuple[Copy, Memory]])
    """Those that came with this file, now or before."""

    def take(self, piece: Piece) -> None:
        """Store what a piece tells, or note why not."""
        match piece:
            case Refusal():
                self.refused.append(piece)
            case Told(line, draft):
                if not self._refuse(line, draft):
                    self._tell(draft)
            case Copy(line, memory):
                draft = Draft(content=memory.content, kind=memory.kind, trust=memory.trust)
                if memory.id in self._numbers:
                    self.refused.append(Refusal(line, f"the number {memory.id} was there already"))
                elif not self._refuse(line, draft):
                    self._copy(piece)

    def _refuse(self, line: int, draft: Draft) -> bool:
        if reason := gate.refusal(draft, self.tx.redact):
            self.refused.append(Refusal(line, reason))
        return bool(reason)

    def _tell(self, draft: Draft) -> None:
        clean = self._clean(draft.actor), self._clean(draft.session_id), self._clean(draft.source)
        draft = replace(
            draft,
            actor=clean[0] or "import",
            session_id=None if clean[1] is None else SessionId(clean[1]),
            source=clean[2] or self.source,
        )
        known = self._known(_memory(self.owner, draft, self.now), dated=draft.event_at is not None)
        if known is None:
            stored_one = Memories.add(self.tx, self.owner, draft, self.now, self._latest)
            self.added += 1
            self._taken.add(stored_one.id)
        elif draft.kind is Kind.CONVERSATION and draft.session_id is not None:
            # So that what follows it in the file follows it here.
            self._latest[draft.session_id] = known.id

    def _copy(self, copy: Copy) -> None:
        memory = copy.memory
        session, turn = self._clean(memory.session_id), self._clean(memory.turn_id)
        own = replace(
            memory,
            id=MemoryId(0),
            owner=self.owner,
            actor=self._clean(memory.actor) or "import",
            agent=self._clean(memory.agent),
            session_id=None if session is None else SessionId(session),
            turn_id=None if turn is None else TurnId(turn),
            source=self.source,
            previous=None if memory.previous is None else self._numbers.get(memory.previous),
            superseded_by=None,
            recorded_at=min(memory.recorded_at, self.now),
            seen=max(1, memory.seen),
        )
        known = self._known(own, dated=True)
        if known is None:
            own = stored.put_back(self.tx, own, [], words.indexed)
            self.added += 1
            self._taken.add(own.id)
        self._numbers[memory.id] = (known or own).id
        if known is None or known.source == self.source:
            self._copies.append((copy, known or own))

    def _known(self, memory: Memory, *, dated: bool) -> Memory | None:
        number = memory_transfer.same(self.tx, memory, dated=dated, apart=self._taken)
        if number is None:
            return None
        known = stored.get(self.tx, self.owner, number)
        self.merged += 1
        self._taken.add(number)
        if known.source != memory.source and memory.kind is not Kind.CONVERSATION:
            draft = Draft(
                content=memory.content,
                trust=memory.trust,
                actor=memory.actor,
                source=memory.source,
                agent=memory.agent,
                session_id=memory.session_id,
                turn_id=memory.turn_id,
            )
            known = stored.saw_again(self.tx, known, draft, words.indexed)
        return known

    def _clean(self, text: str | None) -> str | None:
        return None if text is None else self.tx.redact(text)

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
            stored.supersede(self.tx, memory, new, words.indexed, end)


def _goes_round(successors: dict[MemoryId, MemoryId], start: MemoryId) -> bool:
    """Whether a memory would supersede itself, which only a file made by hand can say."""
    step = successors.get(start)
    while step is not None and step != start:
        step = successors.get(step)
    return step == start


def _memory(owner: str, draft: Draft, now: datetime) -> Memory:
    """A draft as the memory it would become."""
    return Memory(
        id=MemoryId(0),
        owner=owner,
        kind=draft.kind,
        scope=draft.scope,
        trust=draft.trust,
        actor=draft.actor,
        source=draft.source,
        content=draft.content,
        agent=draft.agent,
        session_id=draft.session_id,
        turn_id=draft.turn_id,
        previous=None,
        event_at=draft.event_at or now,
        recorded_at=now,
    )
