"""The scheduler: gives every planned moment of a job its firing, and the firing its turn.

A tick is one transaction for each job that is due: the firings, their turns, and the cursor up to
which all moments have one. Whoever dies in between leaves all of it or nothing.
"""

import hashlib
import logging
from collections.abc import Sequence
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
    Job,
    JobId,
    JobSession,
    JobState,
    decide,
)
from long_running_agents.domain.schedule import Schedule, ScheduleKind, parse_schedule
from long_running_agents.domain.session import MINE, Mode
from long_running_agents.domain.turn import Terms, Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import LraError, UsageError
from long_running_agents.jobs.notices import Notices
from long_running_agents.models.factory import ModelSource
from long_running_agents.store import agents, jobs, sessions
from long_running_agents.store.database import Database, Transaction

log = logging.getLogger(__name__)

_LATE = timedelta(minutes=1)
_SPREAD = 600.0
"""Seconds over which the runs are spread that an outage has held up."""
_AT_ONCE = 2
"""How many of those begin at once."""
_LOOKED_BACK = 50
"""Firings among which the newest runs are looked for."""
_QUOTED = 2_000
"""Characters of the last result that the next run is shown."""


@dataclass(frozen=True, slots=True)
class _Fired:
    firing: Firing
    accepted: AcceptedTurn | None
    jitter: float


@dataclass(slots=True)
class Scheduler:
    """Fires the jobs of all owners, each moment once."""

    database: Database
    turns: TurnService
    models: ModelSource
    book: BudgetBook
    notices: Notices
    home: str = MINE
    """Whose home it is: theirs are the plain names of sessions."""
    _alarm: Alarm | None = field(default=None, init=False)

    async def open(self) -> None:
        """Begin: jobs that run at a start, moments that were missed, then each at its time."""
        now = self.turns.clock.now()
        boot = new_id("start", now)

        def work(tx: Transaction) -> list[_Fired]:
            found = jobs.at_startup(tx)
            # By its word: one that cannot be read any more must not hold up the others.
            wanted = [job for job in found if job.schedule.strip().lower() == ScheduleKind.STARTUP]
            return [self.fire(tx, job, now, boot, now) for job in wanted]

        self.notices.open()
        self._alarm = Alarm(self.turns.clock, self._ring)
        await self._begin(await self.database.write(work))
        await self.tick()

    def close(self) -> None:
        """Fire nothing more; the next to open the home gives what was planned its firings."""
        self.notices.close()
        if self._alarm is not None:
            self._alarm.close()
            self._alarm = None

    async def _ring(self) -> None:
        try:
            await self.tick()
        except LraError as error:
            # A full disk or the like: nothing is lost, since the cursor has not moved.
            log.warning("jobs could not be fired: %s", error)
            if self._alarm is not None:
                self._alarm.set(self.turns.clock.now() + _LATE)

    async def tick(self) -> None:
        """Give every moment that has come its firing, and wait for the next one."""
        now, fired = self.turns.clock.now(), list[_Fired]()
        while found := await self.database.read(lambda tx: jobs.due(tx, now)):
            for job in found:
                try:
                    fired += await self.database.write(
                        lambda tx, job=job: self._account(tx, job.owner, job.id, now)
                    )
                except UsageError as error:
                    # Such as a time zone that is no more: it must not hold up the others.
                    why = f"it cannot be read any more: {error.message}"
                    paused = replace(job, state=JobState.PAUSED, note=why, next_at=None)
                    await self.database.write(
                        lambda tx, job=paused: self.notices.paused(tx, jobs.save(tx, job))
                    )
        await self._begin(fired)
        await self.changed()

    async def changed(self) -> None:
        """Wait for the next moment of any job: one was added, edited or removed."""
        if self._alarm is not None:
            self._alarm.set(await self.database.read(jobs.earliest))
        self.notices.nudge()

    async def run(self, owner: str, job_id: JobId, key: str) -> FiringView:
        """Fire a job now, because somebody asks for it; the same key fires it once."""
        now = self.turns.clock.now()

        def work(tx: Transaction) -> list[_Fired]:
            job = jobs.get(tx, owner, job_id)
            if jobs.history(tx, owner, job_id, limit=1, key=key):
                return []
            return [self.fire(tx, job, now, key, now)]

        await self._begin(await self.database.write(work))
        self.notices.nudge()
        [view] = await self.database.read(
            lambda tx: jobs.history(tx, owner, job_id, limit=1, key=key)
        )
        return view

    async def _begin(self, fired: Sequence[_Fired]) -> None:
        """Let turns be driven: at once, later by their jitter, or one after another if late."""
        ran = [each for each in fired if each.accepted is not None]
        late = [each for each in ran if each.firing.seen_at - each.firing.planned > _LATE]
        for each in ran:
            behind = late.index(each) // _AT_ONCE if each in late else 0
            delay = behind * _SPREAD / max(1, len(late) // _AT_ONCE)
            if each.accepted is not None:
                await self.turns.begin(each.accepted, delay=delay + each.jitter)

    def _account(self, tx: Transaction, owner: str, job_id: JobId, now: datetime) -> list[_Fired]:
        """Give the moments of one job that have come their firings, and move its cursor."""
        job = jobs.find(tx, owner, job_id)
        if job is None or job.state is not JobState.ACTIVE or not job.next_at or job.next_at > now:
            return []
        schedule = _schedule(job)
        due, following = moments(job, now)
        age = schedule.usual_gap(job.cursor, job.anchor)
        if job.max_age is not None:
            age = timedelta(seconds=job.max_age)
        busy, fired = jobs.running(tx, owner, job_id), list[_Fired]()
        if self._failing(tx, job):
            job = replace(
                job,
                state=JobState.PAUSED,
                note=f"{PAUSE_AFTER} runs in a row failed; 'lra jobs resume {job.id}' goes on.",
            )
            self.notices.paused(tx, job)
        for each in decide(job, due, now, max_age=age, busy=busy):
            if each.outcome is not FiringOutcome.RAN:
                _keep(tx, job, each.planned, each.planned.isoformat(), now, each.outcome, each.note)
            else:
                key = each.planned.isoformat()
                fired.append(self.fire(tx, job, each.planned, key, now))
        jobs.save(tx, replace(job, cursor=due[-1] if due else job.cursor, next_at=following))
        return fired

    def fire(self, tx: Transaction, job: Job, planned: datetime, key: str, now: datetime) -> _Fired:
        """Write one firing and its turn, unless something is in the way that can be seen before."""
        why = job.note if job.state is JobState.PAUSED else self._obstacle(tx, job, now)
        if why:
            firing = _keep(tx, job, planned, key, now, FiringOutcome.BLOCKED, why)
            self.notices.blocked(tx, job, firing)
            return _Fired(firing, None, 0.0)
        name = hashlib.sha256(f"{job.owner}\0{job.id}\0{key}".encode()).hexdigest()[:20]
        turn = Turn(
            # A function of the moment: the same one never runs twice.
            id=TurnId(f"turn_{name}"),
            session_id=self._session(job, name),
            number=0,
            prompt=_prompt(tx, job),
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
        ran = FiringOutcome.RAN
        firing = _keep(tx, job, planned, key, now, ran, turn=accepted.turn)
        share = int(name[:8], 16) / 0xFFFFFFFF
        return _Fired(firing, accepted, share * job.jitter)

    def _session(self, job: Job, name: str) -> SessionId:
        match job.session_mode:
            case JobSession.OWN:
                session = f"job-{job.id}"
            case JobSession.NEW:
                session = f"job-{job.id}-{name[:8]}"
            case JobSession.NAMED:
                session = job.session_id or f"job-{job.id}"
        return scoped(job.owner, self.home, session)

    def _obstacle(self, tx: Transaction, job: Job, now: datetime) -> str:
        """Why a run could not get anywhere; empty if nothing is known that speaks against it."""
        agent = agents.find(tx, job.owner, job.agent) if job.agent else None
        if job.agent and agent is None:
            return f"no agent {job.agent!r} is published"
        if not self.models.usual and not (agent and agent.model):
            return "no model is configured"
        past = jobs.history(tx, job.owner, job.id, limit=10)
        spent = [view.tokens for view in past if view.tokens]
        needed = sum(spent) // len(spent) if spent else 0
        for node in self.book.nodes(tx, job.owner, SessionId(""), now):
            most, used = node.limits.tokens, node.spent.total_tokens + node.held.total_tokens
            if node.scope is BudgetScope.DAY and most is not None and used + needed >= most:
                return f"the day's {most} tokens do not cover it: {used} are used"
        return ""

    def _failing(self, tx: Transaction, job: Job) -> bool:
        """Whether the newest runs have all failed, since a person has looked at the job."""
        past = jobs.history(tx, job.owner, job.id, limit=_LOOKED_BACK)
        ended = [view for view in past if view.status is not None and view.status.ended]
        newest = [each for each in ended if each.firing.seen_at > job.updated_at][:PAUSE_AFTER]
        failed = (TurnStatus.FAILED, TurnStatus.LIMITED)
        return len(newest) == PAUSE_AFTER and all(each.status in failed for each in newest)


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
            _keep(tx, job, moment, moment.isoformat(), now, FiringOutcome.SKIPPED, why)
        job = replace(job, cursor=due[-1])


def _schedule(job: Job) -> Schedule:
    return parse_schedule(job.schedule, job.zone)


def _keep(
    tx: Transaction,
    job: Job,
    planned: datetime,
    key: str,
    now: datetime,
    outcome: FiringOutcome,
    note: str = "",
    turn: Turn | None = None,
) -> Firing:
    return jobs.add_firing(
        tx,
        Firing(
            job_id=job.id,
            planned=planned,
            key=key,
            outcome=outcome,
            turn_id=None if turn is None else turn.id,
            session_id=None if turn is None else shown(turn.session_id),
            seen_at=now,
            note=note,
            owner=job.owner,
        ),
    )


def _prompt(tx: Transaction, job: Job) -> str:
    """What a run is told: in a session of the job's own, with the last result as a quotation."""
    last = None
    if job.session_mode is JobSession.OWN:
        last = jobs.last_answer(tx, job.owner, job.id)
    if last is None or not last[1]:
        return job.prompt
    said = "\n".join(f"> {line}" for line in clip(last[1], _QUOTED).splitlines())
    return f"{job.prompt}\n\nYour last result, of {last[0]:%d %B %Y %H:%M} UTC:\n\n{said}"
