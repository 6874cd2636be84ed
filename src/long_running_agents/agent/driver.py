"""The road: drives the turns of all owners, one per session at a time, in order."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from long_running_agents.agent import delegation, history, transcript
from long_running_agents.agent import settle as agent_settle
from long_running_agents.agent.approvals import ApprovalsSettled
from long_running_agents.agent.budgets import work_node
from long_running_agents.agent.hub import Hub
from long_running_agents.agent.model_request import must_see
from long_running_agents.agent.recorder import SessionState
from long_running_agents.agent.runner import TurnRunner
from long_running_agents.agent.settle import (
    Failed,
    Limited,
    Outcome,
    Stopped,
    Waiting,
    settle,
    status_of,
)
from long_running_agents.agent.work_transitions import mirror
from long_running_agents.domain.budget import Limits
from long_running_agents.domain.context_window import HistoryWindow
from long_running_agents.domain.events import EventEnvelope, TurnResumed
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.ports import Clock, Engine
from long_running_agents.domain.session import Session
from long_running_agents.domain.stuck import WorkTrace
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import Busy, CorruptData, LraError, StorageFailed
from long_running_agents.models.factory import ModelSource
from long_running_agents.observe import logs
from long_running_agents.observe.observers import Observers, TurnObservation
from long_running_agents.store import (
    budgets,
    delegations,
    events,
    folds,
    jobs,
    messages,
    rules,
    sessions,
    taints,
    turns,
    works,
)
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.messages import StoredMessage
from long_running_agents.tools.deps import MakeDeps, preview_deps

_LONGEST = 3600.0
"""Seconds to sleep in one go: the machine may sleep, and its clock be set."""


class Alarm:
    """Calls somebody when the clock shows a moment."""

    def __init__(self, clock: Clock, call: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._call = call
        self._task: asyncio.Task[None] | None = None
        self._ringing: asyncio.Task[None] | None = None
        self._at: datetime | None = None

    @property
    def at(self) -> datetime | None:
        """When it rings; None for never."""
        return self._at

    def set(self, at: datetime | None) -> None:
        """Ring at a moment instead of the one before; None for never."""
        if at == self._at:
            return
        # Only who waits: who was called finishes.
        if self._task is not None:
            self._task.cancel()
        self._task, self._at = None, at
        if at is not None:
            self._task = asyncio.get_running_loop().create_task(self._wait(at))

    def close(self) -> None:
        """Do not call any more."""
        for each in (self._task, self._ringing):
            if each is not None and each is not asyncio.current_task():
                each.cancel()
        self._task = self._ringing = self._at = None

    async def _wait(self, at: datetime) -> None:
        while (left := (at - self._clock.now()).total_seconds()) > 0:
            await self._clock.sleep(min(left, _LONGEST))
        self._ringing, self._task, self._at = self._task, None, None
        await self._call()


class SessionModels:
    """The models of the sessions at work: a switch is heard at the next step."""

    def __init__(self) -> None:
        self._chosen: dict[SessionId, str | None] = {}

    def begin(self, session_id: SessionId, model: str | None) -> None:
        """A turn begins to run; None follows the settings."""
        self._chosen[session_id] = model

    def end(self, session_id: SessionId) -> None:
        """The session's turn has come to rest."""
        self._chosen.pop(session_id, None)

    def switch(self, session_id: SessionId, model: str) -> None:
        """Ask another model from the next step on, if the session is at work."""
        if session_id in self._chosen:
            self._chosen[session_id] = model

    def of(self, session_id: SessionId) -> str | None:
        """The model to ask now."""
        return self._chosen.get(session_id)


log = logging.getLogger(__name__)

WORK = "turn"
"""The kind of work the engine knows turns by."""

_MOST_ATTEMPTS = 10
"""Deaths without a step between them before a turn is given up."""
_AGAIN = 5.0
"""Seconds after which a turn tries again to be written; more with every attempt."""


@dataclass(frozen=True, slots=True)
class _Claimed:
    turn: Turn
    session: Session
    log: list[StoredMessage]
    whole: bool
    """Whether the log is all that was ever said in the session."""
    news: list[EventEnvelope]
    state: SessionState


@dataclass(slots=True)
class _Work:
    """A turn at work, in line, or waited for."""

    owner: str | None = None
    """Whose turn it is, if it was submitted here."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the turn's work is over, for now or for good."""
    rest: Turn | None = None
    """The turn as it came to rest."""


def _nobody(_: Turn) -> None:
    """Nobody has to know."""


def _nothing(_: Transaction, __: Sequence[Turn]) -> None:
    """Nothing is to be written."""


_STEPS = 30
"""Within which too many summaries mean that a work is stuck."""


def _of_work(tx: Transaction, turn: Turn, state: SessionState) -> SessionState:
    """What a session has for a turn, with the work that this is a part of."""
    if turn.work_id is None:
        return state
    node, own = work_node(tx, turn.owner, turn.work_id), turn.spent
    others = replace(
        node.spent,
        steps=node.spent.steps - own.steps,
        input_tokens=node.spent.input_tokens - own.input_tokens,
        output_tokens=node.spent.output_tokens - own.output_tokens,
    )
    view, calls = works.view_of(tx, turn.work_id), works.calls(tx, turn.work_id)
    # Not those of which it was told: a call takes a step, and so do words.
    lately = min(_STEPS, 2 * (len(calls) - view.work.alerted))
    return replace(
        state,
        work=view,
        trace=WorkTrace(
            calls=calls,
            silent_turns=works.silent(tx, turn.work_id),
            compactions=folds.recent(tx, turn.session_id, lately),
        ),
        budget=replace(node, spent=others),
    )


def _job_limits(tx: Transaction, turn: Turn) -> Limits:
    job = jobs.of_turn(tx, turn.id) if turn.origin is TurnOrigin.JOB else None
    return Limits() if job is None else job.limits


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
        view: HistoryWindow,
        observers: Observers | None = None,
    ) -> None:
        self._database = database
        self._hub = hub
        self._clock = clock
        self._runner = runner
        self._models = models
        self._chosen = chosen
        self.view = view
        self._observers = observers or Observers()
        self._settled = _nobody
        self._note = _nothing
        self._engine: Engine | None = None
        self._closed = False
        self._stopping: set[TurnId] = set()
        self._running: dict[TurnId, _Work] = {}
        self._broken: dict[TurnId, LraError] = {}
        """Why turns could not be driven to where they rest, until they are."""
        self._alarm = Alarm(clock, self._look_after_questions)

    async def open(
        self,
        engine: Engine,
        *,
        settled: Callable[[Turn], None] = _nobody,
        note: Callable[[Transaction, Sequence[Turn]], None] = _nothing,
    ) -> None:
        """Take up work: whatever was unfinished goes on.

        In the transaction in which a turn comes to rest, ``note`` is given it and those above it.
        """
        self._engine = engine
        self._settled = settled
        self._note = note
        now = self._clock.now()
        await self._database.write(
            lambda tx: (budgets.settle_all(tx, now), delegation.recover(tx, now))
        )
        for turn in await self._database.read(delegation.to_go_on):
            begins = await self._database.read(lambda tx, turn=turn: jobs.begins_at(tx, turn.id))
            await self.submit(turn, max(0.0, (begins - now).total_seconds()) if begins else 0.0)
        for turn in await self._database.read(delegations.orphans):
            await self.stop(turn)
        await self.expire()

    @property
    def ready(self) -> bool:
        """Whether it takes up work."""
        return self._engine is not None and not self._closed

    @property
    def deps(self) -> MakeDeps:
        """What the tools of a turn can touch."""
        return self._runner.deps

    @property
    def busy(self) -> int:
        """How many turns are at work or in line."""
        return len(self._running)

    async def submit(self, turn: Turn, delay: float = 0.0) -> None:
        """Let a turn be driven when its time comes."""
        work = self._running.setdefault(turn.id, _Work())
        # It goes on: where it rested before is not where it comes to rest.
        work.owner, work.rest = turn.owner, None
        await self._the_engine.submit(WORK, turn.id, partition=turn.session_id, delay=delay)

    def drives(self, turn_id: TurnId, owner: str) -> bool:
        """Whether a turn of this owner is at work or in line."""
        work = self._running.get(turn_id)
        return work is not None and work.owner == owner

    async def must_see(self, session_id: SessionId, model: str | None) -> None:
        """Refuse what a session would be shown, if its model sees no pictures."""
        session = await self._database.read(lambda tx: sessions.find(tx, session_id))
        asked = model or (session.model if session else None)
        must_see(self._models.choices(asked)[0])

    async def stop(self, turn: Turn) -> None:
        """Bring a turn to rest that runs, waits or is in line, its delegates first."""
        self._stopping.add(turn.id)
        try:
            await self._stop_delegates(turn)
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
            if (broken := self._broken.get(turn_id)) is not None:
                raise broken
            known = turn_id in self._running
            # There before the turn is read, so that its end cannot slip in between.
            work = self._running.setdefault(turn_id, _Work())
            if not known:
                turn = await self._database.read(lambda tx: turns.get(tx, turn_id))
                if turn.status.settled:
                    self._over(turn_id)
                    return turn
            await work.over.wait()
            if work.rest is not None and work.rest.status.settled:
                return work.rest

    async def go_on(self, done: ApprovalsSettled) -> None:
        """Ring answers, and let the turns go on that waited for nothing else."""
        self._hub.publish(done.news)
        for turn in done.going_on:
            await self.submit(turn)

    async def expire(self) -> None:
        """Answer questions, and end turns, that have waited too long."""
        now = self._clock.now()
        patience = self._runner.patience
        late = await self._database.read(lambda tx: agent_settle.next_deadline(tx, patience))
        if late is not None and late <= now:
            done = await self._database.write(lambda tx: agent_settle.expire_all(tx, now, patience))
            await self.go_on(done)
            late = await self._database.read(lambda tx: agent_settle.next_deadline(tx, patience))
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
        self._broken.pop(turn, None)
        try:
            with logs.turn(turn_id):
                await self._drive(turn)
        except StorageFailed as error:
            log.warning("turn %s waits until it can be written: %s", turn_id, error)
            self._broken[turn] = error
        except Exception as error:  # The outermost handler around a turn.
            # We failed, so the outcome is not stored: tell whoever waits. The turn stays
            # unfinished and goes on when the home is opened again.
            log.exception("turn %s is left unfinished", turn_id)
            self._broken[turn] = (
                error if isinstance(error, LraError) else LraError(f"Something broke: {error!r}.")
            )
        finally:
            self._over(turn)
        if isinstance(self._broken.get(turn), StorageFailed):
            await self._try_again(turn)

    async def _try_again(self, turn_id: TurnId) -> None:
        """Let a turn go on later for which the disk had no room."""
        try:
            turn = await self._database.read(lambda tx: turns.get(tx, turn_id))
        except LraError:
            log.exception("turn %s is left unfinished", turn_id)
            return
        await self.submit(turn, delay=_AGAIN * max(1, turn.attempts))

    async def _drive(self, turn_id: TurnId) -> None:
        # No model is asked whose answer could not be written down.
        await self._database.check_room()
        claimed = await self._database.write(lambda tx: self._claim(tx, turn_id))
        if claimed is None:
            turn = await self._database.read(lambda tx: turns.get(tx, turn_id))
            if turn.status is TurnStatus.STEERED:
                # The turn that it was given to answers it; it came to rest all the same.
                self._settled(turn)
            return
        self._hub.publish(claimed.news)
        turn, seen = claimed.turn, TurnObservation(claimed.turn)
        try:
            with (
                logs.turn(turn.id, turn.session_id),
                self._observers.turn(seen),
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
        agent = claimed.state.agent
        own = None if agent is None else agent.model
        self._chosen.begin(key, turn.model or claimed.session.model or own)
        try:
            self._models.choices(self._chosen.of(key))
            return await self._runner.run(
                turn,
                transcript.loaded(claimed.log),
                lambda: self._models.choices(self._chosen.of(key)),
                fresh=not any(message.turn_id == turn.id for message in claimed.log),
                seen=claimed.whole,
                state=claimed.state,
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
        now = self._clock.now()
        # What an earlier life of it asked for may have been paid.
        budgets.settle(tx, turn_id, None, now)
        turn = turns.claim(tx, turn_id)
        if turn is None:
            return None
        resumed = [TurnResumed(attempt=turn.attempts)] if turn.attempts > 1 else []
        log = history.read(tx, turn, self.view, now)
        return _Claimed(
            turn,
            sessions.get(tx, turn.session_id),
            log,
            len(log) >= messages.count(tx, turn.session_id),
            events.append(tx, turn.session_id, turn.id, resumed, now),
            _of_work(
                tx,
                turn,
                SessionState(
                    sources=taints.sources(tx, turn.session_id),
                    rules=rules.standing(tx, turn.session_id),
                    steers=turns.steering(tx, turn.session_id),
                    lineage=delegation.lineage(tx, turn),
                    limits=_job_limits(tx, turn),
                ),
            ),
        )

    async def _settle(self, turn: Turn, outcome: Outcome) -> None:
        """Write how a turn came to rest, publish it, and call the next in line."""
        now = self._clock.now()

        def work(tx: Transaction) -> tuple[list[EventEnvelope], list[Turn], list[Turn]]:
            # Read again: steps were added since the turn was claimed.
            fresh = turns.get(tx, turn.id)
            if fresh.status.ended:
                return [], [fresh], []
            news = settle(tx, fresh, outcome, now)
            lineage = [turns.get(tx, turn.id), *delegations.above(tx, turn)]
            self._note(tx, lineage)
            return news, lineage, delegation.next_up(tx, turn)

        news, (rest, *above), following = await self._database.write(work)
        self._broken.pop(turn.id, None)
        if (waited := self._running.get(turn.id)) is not None:
            waited.rest = rest
        self._hub.publish(news)
        self._wait_with(above)
        if rest.work_id is not None:
            await mirror(self._database, preview_deps(self.deps, rest), rest.work_id)
        self._runner.book.given_back()
        self._settled(turn)
        if isinstance(outcome, Waiting):
            await self.expire()
        elif isinstance(outcome, Stopped | Limited | Failed):
            # Also those that began while it was being stopped.
            await self._stop_delegates(turn)
        await self._go_on(following)

    async def _go_on(self, following: Sequence[Turn]) -> None:
        for each in following:
            # Who is being stopped with its delegates does not go on after the last of them.
            if each.id not in self._stopping:
                await self.submit(each)

    def _wait_with(self, above: Sequence[Turn]) -> None:
        """Wake whoever waits for a turn that now waits for a person, as a delegate of it does."""
        for parent in above:
            waited = self._running.get(parent.id)
            if waited is not None and parent.status.settled:
                waited.rest = parent
                self._over(parent.id)

    async def _stop_delegates(self, turn: Turn) -> None:
        for each in await self._database.read(lambda tx: delegations.unfinished(tx, turn.id)):
            await self.stop(each)

    def _over(self, turn_id: TurnId) -> None:
        """Wake whoever waits for a turn."""
        if (work := self._running.pop(turn_id, None)) is not None:
            work.over.set()

    @property
    def _the_engine(self) -> Engine:
        if self._engine is None:
            raise Busy("The turn service is not open yet.")
        return self._engine
