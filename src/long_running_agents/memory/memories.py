"""The memory's front desk: write, look up, correct. What it acknowledges is on disk."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    Draft,
    Forgetting,
    Found,
    Kind,
    Memory,
    MemoryId,
    Merged,
    Query,
    Refused,
    Selection,
    Similar,
    Stored,
    Viewer,
    Written,
    normalised,
)
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import EmbedderFailed, UsageError
from long_running_agents.memory import conversation, forgetting, gate, words
from long_running_agents.memory.embedding.port import Embedder, Vectors
from long_running_agents.memory.filling import Progress, fill
from long_running_agents.memory.search import NO_EMBEDDER, Search
from long_running_agents.memory.vector_index import BuiltInIndex, VectorIndex
from long_running_agents.store import (
    memories,
    memory_entries,
    memory_trash,
    memory_turns,
    memory_vectors,
)
from long_running_agents.store.database import Database, Transaction

_BATCH = 500
_COMPARED = 5
_SHOWN = 3
_CHANGES_KEPT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory and what hangs on it."""

    memory: Memory
    history: tuple[Memory, ...]
    """What it has superseded, the latest first."""
    origins: tuple[Memory, ...]
    derived: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How much is remembered."""

    counts: Mapping[Kind, int]
    spaces: Mapping[str, int]
    """How many vectors each space has."""
    missing: int
    """How many memories wait for their vector."""
    trash: int
    """How many memories could be brought back."""


class Memories:
    """Everything a home remembers, for whoever may see it."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder | None,
        clock: Clock,
        index: VectorIndex | None = None,
    ) -> None:
        self.database = database
        self.embedder = embedder
        self.clock = clock
        self._index = index or BuiltInIndex()
        self.searching = Search(database, embedder, clock, index=self._index)

    async def find(self, viewer: Viewer, query: Query) -> Found:
        """The memories that answer a question best."""
        return await self.searching.find(viewer, query)

    async def write(
        self,
        viewer: Viewer,
        draft: Draft,
        *,
        supersedes: MemoryId | None = None,
        keep_both: bool = False,
    ) -> Written:
        """Remember something, unless it is junk, known, or like something known.

        Args:
            viewer: Who writes; the memory is its owner's.
            draft: What to remember.
            supersedes: The memory whose place it takes.
            keep_both: Whether it is written although something similar is known.
        """
        if reason := gate.refusal(draft, self.database.redact):
            return Refused(reason)
        vector = await self._vector_of(draft.content)
        alike: list[Memory] = []
        if supersedes is None and not keep_both:
            alike = await self._alike(viewer, draft, vector)
        if alike:
            return Similar(tuple(alike))
        now = self.clock.now()

        def work(tx: Transaction) -> Written:
            old = None if supersedes is None else self._replaceable(tx, viewer, supersedes)
            known = memories.same(tx, viewer.owner, draft)
            if known is not None and old is None:
                memories.saw_again(tx, known)
                return Merged(known)
            stored = memories.add(tx, viewer.owner, draft, words.indexed, now)
            self._put_vectors(tx, [stored], vector)
            if old is not None:
                memories.supersede(tx, old, stored.id, words.indexed, now)
            return Stored(stored, old)

        return await self.database.write(work)

    async def write_many(self, owner: str, drafts: Sequence[Draft]) -> list[Memory]:
        """Store drafts as they are, a few hundred in a transaction; no gate stands before it."""
        stored: list[Memory] = []
        latest: dict[SessionId, MemoryId] = {}
        for start in range(0, len(drafts), _BATCH):
            stored += await self._write_batch(owner, drafts[start : start + _BATCH], latest)
        return stored

    async def _write_batch(
        self, owner: str, drafts: Sequence[Draft], latest: dict[SessionId, MemoryId]
    ) -> list[Memory]:
        now = self.clock.now()
        texts = await self.database.read(lambda tx: _with_context(tx, owner, drafts, latest))
        vectors = await self._vectors_of(texts)

        def work(tx: Transaction) -> list[Memory]:
            stored = [self.add(tx, owner, draft, now, latest) for draft in drafts]
            self._put_vectors(tx, stored, vectors)
            return stored

        return await self.database.write(work)

    async def remember(
        self, owner: str, turn: Turn, agent: str, heard: Sequence[MemoryId] = ()
    ) -> list[Memory]:
        """Remember a turn that came to rest, once; a retried one takes its own place.

        Args:
            owner: Whose session it was.
            turn: The turn, at its end.
            agent: The name of whoever answered.
            heard: The memories that were recalled or looked up in it.
        """
        known = await self.database.read(lambda tx: memories.many(tx, Viewer(owner=owner), heard))
        drafts = conversation.drafts(turn, agent, list(known.values()))
        texts = await self.database.read(lambda tx: _with_context(tx, owner, drafts, {}))
        vectors = await self._vectors_of(texts)
        now = self.clock.now()

        def work(tx: Transaction) -> list[Memory]:
            if not memory_turns.mark(tx, turn):
                return []
            memories.remove(tx, owner, memories.of_turn(tx, owner, turn.id))
            latest: dict[SessionId, MemoryId] = {}
            stored = [self.add(tx, owner, draft, now, latest) for draft in drafts]
            self._put_vectors(tx, stored, vectors)
            return stored

        return await self.database.write(work)

    async def show(self, owner: str, number: MemoryId) -> Shown:
        """A memory with its history and its origins."""

        def work(tx: Transaction) -> Shown:
            memory = memories.get(tx, owner, number)
            origins = memories.origins(tx, [number]).get(number, [])
            return Shown(
                memory=memory,
                history=tuple(memories.superseded(tx, owner, number)),
                origins=tuple(memories.get(tx, owner, origin) for origin in origins),
                derived=tuple(memories.derived(tx, owner, [number])),
            )

        return await self.database.read(work)

    async def listed(
        self,
        viewer: Viewer,
        selection: Selection | None = None,
        *,
        history: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> list[Memory]:
        """What a viewer may see, the latest first."""
        meant = selection or Selection()
        return await self.database.read(
            lambda tx: memories.listed(
                tx, viewer, meant, history=history, limit=limit, offset=offset
            )
        )

    async def forget(
        self, owner: str, selection: Selection, *, at_once: bool = False
    ) -> Forgetting:
        """Forget what a selection means, with everything derived from it."""
        forgotten = await forgetting.forget(
            self.database, self.clock, owner, selection, at_once=at_once
        )
        await self.refill()
        return forgotten

    async def would_forget(self, owner: str, selection: Selection) -> Forgetting:
        """What forgetting would take away."""
        return await forgetting.rehearse(self.database, owner, selection)

    async def undo(self, owner: str, batch: str) -> list[Memory]:
        """Bring back what was forgotten together."""
        back = await forgetting.undo(self.database, owner, batch)
        await self.refill()
        return back

    async def refill(self, tell: Callable[[Progress], None] = lambda _: None) -> str:
        """Give every memory its vector; why some have none, if so."""
        if self.embedder is None:
            return NO_EMBEDDER
        try:
            await fill(self.database, self.embedder, tell)
        except EmbedderFailed as error:
            return error.message
        await self._index.follow(self.database, self.embedder.space)
        return ""

    async def stats(self, owner: str) -> Stats:
        """How much there is, and how much of it is embedded."""

        def work(tx: Transaction) -> Stats:
            return Stats(
                counts=memories.counts(tx, owner),
                spaces=memory_vectors.spaces(tx),
                trash=sum(count for _, count, _, _ in memory_trash.batches(tx, owner)),
                missing=0
                if self.embedder is None
                else memory_vectors.count_missing(
                    tx, memory_vectors.space(tx, self.embedder.space)
                ),
            )

        return await self.database.read(work)

    async def reindex(self, tell: Callable[[Progress], None] = lambda _: None) -> str:
        """Make words and entries again from the memories, then fill in missing vectors."""
        await self.database.write(lambda tx: memories.reindex(tx, words.indexed))
        return await self.refill(tell)

    async def tidy(self) -> None:
        """Throw away what was kept long enough."""
        now = self.clock.now()

        def work(tx: Transaction) -> None:
            memory_trash.purge(tx, now)
            memory_entries.prune(tx, _CHANGES_KEPT)

        await self.database.write(work)

    @staticmethod
    def add(
        tx: Transaction,
        owner: str,
        draft: Draft,
        now: datetime,
        latest: dict[SessionId, MemoryId],
    ) -> Memory:
        """Store one draft after what was said before it in its session."""
        talk = draft.kind is Kind.CONVERSATION and draft.session_id is not None
        previous = None
        if talk and draft.session_id is not None:
            previous = latest.get(draft.session_id) or memories.last_said(
                tx, owner, draft.session_id
            )
        memory = memories.add(tx, owner, draft, words.indexed, now, previous=previous)
        if talk and draft.session_id is not None:
            latest[draft.session_id] = memory.id
        return memory

    async def _alike(self, viewer: Viewer, draft: Draft, vector: Vectors | None) -> list[Memory]:
        kinds = frozenset(Kind) - {Kind.CONVERSATION}
        query = Query(text=draft.content, limit=_COMPARED, kinds=kinds)
        found, cosines = await self.searching.similar(
            viewer, query, None if vector is None else vector[0]
        )
        known = [hit.memory for hit in found.hits]
        same = [memory for memory in known if _says_the_same(draft, memory)]
        return [] if same else gate.similar(draft, known, cosines)[:_SHOWN]

    def _replaceable(self, tx: Transaction, viewer: Viewer, number: MemoryId) -> Memory:
        old = memories.get(tx, viewer.owner, number)
        if old.superseded_by is not None:
            raise UsageError(
                f"Memory #{number} was superseded already.",
                hint=f"Correct #{old.superseded_by} instead.",
            )
        return old

    async def _vector_of(self, content: str) -> Vectors | None:
        return await self._vectors_of([content])

    async def _vectors_of(self, texts: Sequence[str]) -> Vectors | None:
        """Vectors of texts; None when there are none to be had now, and they are made later."""
        if self.embedder is None or not texts:
            return None
        try:
            return await self.embedder.documents([self.database.redact(text) for text in texts])
        except EmbedderFailed:
            return None

    def _put_vectors(
        self, tx: Transaction, stored: Sequence[Memory], vectors: Vectors | None
    ) -> None:
        if vectors is None or self.embedder is None or not stored:
            return
        space = memory_vectors.open_space(tx, self.embedder.space, vectors.shape[1])
        rows = vectors.astype(np.float16)
        memory_vectors.put(
            tx,
            space,
            {memory.id: row.tobytes() for memory, row in zip(stored, rows, strict=True)},
        )


def _says_the_same(draft: Draft, memory: Memory) -> bool:
    return normalised(draft.content) == normalised(memory.content) and memory.kind is draft.kind


def _with_context(
    tx: Transaction, owner: str, drafts: Sequence[Draft], latest: dict[SessionId, MemoryId]
) -> list[str]:
    """Each content with what was said just before it: that is what its vector stands for."""
    said: dict[SessionId, str] = {}
    texts: list[str] = []
    for draft in drafts:
        session = draft.session_id
        if draft.kind is not Kind.CONVERSATION or session is None:
            texts.append(draft.content)
            continue
        if session not in said:
            last = latest.get(session) or memories.last_said(tx, owner, session)
            said[session] = "" if last is None else memories.get(tx, owner, last).content
        texts.append(words.in_context(said[session], draft.content))
        said[session] = draft.content
    return texts
