"""The memory service: write, search, correct and forget. What it acknowledges is on disk."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.memory import (
    Forgetting,
    Memory,
    MemoryDraft,
    MemoryId,
    MemoryKind,
    MemoryResults,
    MemoryScope,
    Merged,
    Query,
    Refused,
    Selection,
    Similar,
    Stored,
    Trust,
    Viewer,
    Written,
    correction,
)
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.taint import Taint
from long_running_agents.domain.tool import CallState
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import EmbedderFailed, NotFound, UsageError
from long_running_agents.memory import words, write_gate
from long_running_agents.memory.embedding.base import Embedder, Vectors, well_formed
from long_running_agents.memory.search import NO_EMBEDDER, HybridSearch
from long_running_agents.memory.vectors import (
    Progress,
    VectorIndex,
    Vectorising,
    fill,
)
from long_running_agents.memory.write_gate import masked
from long_running_agents.store import (
    events,
    learned,
    ledger,
    memories,
    memory_index,
    memory_lineage,
    memory_trash,
    taints,
)
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.learned import MemoryUse

PIECE = 1_200
"""Characters of one piece; a long answer becomes several, one after another."""

_MOST_PIECES = 20
_PAUSES = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n|(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f])"),
    re.compile(r"\s|(?<=[,;\uff0c\u3001])"),
)
"""Where a text pauses, the longest pauses first."""
_CLEAN = Taint()


def conversation_drafts(
    turn: Turn, agent: str, heard: Sequence[Memory], taint: Taint = _CLEAN, *, refused: bool = False
) -> list[MemoryDraft]:
    """What is remembered of a turn.

    Where something was refused, the answer tells of that and is left out.
    """
    # A job's prompt or a delegate's may have been written by an agent; a work's is a form.
    said = turn.origin is TurnOrigin.USER
    asked = [
        MemoryDraft(
            content=piece,
            kind=MemoryKind.CONVERSATION,
            trust=Trust.USER
            if said
            else Trust.WEB
            if taint.lender(piece) is not None
            else Trust.AGENT,
            actor="user" if said else turn.origin.value,
            source="conversation",
            session_id=turn.session_id,
            turn_id=turn.id,
            event_at=turn.created_at,
        )
        for piece in pieces(masked(turn.prompt))
        if turn.origin is not TurnOrigin.WORK
    ]
    # What went wrong today is not true tomorrow.
    if refused or turn.status is not TurnStatus.DONE:
        return asked
    answered = pieces(masked(turn.answer))
    return asked + [_answer(turn, agent, piece, heard, taint) for piece in answered]


def _answer(
    turn: Turn, agent: str, piece: str, heard: Sequence[Memory], taint: Taint
) -> MemoryDraft:
    lender = taint.lender(piece)
    trust = Trust.AGENT if lender is None else Trust.WEB
    origins = write_gate.origins(piece, turn.prompt, heard)
    scopes = {memory.scope for memory in origins}
    return MemoryDraft(
        content=piece,
        kind=MemoryKind.CONVERSATION,
        # An answer is no more trustworthy than what it was drawn from, and no more public.
        trust=write_gate.least_trusted([trust, *(memory.trust for memory in origins)]),
        scope=next((scope for scope in _NARROW if scope in scopes), MemoryScope.USER),
        actor=agent,
        source=lender or "conversation",
        agent=agent,
        session_id=turn.session_id,
        turn_id=turn.id,
        derived_from=tuple(memory.id for memory in origins),
        event_at=turn.ended_at,
    )


_NARROW = (MemoryScope.SESSION, MemoryScope.AGENT)


def unsay(tx: Transaction, owner: str, turn: Turn) -> tuple[list[Memory], list[MemoryId]]:
    """Remove what was remembered of a turn that was retried.

    Returns:
        What was derived from it and stays, and the memories that need new vectors.
    """
    old = memory_lineage.of_turn(tx, owner, turn.id)
    if not old:
        return [], []
    heirs = frozenset(memory_lineage.heirs(tx, old)).difference(old)
    memories.remove(tx, owner, old)
    changed = _relink(tx, owner, [turn.session_id])
    return memories.selected(tx, owner, Selection(ids=heirs)), changed


def pieces(text: str) -> list[str]:
    """Cut a text where it pauses, into pieces that are not too long.

    Of a text that is longer than all pieces together, the middle is left out.
    """
    found: list[str] = []
    rest = text.strip()
    while rest:
        end = _end(rest)
        found.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    half = _MOST_PIECES // 2
    return found if len(found) <= _MOST_PIECES else found[:half] + found[-half:]


def _end(text: str) -> int:
    """Where the first piece of a text ends."""
    if len(text) <= PIECE:
        return len(text)
    for pause in _PAUSES:
        ends = [match.end() for match in pause.finditer(text, 0, PIECE)]
        if ends and ends[-1] > PIECE // 3:
            return ends[-1]
    return PIECE


def conversation_texts(
    tx: Transaction, owner: str, drafts: Sequence[MemoryDraft], anew: TurnId | None
) -> list[str]:
    """Each content with what was said just before it: that is what its vector stands for."""
    said: dict[SessionId, str] = {}
    found: list[str] = []
    for draft in drafts:
        session, content = draft.session_id, tx.redact(draft.content)
        if draft.kind is not MemoryKind.CONVERSATION or session is None:
            found.append(content)
            continue
        if session not in said:
            said[session] = memory_lineage.last_words(tx, owner, session, anew=anew)
        found.append(words.in_context(said[session], content))
        said[session] = content
    return found


PreparedWrite = Callable[[Transaction], Written]
"""Writes a draft that the gate let pass, in a transaction."""

_BATCH = 500
_COMPARED = 10
_SHOWN = 3
_CHANGES_KEPT = 100_000
_IN_TRASH = timedelta(days=30)
"""How long something forgotten can be brought back."""


@dataclass(frozen=True, slots=True)
class TurnMemories:
    """What is to be remembered of a turn, and the texts that its vectors stand for."""

    turn: Turn
    drafts: Sequence[MemoryDraft] = ()
    texts: Sequence[str] = ()
    uses: Sequence[MemoryUse] = ()
    """The memories that it was shown, each once, and what came of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDetail:
    """A memory and what hangs on it."""

    memory: Memory
    history: tuple[Memory, ...]
    """What it has superseded, the latest first."""
    origins: tuple[Memory, ...]
    derived: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How much is remembered."""

    counts: Mapping[MemoryKind, int]
    spaces: Mapping[str, int]
    """How many vectors each space has."""
    missing: int
    """How many memories wait for their vector."""
    trash: int
    """How many memories could be brought back."""


class MemoryService:
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
        self._index = index or VectorIndex()
        self.searching = HybridSearch(database, embedder, clock, self._index)
        self.vectors = Vectorising(database, embedder)

    async def close(self) -> None:
        """Let go of the embedder."""
        if self.embedder is not None:
            await self.embedder.close()

    async def find(self, viewer: Viewer, query: Query) -> MemoryResults:
        """The memories that answer a question best."""
        return await self.searching.find(viewer, query)

    async def write(
        self,
        viewer: Viewer,
        draft: MemoryDraft,
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
        ready = await self.prepare(viewer, draft, supersedes=supersedes, keep_both=keep_both)
        return await self.database.write(ready) if callable(ready) else ready

    async def prepare(
        self,
        viewer: Viewer,
        draft: MemoryDraft,
        *,
        supersedes: MemoryId | None = None,
        keep_both: bool = False,
    ) -> "Refused | Similar | PreparedWrite":
        """The same up to the writing, which is done together with something else."""
        draft = _well_formed(draft)
        if reason := write_gate.refusal(draft, self.database.redact):
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
            if old is not None and (reason := write_gate.outranked(draft, old)):
                return Refused(reason)
            known = memories.same(tx, viewer.owner, draft, now)
            if known is None or known == old:
                stored = self.add(tx, viewer.owner, draft, now, {})
                self.vectors.put(tx, [stored], texts, vectors)
            else:
                stored = memories.saw_again(tx, known, draft)
            if old is not None:
                stored = _succeed(tx, old, stored, now)
            merged = known is not None and old is None
            return Merged(stored) if merged else Stored(stored, old)

        return work

    async def correct(self, viewer: Viewer, number: MemoryId, text: str) -> Written:
        """Say what is true instead of a memory; the old wording is kept as history."""
        old = await self.database.read(lambda tx: memories.get(tx, viewer.owner, number))
        return await self.write(viewer, correction(old, text), supersedes=number)

    async def switch(self, viewer: Viewer, number: MemoryId, *, enabled: bool) -> Memory:
        """Switch a memory off, so that nothing brings it to mind, or on again."""
        return await self.database.write(
            lambda tx: memories.switch(tx, memories.get(tx, viewer.owner, number), enabled=enabled)
        )

    async def write_many(self, owner: str, drafts: Sequence[MemoryDraft]) -> list[Memory]:
        """Store drafts as they are, a few hundred in a transaction; no gate stands before it."""
        stored: list[Memory] = []
        latest: dict[SessionId, MemoryId] = {}
        for start in range(0, len(drafts), _BATCH):
            stored += await self._write_batch(owner, drafts[start : start + _BATCH], latest)
        return stored

    async def _write_batch(
        self, owner: str, drafts: Sequence[MemoryDraft], latest: dict[SessionId, MemoryId]
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

    @staticmethod
    def said(
        tx: Transaction, turn: Turn, agent: str, heard: Sequence[MemoryId] = ()
    ) -> "TurnMemories":
        """What is to be remembered of a turn in which some memories were recalled or looked up."""
        # Here, so that long texts are read in this thread and not between others' words.
        viewer = Viewer(owner=turn.owner, agent=agent, session_id=turn.session_id)
        known = memories.many(tx, viewer, heard)
        origins = [known[number] for number in sorted(known)]
        taint = taints.words(tx, turn.session_id)
        refused = any(call.state is CallState.DENIED for call in ledger.of_turn(tx, turn.id))
        said = conversation_drafts(turn, agent, origins, taint, refused=refused)
        drafts = [_well_formed(draft) for draft in said]
        return TurnMemories(turn, drafts, conversation_texts(tx, turn.owner, drafts, turn.id))

    async def keep_turns(self, said: Sequence["TurnMemories"]) -> list[Memory]:
        """Remember turns of different sessions, each once; a retried one takes its own place."""
        vectors = await self.vectors.of([text for each in said for text in each.texts])
        now = self.clock.now()

        def work(tx: Transaction) -> tuple[list[Memory], list[MemoryId]]:
            stored: list[Memory] = []
            changed: list[MemoryId] = []
            first = 0
            for each in said:
                last = first + len(each.texts)
                if memories.mark(tx, each.turn):
                    for use in each.uses:
                        learned.count(tx, use, now)
                    new, others = self._keep_turn(tx, each, now)
                    own = None if vectors is None else vectors[first:last]
                    self.vectors.put(tx, new, each.texts, own)
                    stored += new
                    changed += others
                first = last
            return stored, changed

        if not said:
            return []
        stored, changed = await self.database.write(work)
        await self.vectors.remake(changed)
        return stored

    def _keep_turn(
        self, tx: Transaction, said: "TurnMemories", now: datetime
    ) -> tuple[list[Memory], list[MemoryId]]:
        owner = said.turn.owner
        heirs, changed = unsay(tx, owner, said.turn)
        latest: dict[SessionId, MemoryId] = {}
        stored = [self.add(tx, owner, draft, now, latest) for draft in said.drafts]
        for heir in heirs:
            memories.link(tx, heir, [memory.id for memory in stored])
        return stored, changed

    async def show(self, owner: str, number: MemoryId) -> MemoryDetail:
        """A memory with its history and its origins."""

        def work(tx: Transaction) -> MemoryDetail:
            memory = memories.get(tx, owner, number)
            origins = memory_lineage.origins(tx, [number]).get(number, [])
            return MemoryDetail(
                memory=memory,
                history=tuple(memory_lineage.superseded(tx, owner, [number])),
                origins=tuple(memories.get(tx, owner, origin) for origin in origins),
                derived=tuple(memory_lineage.derived(tx, owner, [number])),
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
        """Forget what a selection means, with everything derived from it.

        What is forgotten leaves the tables that are searched, exported and mirrored. For thirty
        days it lies in the trash, from where it can be brought back, unless it goes at once.
        """
        now = self.clock.now()
        batch = None if at_once else new_id("forget", now)
        forgotten, changed = await self.database.write(
            lambda tx: _forget(tx, owner, selection, batch, now)
        )
        await self._remake(changed)
        return forgotten

    async def would_forget(self, owner: str, selection: Selection) -> Forgetting:
        """What forgetting would take away."""
        return await self.database.read(lambda tx: _meant(tx, owner, selection))

    async def undo(self, owner: str, batch: str) -> list[Memory]:
        """Bring back what was forgotten together, under its old numbers."""
        now = self.clock.now()
        back, changed = await self.database.write(lambda tx: _bring_back(tx, owner, batch, now))
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
            current, every = memories.count_kinds(tx, owner)
            spaces = memories.count_spaces(tx, owner)
            embedded = 0 if self.embedder is None else spaces.get(self.embedder.space, 0)
            return Stats(
                counts=current,
                spaces=spaces,
                trash=sum(count for _, count, _, _ in memory_trash.batches(tx, owner, now)),
                missing=0 if self.embedder is None else every - embedded,
            )

        return await self.database.read(work)

    async def reindex(self, tell: Callable[[Progress], None] = lambda _: None) -> str:
        """Make words and entries again from the memories, then fill in missing vectors."""

        def work(tx: Transaction) -> None:
            for memory in memories.emptied_index(tx):
                memories.index(tx, memory, words.indexed(memory.content))

        await self.database.write(work)
        return await self.refill(tell)

    async def tidy(self) -> None:
        """Throw away what was kept long enough."""
        now = self.clock.now()

        def work(tx: Transaction) -> None:
            with memory_trash.overwriting(tx):
                if memory_trash.purge(tx, now):
                    memory_index.tidy(tx)
            memory_index.prune(tx, _CHANGES_KEPT)

        await self.database.write(work)

    @staticmethod
    def add(
        tx: Transaction,
        owner: str,
        draft: MemoryDraft,
        now: datetime,
        latest: dict[SessionId, MemoryId],
    ) -> Memory:
        """Store one draft after what was said before it in its session."""
        session = draft.session_id if draft.kind is MemoryKind.CONVERSATION else None
        indexed = words.indexed(tx.redact(draft.content))
        if session is None:
            return memories.add(tx, owner, draft, indexed, now)
        if session not in latest and (last := memory_lineage.last_said(tx, owner, session)):
            latest[session] = last
        memory = memories.add(tx, owner, draft, indexed, now, previous=latest.get(session))
        latest[session] = memory.id
        return memory

    async def _texts(self, owner: str, drafts: Sequence[MemoryDraft]) -> list[str]:
        """What the vectors of drafts stand for: each with what was said just before it."""
        if all(draft.kind is not MemoryKind.CONVERSATION for draft in drafts):
            return [self.database.redact(draft.content) for draft in drafts]
        return await self.database.read(lambda tx: conversation_texts(tx, owner, drafts, None))

    async def _alike(
        self, viewer: Viewer, draft: MemoryDraft, vector: Vectors | None, now: datetime
    ) -> list[Memory]:
        if draft.kind is MemoryKind.CONVERSATION or await self.database.read(
            lambda tx: memories.same(tx, viewer.owner, draft, now)
        ):
            return []
        found: dict[int, Memory] = {}
        cosines: dict[int, float] = {}
        for text in (draft.content, *write_gate.topics(draft.content)):
            query = Query(
                text=text, limit=_COMPARED, kinds=frozenset(MemoryKind) - {MemoryKind.CONVERSATION}
            )
            hits, near = await self.searching.similar(viewer, query, vector)
            found |= {hit.memory.id: hit.memory for hit in hits.hits}
            cosines |= near
        close = [number for number, cosine in cosines.items() if cosine >= write_gate.NEAR]
        found |= await self.database.read(lambda tx: memories.many(tx, viewer, close))
        return write_gate.similar(draft, found.values(), cosines)[:_SHOWN]


def _well_formed(draft: MemoryDraft) -> MemoryDraft:
    """A draft that can be stored whatever it was cut from."""
    names = ("content", "actor", "source", "agent", "session_id")
    told = {name: text for name in names if (text := getattr(draft, name)) is not None}
    return replace(draft, **{name: well_formed(text) for name, text in told.items()})


def _succeed(tx: Transaction, old: Memory, new: Memory, now: datetime) -> Memory:
    """Let a memory take the place of another; what is switched off stays so in better words."""
    memories.supersede(tx, old, new.id, now)
    # One that was there before is in use for its own sake.
    if old.enabled or new.seen > 1:
        return new
    return memories.switch(tx, new, enabled=False)


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


def _forget(
    tx: Transaction, owner: str, selection: Selection, batch: str | None, now: datetime
) -> tuple[Forgetting, list[MemoryId]]:
    """Forget, for good without a batch: what was forgotten, and which memories need new vectors."""
    meant = _meant(tx, owner, selection)
    ids = [memory.id for memory in meant.memories]
    if batch is None:
        return _forget_for_good(tx, owner, selection, meant, now)
    if not ids:
        return meant, []
    origins = memory_lineage.origins(tx, ids)
    rows = [memory_trash.Thrown(memory, origins.get(memory.id, [])) for memory in meant.memories]
    memory_trash.put(tx, batch, rows, now=now, until=now + _IN_TRASH)
    return replace(meant, batch=batch), _remove(tx, owner, meant.memories)


def _forget_for_good(
    tx: Transaction, owner: str, selection: Selection, meant: Forgetting, now: datetime
) -> tuple[Forgetting, list[MemoryId]]:
    """Also what lies in the trash already, and what was derived from it."""
    ids = [memory.id for memory in meant.memories]
    with memory_trash.overwriting(tx):
        changed = _remove(tx, owner, meant.memories)
        thrown = memory_trash.shred(tx, owner, selection, ids, now)
        gone = (*meant.memories, *thrown)
        memory_trash.wipe(tx, gone)
    return replace(meant, memories=gone), changed


def _bring_back(
    tx: Transaction, owner: str, batch: str, now: datetime
) -> tuple[list[Memory], list[MemoryId]]:
    """What came back, and the memories that need new vectors because of it."""
    rows = memory_trash.take(tx, owner, batch, now)
    back = [
        memories.put_back(tx, row.memory, [], words.indexed(row.memory.content)) for row in rows
    ]
    for row in rows:
        memories.link(tx, row.memory, row.origins)
    memory_lineage.end_again(tx, back)
    changed = _relink(tx, owner, (memory.session_id for memory in back))
    ids = frozenset(memory.id for memory in back)
    # Read again: some have another neighbour than they had.
    return memories.selected(tx, owner, Selection(ids=ids)), sorted(ids.union(changed))


def _meant(tx: Transaction, owner: str, selection: Selection) -> Forgetting:
    """What a selection means.

    Named by its number, a memory goes with everything it has superseded, which says nearly the
    same. Forgotten for where it came from, it goes alone: what it had superseded is true again.
    """
    if selection.empty:
        raise UsageError(
            "Nothing says what to forget.",
            hint="Name memories, a query, a session, a source or an age.",
        )
    named = memories.selected(tx, owner, selection)
    ids = [memory.id for memory in named]
    older = [] if selection.ids is None else memory_lineage.superseded(tx, owner, ids)
    roots = list(dict.fromkeys([*ids, *(memory.id for memory in older)]))
    derived = memory_lineage.derived(tx, owner, roots)
    known = {memory.id: memory for memory in [*named, *older, *derived]}
    return Forgetting(
        batch=None,
        memories=tuple(known[number] for number in sorted(known)),
        derived=frozenset(memory.id for memory in derived),
    )


def _remove(tx: Transaction, owner: str, gone: Sequence[Memory]) -> list[MemoryId]:
    ids = [memory.id for memory in gone]
    events.scrub_recalled(tx, frozenset(ids))
    memories.remove(tx, owner, ids)
    memory_lineage.revive(tx, gone)
    return _relink(tx, owner, (memory.session_id for memory in gone))


def _relink(tx: Transaction, owner: str, sessions: Iterable[SessionId | None]) -> list[MemoryId]:
    """Mend the row of what was said; whatever has another neighbour now has lost its vector."""
    changed = memory_lineage.relink(tx, owner, sessions)
    memory_index.drop_vectors(tx, changed)
    return changed
