"""The memory's front desk: write, look up, correct. What it acknowledges is on disk."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from long_running_agents.domain.ids import SessionId, TurnId
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
    correction,
)
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import EmbedderFailed, NotFound, UsageError
from long_running_agents.memory import conversation, forgetting, gate, words
from long_running_agents.memory.embedding.port import Embedder, Vectors, well_formed
from long_running_agents.memory.filling import Progress, fill
from long_running_agents.memory.search import NO_EMBEDDER, Search
from long_running_agents.memory.vector_index import BuiltInIndex, VectorIndex
from long_running_agents.memory.vectorising import Vectorising
from long_running_agents.store import (
    memories,
    memory_counts,
    memory_descent,
    memory_entries,
    memory_remains,
    memory_talk,
    memory_trash,
    memory_turns,
    memory_words,
    taints,
)
from long_running_agents.store.database import Database, Transaction

_BATCH = 500
_COMPARED = 10
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
        self.vectors = Vectorising(database, embedder)

    async def close(self) -> None:
        """Let go of the embedder."""
        if self.embedder is not None:
            await self.embedder.close()

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
        draft = _well_formed(draft)
        if reason := gate.refusal(draft, self.database.redact):
            return Refused(reason)
        texts = await self._texts(viewer.owner, [draft])
        vectors = await self.vectors.of(texts)
        now = self.clock.now()
        if supersedes is None and not keep_both:
            vector = None if vectors is None else vectors[0]
            if found := await self._alike(viewer, draft, vector, now):
                return Similar(tuple(found))

        def work(tx: Transaction) -> Written:
            old = None if supersedes is None else _replaceable(tx, viewer, supersedes)
            if old is not None and (reason := gate.outranked(draft, old)):
                return Refused(reason)
            known = memories.same(tx, viewer.owner, draft, now)
            if known is None or known == old:
                stored = self.add(tx, viewer.owner, draft, now, {})
                self.vectors.put(tx, [stored], texts, vectors)
            else:
                stored = memories.saw_again(tx, known, draft, words.indexed)
            if old is not None:
                stored = _succeed(tx, old, stored, now)
            merged = known is not None and old is None
            return Merged(stored) if merged else Stored(stored, old)

        return await self.database.write(work)

    async def correct(self, viewer: Viewer, number: MemoryId, text: str) -> Written:
        """Say what is true instead of a memory; the old wording is kept as history."""
        old = await self.database.read(lambda tx: memories.get(tx, viewer.owner, number))
        return await self.write(viewer, correction(old, text), supersedes=number)

    async def switch(self, viewer: Viewer, number: MemoryId, *, enabled: bool) -> Memory:
        """Switch a memory off, so that nothing brings it to mind, or on again."""

        def work(tx: Transaction) -> Memory:
            memory = memories.get(tx, viewer.owner, number)
            return memories.switch(tx, memory, words.indexed, enabled=enabled)

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
        drafts = [_well_formed(draft) for draft in drafts]
        texts = await self._texts(owner, drafts)
        vectors = await self.vectors.of(texts)
        now = self.clock.now()

        def work(tx: Transaction) -> list[Memory]:
            stored = [self.add(tx, owner, draft, now, latest) for draft in drafts]
            self.vectors.put(tx, stored, texts, vectors)
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
        viewer = Viewer(owner=owner, agent=agent, session_id=turn.session_id)
        known, read = await self.database.read(
            lambda tx: (memories.many(tx, viewer, heard), taints.sources(tx, turn.session_id))
        )
        origins = [known[number] for number in sorted(known)]
        said = conversation.drafts(turn, agent, origins, foreign=bool(read))
        drafts = [_well_formed(draft) for draft in said]
        texts = await self._texts(owner, drafts, anew=turn.id)
        vectors = await self.vectors.of(texts)
        now = self.clock.now()

        def work(tx: Transaction) -> tuple[list[Memory], list[MemoryId]]:
            if not memory_turns.mark(tx, turn):
                return [], []
            heirs, changed = conversation.unsay(tx, owner, turn)
            latest: dict[SessionId, MemoryId] = {}
            stored = [self.add(tx, owner, draft, now, latest) for draft in drafts]
            for heir in heirs:
                memories.link(tx, heir, [memory.id for memory in stored])
            self.vectors.put(tx, stored, texts, vectors)
            return stored, changed

        stored, changed = await self.database.write(work)
        await self.vectors.remake(changed)
        return stored

    async def show(self, owner: str, number: MemoryId) -> Shown:
        """A memory with its history and its origins."""

        def work(tx: Transaction) -> Shown:
            memory = memories.get(tx, owner, number)
            origins = memory_descent.origins(tx, [number]).get(number, [])
            return Shown(
                memory=memory,
                history=tuple(memory_descent.superseded(tx, owner, [number])),
                origins=tuple(memories.get(tx, owner, origin) for origin in origins),
                derived=tuple(memory_descent.derived(tx, owner, [number])),
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
        forgotten, changed = await forgetting.forget(
            self.database, self.clock, owner, selection, at_once=at_once
        )
        await self._remake(changed)
        return forgotten

    async def would_forget(self, owner: str, selection: Selection) -> Forgetting:
        """What forgetting would take away."""
        return await forgetting.rehearse(self.database, owner, selection)

    async def undo(self, owner: str, batch: str) -> list[Memory]:
        """Bring back what was forgotten together."""
        back, changed = await forgetting.undo(self.database, self.clock, owner, batch)
        await self._remake(changed)
        return back

    async def _remake(self, changed: Sequence[MemoryId]) -> None:
        await self.vectors.remake(changed)
        if self.embedder is not None:
            await self._index.follow(self.database, self.embedder.space)

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
        now = self.clock.now()

        def work(tx: Transaction) -> Stats:
            return Stats(
                counts=memory_counts.kinds(tx, owner),
                spaces=memory_counts.spaces(tx, owner),
                trash=sum(count for _, count, _, _ in memory_trash.batches(tx, owner, now)),
                missing=0
                if self.embedder is None
                else memory_counts.missing(tx, owner, self.embedder.space),
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
            with memory_remains.overwriting(tx):
                if memory_trash.purge(tx, now):
                    memory_words.tidy(tx)
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
        session = draft.session_id if draft.kind is Kind.CONVERSATION else None
        if session is None:
            return memories.add(tx, owner, draft, words.indexed, now)
        if session not in latest and (last := memory_talk.last_said(tx, owner, session)):
            latest[session] = last
        memory = memories.add(tx, owner, draft, words.indexed, now, previous=latest.get(session))
        latest[session] = memory.id
        return memory

    async def _texts(
        self, owner: str, drafts: Sequence[Draft], *, anew: TurnId | None = None
    ) -> list[str]:
        """What the vectors of drafts stand for: each with what was said just before it."""
        if all(draft.kind is not Kind.CONVERSATION for draft in drafts):
            return [self.database.redact(draft.content) for draft in drafts]
        return await self.database.read(lambda tx: conversation.texts(tx, owner, drafts, anew))

    async def _alike(
        self, viewer: Viewer, draft: Draft, vector: Vectors | None, now: datetime
    ) -> list[Memory]:
        if draft.kind is Kind.CONVERSATION or await self.database.read(
            lambda tx: memories.same(tx, viewer.owner, draft, now)
        ):
            return []
        found: dict[int, Memory] = {}
        cosines: dict[int, float] = {}
        for text in (draft.content, *gate.topics(draft.content)):
            query = Query(text=text, limit=_COMPARED, kinds=frozenset(Kind) - {Kind.CONVERSATION})
            hits, near = await self.searching.similar(viewer, query, vector)
            found |= {hit.memory.id: hit.memory for hit in hits.hits}
            cosines |= near
        close = [number for number, cosine in cosines.items() if cosine >= gate.NEAR]
        found |= await self.database.read(lambda tx: memories.many(tx, viewer, close))
        return gate.similar(draft, found.values(), cosines)[:_SHOWN]


def _well_formed(draft: Draft) -> Draft:
    """A draft that can be stored whatever it was cut from."""
    return replace(
        draft,
        content=well_formed(draft.content),
        actor=well_formed(draft.actor),
        source=well_formed(draft.source),
        agent=None if draft.agent is None else well_formed(draft.agent),
        session_id=None if draft.session_id is None else SessionId(well_formed(draft.session_id)),
    )


def _succeed(tx: Transaction, old: Memory, new: Memory, now: datetime) -> Memory:
    """Let a memory take the place of another; what is switched off stays so in better words."""
    memories.supersede(tx, old, new.id, words.indexed, now)
    # One that was there before is in use for its own sake.
    if old.enabled or new.seen > 1:
        return new
    return memories.switch(tx, new, words.indexed, enabled=False)


def _replaceable(tx: Transaction, viewer: Viewer, number: MemoryId) -> Memory:
    """A memory that a viewer may correct; an owner in person may correct each of theirs."""
    old = memories.get(tx, viewer.owner, number)
    somebody = viewer.agent is not None or viewer.session_id is not None
    if somebody and not memories.many(tx, viewer, [number]):
        raise NotFound(f"No memory #{number}.", hint="'lra memory list' shows what there is.")
    if old.superseded_by is not None:
        raise UsageError(
            f"Memory #{number} was superseded already.",
            hint=f"Correct #{old.superseded_by} instead.",
        )
    return old
