"""Recall: before a turn's first step, what comes to mind is put beside the user's words.

It is found once, told as an event, and shown in the same place at every step of the turn, so that
the prompt stays the same. It is not stored with the messages: the next turn recalls anew, and
what was forgotten meanwhile is gone from every prompt.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext
from typing_extensions import override

from long_running_agents.agent.hub import Hub
from long_running_agents.agent.view import role_of, with_note
from long_running_agents.domain.events import MemoriesRecalled, RecalledMemory
from long_running_agents.domain.fitting import Role
from long_running_agents.domain.memory import Hit, Memory, MemoryId, Query, Viewer
from long_running_agents.domain.turn import Turn
from long_running_agents.memory.memories import Memories
from long_running_agents.memory.telling import recollection, source
from long_running_agents.store import events, memories
from long_running_agents.store.database import Transaction
from long_running_agents.tools.ring import Ask, Ring

_CHARACTERS = 3
"""Characters of a token, at the least."""
_LEAST = 0.35
"""What scores less than this share of the best hit came up by chance."""
_NEAR = 0.2
"""The cosine from which on a memory without one common word may be meant."""
_PREVIEW = 200
_LONGEST_QUESTION = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """How much comes to mind."""

    most: int
    tokens: int


class Recall:
    """Finds what a turn should know before it begins.

    Args:
        memories: Where to look.
        hub: Rings what was found.
        settings: How much may come to mind.
        agent: The name of whoever answers.
        ready: Waits until the turns before are remembered.
    """

    def __init__(
        self,
        memories: Memories,
        hub: Hub,
        settings: RecallSettings,
        *,
        agent: str,
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._memories = memories
        self._hub = hub
        self._settings = settings
        self._agent = agent
        self._ready = ready

    async def of(
        self, turn: Turn, *, seen: bool, window: int | None, new: bool = False
    ) -> "Recollection":
        """What comes to mind for a turn; the same again for one that is resumed.

        Args:
            turn: The turn.
            seen: Whether the model is shown the whole session anyway.
            window: How many tokens the model holds, if that is known.
            new: Whether the turn has no earlier life.
        """
        told = None if new else await self._told(turn)
        if told is None:
            told = await self._find(turn, seen)
            if told.memories:
                await self._tell(turn, told)
        return self._recollection(told, window)

    async def foresee(self, turn: Turn, *, seen: bool, window: int | None) -> "Recollection":
        """What would come to mind for a turn, or has; nothing is told.

        Args:
            turn: The turn, which need not have begun.
            seen: Whether the model is shown the whole session anyway.
            window: How many tokens the model holds, if that is known.
        """
        told = await self._told(turn) or await self._find(turn, seen)
        return self._recollection(told, window)

    def _recollection(self, told: "Recalled", window: int | None) -> "Recollection":
        tokens = (
            self._settings.tokens if window is None else min(self._settings.tokens, window // 10)
        )
        text, shown = recollection(told.memories, tokens * _CHARACTERS)
        foreign = [source(memory) for memory in shown if memory.trust.foreign]
        return Recollection(text, foreign, Recalled(shown, told.degraded))

    async def _told(self, turn: Turn) -> "Recalled | None":
        """What an earlier life of the turn recalled."""
        viewer = self._viewer(turn)
        return await self._memories.database.read(lambda tx: _told(tx, viewer, turn))

    def _viewer(self, turn: Turn) -> Viewer:
        return Viewer(owner=turn.owner, agent=self._agent, session_id=turn.session_id)

    async def _find(self, turn: Turn, seen: bool) -> "Recalled":
        await self._ready()
        query = Query(
            text=turn.prompt[:_LONGEST_QUESTION],
            limit=self._settings.most * 2,
            not_session=turn.session_id if seen else None,
        )
        found = await self._memories.find(self._viewer(turn), query)
        _, shown = recollection(
            [hit.memory for hit in relevant(found.hits)][: self._settings.most],
            self._settings.tokens * _CHARACTERS,
        )
        return Recalled(shown, found.degraded)

    async def _tell(self, turn: Turn, told: "Recalled") -> None:
        now = self._memories.clock.now()
        event = MemoriesRecalled(
            memories=[item(memory) for memory in told.memories], degraded=told.degraded
        )
        self._hub.publish(
            await self._memories.database.write(
                lambda tx: events.append(tx, turn.session_id, turn.id, [event], now)
            )
        )


def relevant(hits: Sequence[Hit]) -> list[Hit]:
    """The hits that did not come up by mere chance, the same words only once."""
    kept: dict[str, Hit] = {}
    for hit in hits:
        answers = hit.why.get("words", 0) > 0 or hit.why.get("around", 0) > _LEAST
        if hit.score >= _LEAST and (answers or hit.why.get("cosine", 0) >= _NEAR):
            kept.setdefault(" ".join(hit.memory.content.casefold().split()), hit)
    return list(kept.values())


@dataclass(frozen=True, slots=True)
class Recalled:
    """What came to mind and is in use, the best first."""

    memories: Sequence[Memory] = ()
    degraded: str = ""
    """Why only a part of the search was available; empty when all of it was."""


def _told(tx: Transaction, viewer: Viewer, turn: Turn) -> Recalled | None:
    """What an earlier life of the turn recalled, as far as it was not forgotten since."""
    for recorded in events.of_turn(tx, turn.id):
        if isinstance(recorded.event, MemoriesRecalled):
            ids = [each.id for each in recorded.event.memories]
            known = memories.many(tx, viewer, ids)
            there = [known[number] for number in ids if number in known and known[number].enabled]
            return Recalled(there, recorded.event.degraded)
    return None


def item(memory: Memory) -> RecalledMemory:
    """A memory as those who look on are told of it."""
    return RecalledMemory(
        id=MemoryId(memory.id),
        kind=memory.kind,
        trust=memory.trust,
        source=memory.source,
        session_id=memory.session_id,
        at=memory.event_at,
        text=" ".join(memory.content.split())[:_PREVIEW],
    )


class Recollection(Ring):
    """Puts what came to mind after the user's words, at every step of a turn."""

    def __init__(
        self, text: str, foreign: Sequence[str] = (), recalled: Recalled | None = None
    ) -> None:
        self.text = text
        self.foreign = foreign
        """Where those of the memories come from that no person of ours told."""
        self.recalled = recalled or Recalled()
        self._noted: tuple[ModelMessage, ModelMessage] | None = None

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        if not self.text:
            return await ask(context)
        return await ask(replace(context, messages=self.beside(context.messages)))

    def beside(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages with what came to mind in its place."""
        shown = list(messages)
        starts = [place for place, one in enumerate(shown) if role_of(one) is Role.START]
        if starts and self.text:
            shown[starts[-1]] = self._with_text(shown[starts[-1]])
        return shown

    def _with_text(self, message: ModelMessage) -> ModelMessage:
        # The same object each time: whoever measures messages measures each once.
        if self._noted is None or self._noted[0] is not message:
            self._noted = (message, with_note(message, self.text))
        return self._noted[1]
