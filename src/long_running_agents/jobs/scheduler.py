"""The scheduler: gives every planned moment of a job its firing, and the firing its turn.

A tick is one transaction for each job that is due: the firings, their turns, and the cursor up to
which all moments have one. Whoever dies in between leaves all of it or nothing.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from long_running_agents.agent.budgets import BudgetBook
from long_running_agents.agent.driver import Alarm
from long_running_agents.agent.turns import AcceptedTurn, TurnService
from long_running_agents.domain.budget import BudgetScope
from long_running_agents.domain.compaction import clip
from long_running_agents.domain.ids import SessionId, TurnId, new_id, scoped, shown
from long_running_agents.domain.job import (
    MOST_AT_ONCE,
    PAUSE_AFTER,
    Firing,
    FiringOutcome,
    FiringView,
    ForeignWords,
    Job,
    JobId,
    JobSession,
    JobState,
    back_off,
    catch_up_delay,
    decide,
)
from long_running_agents.domain.schedule import Schedule, ScheduleKind, parse_schedule
from long_running_agents.domain.session import MINE, Mode
from long_running_agents.domain.turn import Terms, Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import Busy, LraError, ModelUnavailable, TooMany, UsageError
from long_running_agents.jobs.notices import Notices
from long_running_agents.jobs.watch import Watcher, WatchResult, difference
from long_running_agents.models.factory import ModelSource
from long_running_agents.store import agents, events, jobs, sessions, taints, turns
from long_running_agents.store.database import Database, Transaction

log = logging.getLogger(__name__)

_LATE = timedelta(minutes=1)
_DELIVERIES = 30
"""Runs within a minute after which a webhook has to wait."""
_LOOKED_BACK = 50
"""Firings among which the newest runs are looked for."""
_QUOTED = 2_000
"""Characters of the last result that the next run is shown."""


@dataclass(frozen=True, slots=True)
class _Fired:
    firing: Firing
    accepted: AcceptedTurn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Occasion:
    """A moment at which a job is to fire."""

    planned: datetime
    now: datetime
    key: str = ""
    """The moment itself unless somebody asks."""
    asked: bool = False
    """Whether a person asks for it."""
    words: ForeignWords | None = None
    outcome: FiringOutcome = FiringOutcome.RAN
    """What it is called if it runs."""
    before: int = 0
    """Late runs that are to begin earlier."""


@dataclass(slots=True)
class Scheduler:
    """Fires the jobs of all owners, each moment once."""

    database: Database
    turns: TurnService
    models: ModelSource
    book: BudgetBook
    notices: Notices
    watcher: Watcher
    home: str = MINE
    """Whose home it is: theirs are the plain names of sessions."""
    _alarm: Alarm | None = field(default=None, init=False)
    _looking: dict[tuple[str, JobId], asyncio.Task[None]] = field(
        default_factory=dict[tuple[str, JobId], "asyncio.Task[None]"], init=False
    )
    """The looks that go on, by their jobs."""

    async def open(self) -> None:
        """Begin: jobs that run at a start, moments that were missed, then each at its time."""
        now = self.turns.clock.now()
        boot = new_id("start", now)

        def work(tx: Transaction) -> list[_Fired]:
            found = jobs.at_startup(tx)
            # By its word: one that cannot be read any more must not hold up the others.
            wanted = [job for job in found if job.schedule.strip().lower() == ScheduleKind.STARTUP]
            occasion = _Occasion(planned=now, now=now, key=boot)
            return [self.fire(tx, job, occasion) for job in wanted]

        self.notices.open()
        self._alarm = Alarm(self.turns.clock, self._ring)
        await self._begin(await self.database.write(work))
        await self.tick()

    def close(self) -> None:
        """Fire nothing more; the next to open the home gives what was planned its firings."""
        self.notices.close()
        for look in self._looking.values():
            look.cancel()
        if self._alarm is not None:
            self._alarm.close()
            self._alarm = None

    async def _ring(self) -> None:
        try:
            await self.tick()
        except LraError as error:
            self._try_again(error)

    def _try_again(self, error: LraError) -> None:
        # A full disk or the like: nothing is lost, since the cursor has not moved.
        log.warning("jobs could not be fired: %s", error)
        if self._alarm is not None:
            self._alarm.set(self.turns.clock.now() + _LATE)

    async def tick(self) -> None:
        """Give every moment that has come its firing, and wait for the next one.

        What jobs watch is looked at beside: meanwhile, others fire at their moments.
        """
        now, fired = self.turns.clock.now(), list[_Fired]()
        while found := await self._due(now):
            for job in found:
                if job.watch:
                    look = asyncio.create_task(self._look(job, now))
                    self._looking[job.owner, job.id] = look
                else:
                    fired += await self._accounted(job, now, behind=fired)
        await self._begin(fired)
        await self.changed()
        if self._looking:
            await asyncio.wait(self._looking.values())

    async def _due(self, now: datetime) -> list[Job]:
        found = await self.database.read(lambda tx: jobs.due(tx, now))
        return [job for job in found if (job.owner, job.id) not in self._looking]

    async def _look(self, job: Job, now: datetime) -> None:
        """Look at what a job watches, outside of any transaction; what was seen is written in one.

        Whoever dies in between has looked in vain: its moments are still to come.
        """
        try:
            look = await self.watcher.look(job.owner, job.watch)
            await self._begin(await self._accounted(job, now, look))
        except LraError as error:
            self._try_again(error)
            return
        finally:
            del self._looking[job.owner, job.id]
        await self.changed()

    async def changed(self) -> None:
        """Wait for the next moment of any job: one was added, edited or removed."""
        if self._alarm is not None:
            looking = list(self._looking)
            self._alarm.set(await self.database.read(lambda tx: jobs.earliest(tx, looking)))
        self.notices.nudge()

    async def run(self, owner: str, job_id: JobId, key: str) -> FiringView:
        """Fire a job now, because somebody asks for it; the same key fires it once."""
        now = self.turns.clock.now()
        watch = (await self.database.read(lambda tx: jobs.get(tx, owner, job_id))).watch
        look = await self.watcher.look(owner, watch) if watch else None

        def work(tx: Transaction) -> list[_Fired]:
            job = jobs.get(tx, owner, job_id)
            if jobs.history(tx, owner, job_id, limit=1, key=key):
                return []
            occasion = _Occasion(planned=now, now=now, key=key, asked=True)
            return [self._looked(tx, job, occasion, look)]

        return await self._fired_once(owner, job_id, key, work)

    async def deliver(self, owner: str, job_id: JobId, key: str, words: ForeignWords) -> FiringView:
        """Fire a job because a webhook arrived; the same key fires it once.

        Raises:
            Busy: The job is paused, or was only proposed.
            TooMany: There were too many runs within a minute.
        """
        now = self.turns.clock.now()

        def work(tx: Transaction) -> list[_Fired]:
            if jobs.history(tx, owner, job_id, limit=1, key=key):
                return []
            job = jobs.get(tx, owner, job_id)
            if job.state is not JobState.ACTIVE:
                raise Busy(f"Job {job_id!r} is {job.state}.", hint="A person can resume it.")
            past = jobs.history(tx, owner, job_id, limit=_DELIVERIES)
            free = past[-1].firing.seen_at + _LATE if len(past) == _DELIVERIES else now
            if free > now:
                wait = (free - now).total_seconds()
                raise TooMany(f"{_DELIVERIES} runs a minute are enough.", seconds=wait)
            job = self._unless_failing(tx, job)
            busy = jobs.running(tx, owner, job_id)
            [each] = decide(job, [now], now, max_age=_LATE, busy=busy)
            occasion = _Occasion(planned=now, now=now, key=key, words=words)
            if each.outcome is not FiringOutcome.RAN:
                return [_Fired(_keep(tx, job, occasion, each.outcome, each.note))]
            return [self.fire(tx, job, occasion)]

        return await self._fired_once(owner, job_id, key, work)

    async def _fired_once(
        self, owner: str, job_id: JobId, key: str, work: Callable[[Transaction], list[_Fired]]
    ) -> FiringView:
        await self._begin(await self.database.write(work))
        await self.changed()
        [view] = await self.database.read(
            lambda tx: jobs.history(tx, owner, job_id, limit=1, key=key)
        )
        return view

    async def _begin(self, fired: Sequence[_Fired]) -> None:
        """Let turns be driven, each at its time."""
        for each in fired:
            if each.accepted is not None:
                begins = each.firing.begins_at or each.firing.seen_at
                delay = (begins - each.firing.seen_at).total_seconds()
                await self.turns.begin(each.accepted, delay=delay)

    async def _accounted(
        self,
        job: Job,
        now: datetime,
        look: WatchResult | None = None,
        *,
        behind: Sequence[_Fired] = (),
    ) -> list[_Fired]:
        """Give the moments of one job that have come their firings, and move its cursor."""
        ran = [each.firing for each in behind if each.accepted is not None]
        late = sum(firing.seen_at - firing.planned > _LATE for firing in ran)
        try:
            return await self.database.write(
                lambda tx: self._account(tx, job.owner, job.id, now, look, late)
            )
        except UsageError as error:
            # Such as a time zone that is no more: it must not hold up the others.
            why = f"it cannot be read any more: {error.message}"
            paused = replace(job, state=JobState.PAUSED, note=why, next_at=None)
            await self.database.write(lambda tx: self.notices.paused(tx, jobs.save(tx, paused)))
            return []

    def _account(
        self,
        tx: Transaction,
        owner: str,
        job_id: JobId,
        now: datetime,
        look: WatchResult | None,
        late: int,
    ) -> list[_Fired]:
        job = jobs.find(tx, owner, job_id)
        if job is None or job.state is not JobState.ACTIVE or not job.next_at or job.next_at > now:
            return []
        if job.watch != (look.watch if look else ""):
            # It was edited meanwhile: the next tick sees what is to be done.
            return []
        schedule = _schedule(job)
        due, following = moments(job, now)
        age = schedule.usual_gap(job.cursor, job.anchor)
        if job.max_age is not None:
            age = timedelta(seconds=job.max_age)
        busy, fired = jobs.running(tx, owner, job_id), list[_Fired]()
        job = self._unless_failing(tx, job)
        for each in decide(job, due, now, max_age=age, busy=busy):
            occasion = _Occasion(planned=each.planned, now=now, before=late + len(fired))
            if each.outcome is FiringOutcome.RAN:
                fired.append(self._looked(tx, job, occasion, look))
            else:
                _keep(tx, job, occasion, each.outcome, each.note)
        cursor = due[-1] if due else job.cursor
        jobs.save(tx, replace(job, cursor=cursor, next_at=following))
        return fired

    def _unless_failing(self, tx: Transaction, job: Job) -> Job:
        """The job; paused if its newest runs have all failed, since a person has looked at it."""
        ended = _ended(tx, job)
        newest = [each for each in ended if each.firing.seen_at > job.updated_at][:PAUSE_AFTER]
        failed = (TurnStatus.FAILED, TurnStatus.LIMITED)
        if len(newest) < PAUSE_AFTER or any(each.status not in failed for each in newest):
            return job
        note = f"{PAUSE_AFTER} runs in a row failed; 'lra jobs resume {job.id}' goes on."
        paused = jobs.save(tx, replace(job, state=JobState.PAUSED, note=note))
        self.notices.paused(tx, paused)
        return paused

    def _looked(
        self, tx: Transaction, job: Job, occasion: _Occasion, look: WatchResult | None
    ) -> _Fired:
        """Fire, if what the job watches has changed, and keep what was seen with it."""
        if look is None:
            return self.fire(tx, job, occasion)
        if look.failed:
            return self._blocked(tx, job, occasion, look.failed)
        seen, text = jobs.seen(tx, job), tx.redact(look.text)
        if seen is None or seen == text:
            jobs.see(tx, job, text)
            why = (
                "the first look, with nothing to compare" if seen is None else "nothing had changed"
            )
            return _Fired(_keep(tx, job, occasion, FiringOutcome.SKIPPED, why))
        said, changed = "What is watched has changed", FiringOutcome.CHANGED
        words = ForeignWords(source=f"watch:{job.id}", said=said, text=difference(seen, text))
        fired = self.fire(tx, job, replace(occasion, words=words, outcome=changed))
        if fired.accepted is not None:
            # What could not run is seen again by the next look.
            jobs.see(tx, job, text)
        return fired

    def _blocked(self, tx: Transaction, job: Job, occasion: _Occasion, why: str) -> _Fired:
        firing = _keep(tx, job, occasion, FiringOutcome.BLOCKED, why)
        self.notices.blocked(tx, job, firing)
        return _Fired(firing)

    def fire(self, tx: Transaction, job: Job, occasion: _Occasion) -> _Fired:
        """Write one firing and its turn, unless something is in the way that can be seen before."""
        why = job.note if job.state is JobState.PAUSED else self._obstacle(tx, job, occasion)
        if why:
            return self._blocked(tx, job, occasion, why)
        now, key = occasion.now, occasion.key or occasion.planned.isoformat()
        name = hashlib.sha256(f"{job.owner}\0{job.id}\0{key}".encode()).hexdigest()[:20]
        turn = Turn(
            # A function of the moment: the same one never runs twice.
            id=TurnId(f"turn_{name}"),
            session_id=self._session(job, name),
            number=0,
            prompt=_prompt(tx, job, occasion.words),
            origin=TurnOrigin.JOB,
            attended=False,
            status=TurnStatus.QUEUED,
            created_at=now,
            owner=job.owner,
        )
        if job.session_mode is JobSession.OWN and sessions.find(tx, turn.session_id) is not None:
            sessions.clear(tx, turn.session_id)
        mode = Mode.DEEP_WORK if job.deep_work else None
        terms = Terms(mode=mode, agent=job.agent or None, title=job.name)
        accepted = self.turns.of(job.owner).accept(tx, turn, terms)
        if occasion.words is not None:
            taints.add(tx, turn.session_id, turn.id, occasion.words.source, now)
        share = int(name[:8], 16) / 0xFFFFFFFF
        held = catch_up_delay(occasion.planned, now, occasion.before)
        begins = now + held + timedelta(seconds=share * job.jitter)
        firing = _keep(tx, job, occasion, occasion.outcome, turn=accepted.turn, begins=begins)
        return _Fired(firing, accepted)

    def _session(self, job: Job, name: str) -> SessionId:
        match job.session_mode:
            case JobSession.OWN:
                session = f"job-{job.id}"
            case JobSession.NEW:
                session = f"job-{job.id}-{name[:8]}"
            case JobSession.NAMED:
                session = job.session_id or f"job-{job.id}"
        return scoped(job.owner, self.home, session)

    def _obstacle(self, tx: Transaction, job: Job, occasion: _Occasion) -> str:
        """Why a run could not get anywhere; empty if nothing is known that speaks against it."""
        agent = agents.find(tx, job.owner, job.agent) if job.agent else None
        if job.agent and agent is None:
            return f"no agent {job.agent!r} is published"
        if not self.models.usual and not (agent and agent.model):
            return "no model is configured"
        if not occasion.asked and (why := _no_answer(tx, job, occasion.now)):
            return why
        past = jobs.history(tx, job.owner, job.id, limit=10)
        spent = [view.tokens for view in past if view.tokens]
        needed = sum(spent) // len(spent) if spent else 0
        for node in self.book.nodes(tx, job.owner, SessionId(""), occasion.now):
            most, used = node.limits.tokens, node.spent.total_tokens + node.held.total_tokens
            if node.scope is BudgetScope.DAY and most is not None and used + needed >= most:
                return f"the day's {most} tokens do not cover it: {used} are used"
        return ""


def _ended(tx: Transaction, job: Job) -> list[FiringView]:
    past = jobs.history(tx, job.owner, job.id, limit=_LOOKED_BACK)
    return [view for view in past if view.status is not None and view.status.ended]


def _no_answer(tx: Transaction, job: Job, now: datetime) -> str:
    """Why the model is not asked yet: it did not answer the last runs; empty if it may be."""
    failed = list[Turn]()
    for view in _ended(tx, job):
        turn_id = view.firing.turn_id
        if view.status is not TurnStatus.FAILED or turn_id is None:
            break
        if not issubclass(events.failed_by(tx, turn_id), ModelUnavailable):
            break
        failed.append(turns.get(tx, turn_id))
    last = failed[0].ended_at if failed else None
    # Whoever has resumed or edited the job since wants to see it tried.
    if last is None or last <= job.updated_at or now >= last + back_off(len(failed)):
        return ""
    minutes = back_off(len(failed)) // timedelta(minutes=1)
    return f"no model answered at {last:%H:%M} UTC, and none is asked for {minutes} minutes"


def moments(job: Job, now: datetime) -> tuple[list[datetime], datetime | None]:
    """The planned moments of a job that have come and have no firing yet, and the next one."""
    due: list[datetime] = []
    for moment in _schedule(job).after(job.cursor, job.anchor):
        if moment > now or len(due) == MOST_AT_ONCE:
            return due, moment
        due.append(moment)
    return due, None


def skip_due(tx: Transaction, job: Job, now: datetime, why: str) -> None:
    """Give moments that have come their firings although nothing runs: a person steps in."""
    while job.state is JobState.ACTIVE and (due := moments(job, now)[0]):
        for moment in due:
            _keep(tx, job, _Occasion(planned=moment, now=now), FiringOutcome.SKIPPED, why)
        job = replace(job, cursor=due[-1])


def _schedule(job: Job) -> Schedule:
    return parse_schedule(job.schedule, job.zone)


def _keep(
    tx: Transaction,
    job: Job,
    occasion: _Occasion,
    outcome: FiringOutcome,
    note: str = "",
    turn: Turn | None = None,
    begins: datetime | None = None,
) -> Firing:
    return jobs.add_firing(
        tx,
        Firing(
            job_id=job.id,
            planned=occasion.planned,
            key=occasion.key or occasion.planned.isoformat(),
            outcome=outcome,
            turn_id=None if turn is None else turn.id,
            session_id=None if turn is None else shown(turn.session_id),
            seen_at=occasion.now,
            note=note,
            begins_at=begins,
            owner=job.owner,
        ),
    )


def _prompt(tx: Transaction, job: Job, words: ForeignWords | None) -> str:
    """What a run is told: in a session of the job's own, with the last result as a quotation."""
    told = job.prompt if words is None else f"{job.prompt}\n\n{words.quoted()}"
    last = None
    if job.session_mode is JobSession.OWN:
        last = jobs.last_answer(tx, job.owner, job.id)
    if last is None or not last[1]:
        return told
    said = "\n".join(f"> {line}" for line in clip(last[1], _QUOTED).splitlines())
    return f"{told}\n\nYour last result, of {last[0]:%d %B %Y %H:%M} UTC:\n\n{said}"
