"""Memory around a turn: what comes to mind before it, and how it is remembered once it is over."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext
from typing_extensions import override

from long_running_agents.agent.history import role_of, with_note
from long_running_agents.agent.hub import Hub
from long_running_agents.config.settings import MemorySettings
from long_running_agents.domain.context_window import MessageRole
from long_running_agents.domain.events import EvidenceFound, MemoriesRecalled, RecalledMemory
from long_running_agents.domain.ids import TurnId, shown
from long_running_agents.domain.memory import (
    Hit,
    Memory,
    MemoryId,
    MemoryKind,
    Query,
    Selection,
    Viewer,
)
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import SessionOrigin
from long_running_agents.domain.tool import CallState
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus, brought
from long_running_agents.domain.work import EvidenceState
from long_running_agents.errors import LraError
from long_running_agents.memory.mirrors import Mirrors
from long_running_agents.memory.service import MemoryService, TurnMemories
from long_running_agents.memory.words import asked, recollection, searchable, spoken
from long_running_agents.store import agents, events, ledger, memories, sessions
from long_running_agents.store.database import Transaction
from long_running_agents.store.learned import MemoryUse
from long_running_agents.tools.memory import heard
from long_running_agents.tools.middleware import Ask, Middleware

_CHARACTERS = 3
"""Characters of a token, at the least."""
_LEAST = 0.35
"""What scores less than this share of the best hit came up by chance."""
_NEAR = 0.2
"""The cosine from which on a memory without one common word may be meant."""
_PREVIEW = 200
_LONGEST_QUESTION = 2_000


@dataclass(frozen=True, slots=True)
class Recall:
    """Finds what a turn should know before it begins."""

    memories: MemoryService
    hub: Hub
    settings: MemorySettings
    agent: str
    """The name of whoever answers."""
    ready: Callable[[str], Awaitable[None]]
    """Waits until an owner's turns before are remembered."""

    async def of(
        self, turn: Turn, *, seen: bool, window: int | None, new: bool = False
    ) -> "Recollection":
        """What comes to mind for a turn; the same again for one that is resumed.

        Nothing of the session does if the model has ``seen`` all of it anyway.
        """
        told = None if new else await self._told(turn)
        if told is None:
            told = await self._find(turn, seen)
            if told.memories:
                await self._tell(turn, told)
        return self._recollection(told, window)

    async def foresee(self, turn: Turn, *, seen: bool, window: int | None) -> "Recollection":
        """What would come to mind for a turn that need not have begun, or has; nothing is told."""
        told = await self._told(turn) or await self._find(turn, seen)
        return self._recollection(told, window)

    def _recollection(self, told: "Recalled", window: int | None) -> "Recollection":
        most = self.settings.recall_tokens
        tokens = most if window is None else min(most, window // 10)
        text, shown = recollection(told.memories, tokens * _CHARACTERS)
        return Recollection(text, Recalled(shown, told.degraded))

    async def _told(self, turn: Turn) -> "Recalled | None":
        """What an earlier life of the turn recalled, as far as it was not forgotten since."""

        def work(tx: Transaction) -> Recalled | None:
            for recorded in events.of_turn(tx, turn.id):
                if isinstance(recorded.event, MemoriesRecalled):
                    ids = [each.id for each in recorded.event.memories]
                    known = memories.many(tx, self._viewer(turn), ids)
                    there = [known[each] for each in ids if each in known and known[each].enabled]
                    return Recalled(there, recorded.event.degraded)
            return None

        return await self.memories.database.read(work)

    def _viewer(self, turn: Turn) -> Viewer:
        agent = turn.agent.partition("@")[0] or self.agent
        return Viewer(owner=turn.owner, agent=agent, session_id=turn.session_id)

    async def _find(self, turn: Turn, seen: bool) -> "Recalled":
        await self.ready(turn.owner)
        query = Query(
            text=turn.prompt[:_LONGEST_QUESTION],
            limit=self.settings.top_k * 2,
            not_session=turn.session_id if seen else None,
        )
        found = await self.memories.find(self._viewer(turn), query)
        # The question itself is known.
        news = [hit.memory for hit in relevant(found.hits) if hit.memory.content != turn.prompt]
        room = self.settings.recall_tokens * _CHARACTERS
        _, shown = recollection(news[: self.settings.top_k], room)
        return Recalled(shown, found.degraded)

    async def _tell(self, turn: Turn, told: "Recalled") -> None:
        now = self.memories.clock.now()
        event = MemoriesRecalled(
            memories=[item(memory) for memory in told.memories], degraded=told.degraded
        )
        self.hub.publish(
            await self.memories.database.write(
                lambda tx: events.append(tx, turn.session_id, turn.id, [event], now)
            )
        )


def relevant(hits: Sequence[Hit]) -> list[Hit]:
    """The hits that did not come up by mere chance, the same words only once."""
    kept: dict[str, Hit] = {}
    least = _LEAST * max((hit.score for hit in hits), default=0.0)
    for hit in hits:
        answers = hit.why.get("words", 0) > 0 or hit.why.get("around", 0) > _LEAST
        if hit.score >= least and (answers or hit.why.get("cosine", 0) >= _NEAR):
            kept.setdefault(" ".join(hit.memory.content.casefold().split()), hit)
    return list(kept.values())


@dataclass(frozen=True, slots=True)
class Recalled:
    """What came to mind and is in use, the best first."""

    memories: Sequence[Memory] = ()
    degraded: str = ""
    """Why only a part of the search was available; empty when all of it was."""


def item(memory: Memory) -> RecalledMemory:
    """A memory as those who look on are told of it."""
    return RecalledMemory(
        id=MemoryId(memory.id),
        kind=memory.kind,
        trust=memory.trust,
        source=memory.source,
        session_id=None if memory.session_id is None else shown(memory.session_id),
        at=memory.event_at,
        text=" ".join(memory.content.split())[:_PREVIEW],
    )


class Recollection(Middleware):
    """Puts what came to mind after the user's words, at every step of a turn."""

    def __init__(self, text: str, recalled: Recalled | None = None) -> None:
        self.text = text
        self.recalled = recalled or Recalled()
        self._noted: tuple[ModelMessage, ModelMessage] | None = None

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        context.messages = self.beside(context.messages)
        return await ask(context)

    def beside(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages with what came to mind in its place."""
        shown = list(messages)
        starts = [place for place, one in enumerate(shown) if role_of(one) is MessageRole.START]
        if starts and self.text:
            shown[starts[-1]] = self._with_text(shown[starts[-1]])
        return shown

    def _with_text(self, message: ModelMessage) -> ModelMessage:
        # The same object each time: whoever measures messages measures each once.
        if self._noted is None or self._noted[0] is not message:
            self._noted = (message, with_note(message, self.text))
        return self._noted[1]


log = logging.getLogger(__name__)

_AT_ONCE = 20
_PATIENCE = 1.0
"""Seconds that a new turn waits for the last ones to be remembered."""


class Memorizer:
    """A task that remembers turns as they come to rest, and keeps the mirrors up to date."""

    def __init__(
        self,
        memories: MemoryService,
        agent: str,
        clock: Clock,
        mirrors: Mirrors,
    ) -> None:
        self.memories = memories
        self._agent = agent
        self._clock = clock
        self._mirrors = mirrors
        self._wake = asyncio.Event()
        self._got_on = asyncio.Event()
        self._all = True
        """Whether there may be turns of which nobody has told."""
        self._new = True
        """Whether nobody has looked yet what an earlier process left."""
        self._ended: dict[TurnId, str] = {}
        """The turns that came to rest, and whose they are."""
        self._in_hand: dict[TurnId, str] = {}
        """Those of them that are being remembered."""
        self._mirror = True
        """Whether the files may show what is no longer so."""
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin, with whatever was left over."""
        self._task = asyncio.create_task(self._work())

    def nudge(self, turn: Turn) -> None:
        """Say that a turn came to rest."""
        self._ended[turn.id] = turn.owner
        self._wake.set()

    async def ready(self, owner: str | None = None) -> None:
        """Wait until the turns of an owner or of all are remembered, but not for ever."""
        if not self._behind(owner):
            return
        waiting = asyncio.ensure_future(self.done(owner))
        try:
            await self._clock.wait(waiting, _PATIENCE)
        finally:
            waiting.cancel()

    async def done(self, owner: str | None = None) -> None:
        """Wait until every turn that came to rest is remembered, however long that takes."""
        while self._behind(owner):
            await self._got_on.wait()

    def _behind(self, owner: str | None) -> bool:
        owners = {*self._ended.values(), *self._in_hand.values()}
        return self._new or (bool(owners) if owner is None else owner in owners)

    async def close(self) -> None:
        """Remember what is left, then end."""
        if self._task is None:
            return
        await self.ready()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await self._guarded(self._mirrors.write())

    async def _work(self) -> None:
        await self._guarded(self._catch_up())
        async with asyncio.TaskGroup() as tasks:
            # Such as new vectors for everything: nothing that a turn should wait for.
            tasks.create_task(self._guarded(self._keep_house()))
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._guarded(self._catch_up())
                if self._mirror:
                    await self._guarded(self._mirrors.write())

    async def _keep_house(self) -> None:
        await self._mirrors.read_edits()
        await self.memories.tidy()
        await self.memories.refill()

    @staticmethod
    async def _guarded(work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except LraError as error:
            # A full disk or the like: turns stay unmarked and are remembered later.
            log.warning("the memory could not be kept: %s", error)
        except Exception:  # The outermost handler: a bug here must not end a conversation.
            log.exception("the memory could not be kept")

    async def _catch_up(self) -> None:
        self._in_hand, self._ended, self._mirror = self._ended, {}, True
        # Looking through all turns takes the longer the more there are: only what one does not
        # know is looked for.
        looking, self._all = self._all, True
        try:
            if looking or self._in_hand:
                await self._remember_unremembered(None if looking else list(self._in_hand))
            self._all = False
        finally:
            # Nobody waits for what failed: it is looked for the next time.
            self._new = False
            self._in_hand.clear()
            self._tell()

    async def _remember_unremembered(self, among: Collection[TurnId] | None) -> None:
        def work(tx: Transaction) -> tuple[list[TurnMemories], bool]:
            found = memories.unremembered(tx, limit=_AT_ONCE, among=among)
            # One of a session at a time: what was said last in it goes before what comes next.
            firsts = {turn.session_id: turn for turn in reversed(found)}.values()
            more = len(found) == _AT_ONCE or len(firsts) < len(found)
            return [self._said(tx, turn) for turn in reversed(firsts)], more

        more = True
        while more:
            (said, more), self._mirror = await self._mirrors.look(work)
            await self.memories.keep_turns(said)
            for each in said:
                self._in_hand.pop(each.turn.id, None)
            self._tell()

    def _said(self, tx: Transaction, turn: Turn) -> TurnMemories:
        shown = heard(tx, turn.id)
        uses = _uses(tx, turn, shown)
        if is_work(tx, turn):
            return TurnMemories(turn, uses=uses)
        return replace(self.memories.said(tx, turn, self._agent, shown), uses=uses)

    def _tell(self) -> None:
        """Wake whoever waits; who has to wait for more does so."""
        self._got_on.set()
        self._got_on.clear()


_USED = 0.6
"""A memory was used when so many of its telling words came up that nobody had said before."""


def _uses(tx: Transaction, turn: Turn, shown: Sequence[MemoryId]) -> list[MemoryUse]:
    """What came of the memories that a turn was shown, but for what was said in conversations."""
    known = memories.selected(tx, turn.owner, Selection(ids=frozenset(shown))) if shown else []
    told = [memory for memory in known if memory.kind is not MemoryKind.CONVERSATION]
    if not told:
        return []
    refuted = any(
        isinstance(each.event, EvidenceFound) and each.event.state == EvidenceState.REFUTED
        for each in events.of_turn(tx, turn.id)
    )
    did = ""
    if turn.status is TurnStatus.DONE:
        calls = [each.args for each in ledger.of_turn(tx, turn.id) if each.state is CallState.DONE]
        did = "\n".join([turn.answer, *calls])
    return [
        MemoryUse(
            memory=memory,
            shown=1,
            used=int(came_up(memory.content, turn.prompt, did)),
            harmed=int(refuted),
        )
        for memory in told
    ]


def came_up(content: str, said: str, did: str) -> bool:
    """Whether the words of a memory are in what was done, other than those that were said."""
    before, after = (set(spoken(searchable(text.lower()))) for text in (said, did))
    telling = set(asked(content)) - before
    return bool(telling) and len(telling & after) >= _USED * len(telling)


def is_work(tx: Transaction, turn: Turn) -> bool:
    """Whether a turn is a program's work, and nothing that a person said to be remembered.

    What comes over MCP or to a delegate was written by a model; and a client that brings
    instructions, tools or a form for the answer of its own wraps what a person said into what only
    it needs. An agent may have no memory.
    """
    agent = agents.find(tx, turn.owner, turn.agent) if turn.agent else None
    if turn.origin is TurnOrigin.DELEGATE or (agent is not None and agent.memory == "none"):
        return True
    client = brought(turn.client_tools)
    wrapped = bool(client.instructions or client.tools or client.form)
    session = sessions.find(tx, turn.session_id)
    foreign = session is not None and session.origin is SessionOrigin.MCP
    return wrapped or foreign
