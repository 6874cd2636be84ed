"""Compaction around a turn: summaries that are made in the background, and the archive."""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

from pydantic_ai.messages import ModelMessage, ModelResponse

from long_running_agents.agent import transcript
from long_running_agents.agent.hub import Hub
from long_running_agents.agent.model_request import SideRequest, SideRequests
from long_running_agents.domain.compaction import END, Fold, clip, faults, summary_instructions
from long_running_agents.domain.events import SessionCompacted
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import Busy, LraError, NotFound, storing
from long_running_agents.store import events, folds, messages, sessions, turns
from long_running_agents.store.database import Database, Transaction

log = logging.getLogger(__name__)

_STEPS = 10
"""Steps of a session between two summaries that nobody asked for."""
_BUDGET = 2400
"""Characters of a summary."""
_SPAN = 60_000
"""Characters that are summed up at once, where the model's window holds more."""
_RESULT, _TURNS = 400, 200
"""Characters of a tool's result, and turns, that are summed up at once."""
_OUTPUT = 1_000
"""Tokens that a summary may have."""


class Summarizer(NamedTuple):
    """Who sums up."""

    model: str
    """Empty for nobody: then each turn is a line."""
    characters: int
    """That it is given at once."""


_Span = tuple[Sequence[Turn], str, int, int]
"""Turns that leave the view, what was said in them, and the session's steps and folds so far."""


@dataclass
class Compactor:
    """Sums up, one session after the other, what leaves the view next."""

    database: Database
    clock: Clock
    hub: Hub
    asked: SideRequests
    archive: Path
    """The folder for what has left the view."""
    sums_up: bool = True

    def __post_init__(self) -> None:
        self._wanted: dict[SessionId, tuple[Turn, int, Summarizer]] = {}
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._folding = WeakValueDictionary[SessionId, asyncio.Lock]()
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Let go; what was not summed up is wanted again when the session goes on."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def want(self, turn: Turn, before: int, by: Summarizer) -> None:
        """Say that the turns before a number leave a session's view."""
        self._wanted[turn.session_id] = turn, before, by
        self._idle.clear()
        self._wake.set()

    async def done(self) -> None:
        """Wait until nothing is left to be summed up."""
        await self._idle.wait()

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._wanted:
                session_id, (turn, before, by) = self._wanted.popitem()
                try:
                    await self._fold(session_id, turn.owner, before, by, least=_STEPS)
                except LraError as error:
                    # Without a summary, each turn is a line.
                    log.warning("session %s is not summed up: %s", session_id, error)
                except Exception:  # The outermost handler: a bug here must not end the task.
                    log.exception("session %s is not summed up", session_id)
            self._idle.set()

    async def compact(self, session_id: SessionId, owner: str, by: Summarizer) -> Fold:
        """Put a summary, or a line for each turn, in the place of all turns but the last one.

        Raises:
            Busy: A turn is not finished.
            NotFound: There is nothing to be put together.
        """

        def look(tx: Transaction) -> Turn | None:
            sessions.get(tx, session_id, owner=owner)
            if turns.current(tx, session_id) is not None:
                raise Busy("A turn of this session is not finished.", hint="Stop it first.")
            return turns.last(tx, session_id)

        last = await self.database.read(look)
        fold = last and await self._fold(session_id, owner, last.number, by, shown=last.id)
        if fold is None:
            raise NotFound("There is nothing new to compact.", hint="Its last turn stays whole.")
        return fold

    async def _fold(
        self,
        session_id: SessionId,
        owner: str,
        before: int,
        by: Summarizer,
        *,
        least: int = 0,
        shown: TurnId | None = None,
    ) -> Fold | None:
        """Let a fold stand for what leaves the view; from then on, `shown` is the first turn in it.

        None if there is nothing to fold, or not enough since the last one.
        """
        # One after the other: two at once would fold the same turns.
        async with self._folding.setdefault(session_id, asyncio.Lock()):
            room = min(by.characters, _SPAN)
            span = await self.database.read(lambda tx: _span(tx, session_id, before, least, room))
            if span is None:
                return None
            return await self._folded(session_id, owner, span, by, shown)

    async def _folded(
        self, session_id: SessionId, owner: str, span: _Span, by: Summarizer, shown: TurnId | None
    ) -> Fold:
        # First the file: whoever dies in between writes it again, and no fold is ever without one.
        await asyncio.to_thread(self._export, session_id, span[3] + 1, span[1])
        fold = await self._summary(session_id, owner, span, by)
        now = self.clock.now()
        told = SessionCompacted(
            first=fold.first, last=fold.last, summary=bool(fold.text), faults=list(fold.faults)
        )

        def work(tx: Transaction) -> list[events.EventEnvelope]:
            folds.add(tx, fold)
            if shown is not None:
                sessions.compact(tx, session_id, shown)
            return events.append(tx, session_id, None, [told], now)

        self.hub.publish(await self.database.write(work))
        return fold

    async def _summary(
        self, session_id: SessionId, owner: str, span: _Span, by: Summarizer
    ) -> Fold:
        (turns_of_span, words, steps, _), text, why = span, "", list[str]()
        tokens, cost = 0, Decimal(0)
        for _ in range(2 if by.model and self.sums_up else 0):
            wanted = SideRequest(
                instructions=summary_instructions(_BUDGET, "; ".join(why)),
                words=words[: by.characters],
                model=by.model,
                most=_OUTPUT,
                session_id=session_id,
            )
            try:
                answer = await self.asked.run(owner, wanted)
            except LraError as error:
                why.append(error.message)
                continue
            tokens += answer.usage.total_tokens
            cost += answer.usage.cost or 0
            found = faults(answer.text, words, _BUDGET)
            if not found:
                text = answer.text.strip().removesuffix(END).strip()
                break
            why += found
        return Fold(
            session_id=session_id,
            first=turns_of_span[0].number,
            last=turns_of_span[-1].number,
            text=text,
            digest=hashlib.sha256(words.encode()).hexdigest(),
            model=by.model,
            tokens=tokens,
            cost=cost,
            faults=tuple(why),
            steps=steps,
            created_at=self.clock.now(),
        )

    def _export(self, session_id: SessionId, number: int, words: str) -> None:
        folder = self.archive / session_id
        path = folder / f"archive-{number:03}.md"
        with storing(path):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            path.write_text(f"{self.database.redact(words)}\n", encoding="utf-8")


def _span(
    tx: Transaction, session_id: SessionId, before: int, least: int, room: int
) -> _Span | None:
    """The turns before one that no fold stands for yet; None when it is too early for another."""
    made = folds.of_session(tx, session_id, most=1)
    after = max([folds.cleared(tx, session_id), *(fold.last for fold in made)])
    leaving = min(before - 1 - after, _TURNS)
    if leaving <= 0:
        return None
    steps = folds.steps(tx, session_id)
    if made and steps - made[-1].steps < least:
        return None
    told, words = list[Turn](), ""
    for turn in turns.of_session(tx, session_id, limit=leaving, offset=after):
        more = _told(turn, transcript.loaded(messages.of_turn(tx, turn.id)))
        if told and len(words) + len(more) > room:
            break
        told.append(turn)
        words += more
    return (told, words, steps, folds.count(tx, session_id)) if told else None


def _told(turn: Turn, log_of_turn: Sequence[ModelMessage]) -> str:
    """All that was said in a turn, with its calls; long results in part."""
    head = f"## Turn {turn.number}, {turn.created_at:%Y-%m-%d %H:%M} UTC"
    return "\n".join([head, "", *spoken(log_of_turn, _RESULT), "", ""])


def spoken(talk: Sequence[ModelMessage], longest: int | None = None) -> list[str]:
    """All that messages say, each thing with who says it; results up to a length, if it matters."""
    lines: list[str] = []
    for message in talk:
        if isinstance(message, ModelResponse):
            calls = [f"{call.tool_name}({call.args_as_json_str()})" for call in message.tool_calls]
            lines += [f"Agent: {each}" for each in (transcript.text_of(message), *calls) if each]
        else:
            lines += [
                f"Result: {clip(text, longest) if longest else text}"
                if role == "tool"
                else f"User: {text}"
                for role, text in map(transcript.words, message.parts)
                if text and role != "system"
            ]
    return lines
