"""The road: drives the turns of all owners, one per session at a time, in order."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from long_running_agents import correlation
from long_running_agents.agent import answering, history, transcript
from long_running_agents.agent.alarm import Alarm
from long_running_agents.agent.answering import Answered
from long_running_agents.agent.history import View
from long_running_agents.agent.hub import Hub
from long_running_agents.agent.onlookers import Onlookers, Seen
from long_running_agents.agent.outcome import Failed, Outcome, Stopped, Waiting, status_of
from long_running_agents.agent.runner import TurnRunner
from long_running_agents.agent.session_models import SessionModels
from long_running_agents.agent.settling import settle
from long_running_agents.domain.events import Recorded, TurnResumed
from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.ports import Clock, Engine
from long_running_agents.domain.session import Session
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import Busy, CorruptData, LraError, StorageFailed
from long_running_agents.models.factory import ModelSource
from long_running_agents.store import events, messages, sessions, taints, turns
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.messages import StoredMessage

log = logging.getLogger(__name__)

WORK = "turn"
"""The kind of work the engine knows turns by."""

_MOST_ATTEMPTS = 10
"""Deaths without a step between them before a turn is given up."""


@dataclass(frozen=True, slots=True)
class _Claimed:
    turn: Turn
    session: Session
    log: list[StoredMessage]
    whole: bool
    """Whether the log is all that was ever said in the session."""
    news: list[Recorded]
    sources: tuple[str, ...]
    """The foreign words that the session has read."""


def _nobody(_: TurnId) -> None:
    """Nobody has to know."""


class TurnDriver:
    """Takes turns from where they are to where they come to rest, whoever began them."""

    def __init__(
        self,
        *,
        database: Database,
        hub: Hub,
        clock: Clock,
        runner: TurnRunner,
        models: ModelSource,
        chosen: SessionModels,
        view: View,
        onlookers: Onlookers | None = None,
    ) -> None:
        self._database = database
        self._hub = hub
        self._clock = clock
        self._runner = runner
        self._models = models
        self._chosen = chosen
        self._view = view
        self._onlookers = onlookers or Onlookers()
        self._settled = _nobody
        self._engine: Engine | None = None
        self._closed = False
        self._stopping: set[TurnId] = set()
        self._running: dict[TurnId, asyncio.Event] = {}
        """Set when a turn's work is over, for now or for good."""
        self._broken: dict[TurnId, LraError] = {}
        self._alarm = Alarm(clock, self._look_after_questions)

    async def open(self, engine: Engine, *, settled: Callable[[TurnId], None] = _nobody) -> None:
        """Take up work: whatever was unfinished goes on.

        Args:
            engine: Runs the turns.
            settled: Hears of each turn that has come to rest.
        """
        self._engine = engine
        self._settled = settled
        for turn in await self._database.read(turns.unfinished):
            await self.submit(turn)
        await self.expire()

    @property
    def ready(self) -> bool:
        """Whether it takes up work."""
        return self._engine is not None and not self._closed

    @property
    def busy(self) -> int:
        """How many turns are at work or in line."""
        return len(self._running)

    async def submit(self, turn: Turn) -> None:
        """Let a turn be driven when its time comes."""
        self._running.setdefault(turn.id, asyncio.Event())
        await self._the_engine.submit(WORK, turn.id, partition=turn.session_id)

    async def stop(self, turn: Turn) -> None:
        """Bring a turn to rest that runs, waits or is in line."""
        self._stopping.add(turn.id)
        try:
            await self._the_engine.cancel(turn.id)
            # It waited for an answer or for its place in line, or it was caught between two
            # writes: then nobody has written yet that it was stopped.
            await self._settle(turn, Stopped(""))
            self._over(turn.id)
        finally:
            self._stopping.discard(turn.id)

    async def settled(self, turn_id: TurnId) -> Turn:
        """Wait until a turn has ended or waits for an answer."""
        while True:
            known = turn_id in self._running
            # There before the turn is read, so that its end cannot slip in between.
            signal = self._running.setdefault(turn_id, asyncio.Event())
            if known:
                await signal.wait()
            if (broken := self._broken.pop(turn_id, None)) is not None:
                raise broken
            turn = await self._database.read(lambda tx: turns.get(tx, turn_id))
            if turn.status.settled:
                self._over(turn_id)
                return turn
            if not known:
                await signal.wait()

    async def go_on(self, done: Answered) -> None:
        """Ring answers, and let the turns go on that waited for nothing else."""
        self._hub.publish(done.news)
        for turn in done.going_on:
            await self.submit(turn)

    async def expire(self) -> None:
        """Answer the questions that have waited too long; their turns go on without."""
        now = self._clock.now()
        late = await self._database.read(answering.next_expiry)
        if late is not None and late <= now:
            await self.go_on(await self._database.write(lambda tx: answering.expire(tx, now)))
            late = await self._database.read(answering.next_expiry)
        self._alarm.set(late)

    async def _look_after_questions(self) -> None:
        try:
            await self.expire()
        except LraError as error:
            # A full disk or the like; whoever looks next tries again.
            log.warning("a question could not expire: %s", error)

    def close(self) -> None:
        """Let no question expire any more; the next to open the home looks after them."""
        self._closed = True
        self._alarm.close()

    async def run(self, turn_id: str) -> None:
        """Drive one turn until it settles; the engine calls this."""
        turn = TurnId(turn_id)
        try:
            with correlation.turn(turn_id):
                await self._drive(turn)
        except Exception as error:  # The outermost ring around a turn.
            # The disk failed, or we did, so the outcome is not stored: tell whoever waits. The
            # turn stays unfinished and goes on when the home is opened again.
            log.exception("turn %s is left unfinished", turn_id)
            self._broken[turn] = (
                error if isinstance(error, LraError) else LraError(f"Something broke: {error!r}.")
            )
        finally:
            self._over(turn)

    async def _drive(self, turn_id: TurnId) -> None:
        claimed = await self._database.write(lambda tx: self._claim(tx, turn_id))
        if claimed is None:
            return
        self._hub.publish(claimed.news)
        turn, seen = claimed.turn, Seen(claimed.turn)
        try:
            with (
                correlation.turn(turn.id, turn.session_id),
                self._onlookers.turn(seen),
            ):
                log.info("the turn is at work, attempt %d", turn.attempts)
                outcome = await self._outcome(claimed)
                seen.status = status_of(outcome)
                log.info("the turn rests: %s", seen.status)
        except asyncio.CancelledError:
            # The home is being closed in good order: that is not a death.
            await self._database.write(lambda tx: turns.release(tx, turn_id))
            raise
        await self._settle(turn, outcome)

    async def _outcome(self, claimed: _Claimed) -> Outcome:
        turn = claimed.turn
        if turn.attempts > _MOST_ATTEMPTS:
            return Failed(
                LraError(
                    f"This turn was cut off {turn.attempts} times without getting anywhere.",
                    hint="Look at the log, then retry it.",
                )
            )
        key = turn.session_id
        self._chosen.begin(key, turn.model or claimed.session.model)
        try:
            self._models.choices(self._chosen.of(key))
            return await self._runner.run(
                turn,
                transcript.loaded(claimed.log),
                lambda: self._models.choices(self._chosen.of(key)),
                fresh=not any(message.turn_id == turn.id for message in claimed.log),
                seen=claimed.whole,
                sources=claimed.sources,
                stopping=lambda: turn.id in self._stopping,
            )
        except (StorageFailed, CorruptData):
            raise
        except LraError as error:
            # A model that cannot be asked, by name.
            return Failed(error)
        except Exception as error:  # A bug ends one turn, and whoever waits for it is told.
            log.exception("turn %s failed", turn.id)
            return Failed(LraError(f"Something broke: {type(error).__name__}: {error}."))
        finally:
            self._chosen.end(key)

    def _claim(self, tx: Transaction, turn_id: TurnId) -> _Claimed | None:
        turn = turns.claim(tx, turn_id)
        if turn is None:
            return None
        now = self._clock.now()
        resumed = [TurnResumed(attempt=turn.attempts)] if turn.attempts > 1 else []
        log = history.read(tx, turn, self._view, now)
        return _Claimed(
            turn,
            sessions.get(tx, turn.session_id),
            log,
            len(log) >= messages.count(tx, turn.session_id),
            events.append(tx, turn.session_id, turn.id, resumed, now),
            taints.sources(tx, turn.session_id),
        )

    async def _settle(self, turn: Turn, outcome: Outcome) -> None:
        """Write how a turn came to rest, ring it, and call the next in line."""
        now = self._clock.now()

        def work(tx: Transaction) -> tuple[list[Recorded], Turn | None]:
            # Read again: steps were added since the turn was claimed.
            fresh = turns.get(tx, turn.id)
            if fresh.status.ended:
                return [], None
            return settle(tx, fresh, outcome, now), turns.current(tx, turn.session_id)

        news, following = await self._database.write(work)
        self._hub.publish(news)
        self._settled(turn.id)
        if isinstance(outcome, Waiting):
            await self.expire()
        if following is not None and following.status is TurnStatus.QUEUED:
            await self.submit(following)

    def _over(self, turn_id: TurnId) -> None:
        """Wake whoever waits for a turn."""
        if (signal := self._running.pop(turn_id, None)) is not None:
            signal.set()

    @property
    def _the_engine(self) -> Engine:
        if self._engine is None:
            raise Busy("The turn service is not open yet.")
        return self._engine
