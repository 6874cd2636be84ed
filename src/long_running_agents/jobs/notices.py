"""Notices out of jobs: written in the transaction of the fact they tell, then sent, each once.

Whoever dies between sending a notice and writing that down sends it again, under the same key.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from long_running_agents.agent.driver import Alarm
from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.ids import shown
from long_running_agents.domain.job import Firing, FiringOutcome, Job, JobState, Notice, NoticeKind
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.domain.work import PauseReason, Work, WorkPhase
from long_running_agents.errors import LraError
from long_running_agents.jobs.notifiers import Notifier
from long_running_agents.store import approvals, jobs, works
from long_running_agents.store.database import Database, Transaction

log = logging.getLogger(__name__)

BACK_OFF = (60.0, 300.0, 1800.0, 7200.0, 43_200.0)
"""Seconds until the next attempt after each failed one; after one more it is given up."""
_LATER = timedelta(minutes=1)
_LONGEST = 1_500
_GONE = "Its address is not in notices.urls any more."


def silence(job: Job, since: datetime) -> datetime | None:
    """When a job will have done nothing for longer than expected."""
    return None if job.expect_every is None else since + timedelta(seconds=job.expect_every)


def attempted(notice: Notice, now: datetime, error: str) -> Notice:
    """A notice after an attempt that has failed with an error, or has not."""
    sent = replace(notice, attempts=notice.attempts + 1, error=error, next_at=None)
    if not error:
        return replace(sent, sent_at=now)
    if notice.attempts >= len(BACK_OFF):
        return sent
    return replace(sent, next_at=now + timedelta(seconds=BACK_OFF[notice.attempts]))


@dataclass(slots=True)
class Notices:
    """Tells the addresses of a home about the jobs of its owner."""

    database: Database
    clock: Clock
    notifiers: Mapping[str, Notifier]
    """By the names of their addresses."""
    home: str = MINE
    """Whose home it is: what others' jobs did is not for these addresses."""
    _alarm: Alarm | None = field(default=None, init=False)
    _news: bool = field(default=False, init=False)
    _busy: bool = field(default=False, init=False)

    def open(self) -> None:
        """Begin to send, with whatever was left over; without addresses there is nothing to do."""
        if self.notifiers:
            self._alarm = Alarm(self.clock, self._ring)
            self.nudge()

    def close(self) -> None:
        """Send nothing more; the next to open the home does."""
        if self._alarm is not None:
            self._alarm.close()
            self._alarm = None

    def nudge(self) -> None:
        """Look whether there is something to send."""
        self._news = True
        if self._alarm is not None and not self._busy:
            self._alarm.set(self.clock.now())

    async def _ring(self) -> None:
        self._busy = self._news = True
        at = None
        try:
            # Who nudges meanwhile is not to be missed.
            while self._news:
                self._news = False
                await self.deliver()
                at = await self.database.read(_next)
        except Exception:  # The outermost handler: a full disk or a bug must not be its end.
            log.exception("notices could not be sent")
            at = self.clock.now() + _LATER
        finally:
            self._busy = False
        if self._alarm is not None:
            self._alarm.set(at)

    async def deliver(self) -> None:
        """Note which jobs are silent, and send every notice whose time has come."""
        now = self.clock.now()
        if await self.database.read(lambda tx: jobs.silent(tx, now)):
            await self.database.write(lambda tx: self._silent(tx, now))
        while found := await self.database.read(lambda tx: jobs.due_notices(tx, self.clock.now())):
            # Nothing is sent of which it could not be written down that it was.
            await self.database.check_room()
            for each in found:
                after = attempted(each, self.clock.now(), await self._error(each))
                await self.database.write(lambda tx, after=after: jobs.save_notice(tx, after))

    async def _error(self, notice: Notice) -> str:
        """Send a notice; why that failed, or nothing."""
        if (send := self.notifiers.get(notice.target)) is None:
            return _GONE
        try:
            await send(notice)
        except LraError as error:
            log.warning("notice %s did not reach %s: %s", notice.key, notice.target, error)
            return str(error)
        return ""

    def of_turn(self, tx: Transaction, lineage: Sequence[Turn]) -> None:
        """Note what there is to tell of a turn that has come to rest; those above it follow it."""
        turn, run = lineage[0], lineage[-1]
        if run.origin not in (TurnOrigin.JOB, TurnOrigin.WORK):
            return
        if (job := jobs.of_turn(tx, run.id, run.work_id)) is None:
            return
        if turn.status is TurnStatus.WAITING:
            self._asked(tx, job, turn)
        elif turn is not run:
            return
        elif run.work_id is not None:
            self._of_work(tx, job, run, works.get(tx, run.work_id))
        elif run.status is TurnStatus.DONE:
            self._done(tx, job, run)
        elif run.status in (TurnStatus.FAILED, TurnStatus.LIMITED):
            # What to do about a limit is in the answer.
            text = run.error if run.status is TurnStatus.FAILED else run.answer
            self._tell(tx, job, NoticeKind.FAILURE, f"failure:{run.id}", run.status, text, run)

    def _of_work(self, tx: Transaction, job: Job, turn: Turn, work: Work) -> None:
        if work.phase is WorkPhase.COMPLETE:
            self._done(tx, job, turn)
        elif work.phase is WorkPhase.PLAN_READY or work.pause is PauseReason.QUESTION:
            note = f"{work.note or 'Its plan is ready.'}\n'lra work show {work.id}' shows it."
            key = f"approval:{turn.id}"
            self._tell(tx, job, NoticeKind.APPROVAL, key, "waits for you", note, turn)
        elif work.pause in (PauseReason.LIMIT, PauseReason.STUCK):
            note = f"{work.note}\n'lra work resume {work.id}' lets it go on."
            self._tell(tx, job, NoticeKind.FAILURE, f"failure:{turn.id}", work.state, note, turn)

    def _done(self, tx: Transaction, job: Job, turn: Turn) -> None:
        if job.expect_every is not None:
            jobs.save(tx, replace(job, silent_at=silence(job, self.clock.now())))
        self._tell(tx, job, NoticeKind.RESULT, f"result:{turn.id}", "done", turn.answer, turn)

    def _asked(self, tx: Transaction, job: Job, turn: Turn) -> None:
        asked = approvals.of_turn(tx, turn.id).values()
        waiting = [each for each in asked if each.state is ApprovalState.OPEN]
        if waiting:
            lines = [f"{each.question} ({each.id})" for each in waiting]
            text = "\n".join([*lines, "'lra approvals allow ID' and 'deny ID' answer."])
            key = f"approval:{waiting[0].id}"
            self._tell(tx, job, NoticeKind.APPROVAL, key, "waits for you", text, turn)

    def paused(self, tx: Transaction, job: Job) -> None:
        """Note that a job was paused because it cannot go on."""
        key = f"paused:{job.id}:{self.clock.now().isoformat()}"
        self._tell(tx, job, NoticeKind.FAILURE, key, "paused", job.note)

    def blocked(self, tx: Transaction, job: Job, firing: Firing) -> None:
        """Note that a moment could not run: the first of some in a row."""
        before = jobs.history(tx, job.owner, job.id, limit=2)[1:]
        again = [view for view in before if view.firing.outcome is FiringOutcome.BLOCKED]
        if job.state is JobState.ACTIVE and not again:
            key = f"blocked:{job.id}:{firing.key}"
            self._tell(tx, job, NoticeKind.FAILURE, key, "could not run", firing.note)

    def _silent(self, tx: Transaction, now: datetime) -> None:
        for job in jobs.silent(tx, now):
            since = (job.silent_at or now) - timedelta(seconds=job.expect_every or 0)
            key = f"silence:{job.id}:{since.isoformat()}"
            text = (
                f"No run has been done since {since:%d %B %Y %H:%M} UTC. "
                f"'lra jobs history {job.id}' shows what became of each moment."
            )
            self._tell(tx, job, NoticeKind.SILENCE, key, "silent", text)
            jobs.save(tx, replace(job, silent_at=None))

    def _tell(
        self,
        tx: Transaction,
        job: Job,
        kind: NoticeKind,
        key: str,
        what: str,
        text: str,
        turn: Turn | None = None,
    ) -> None:
        if kind not in job.notify or job.owner != self.home:
            return
        now = self.clock.now()
        for target in self.notifiers:
            notice = Notice(
                key=key,
                target=target,
                kind=kind,
                job_id=job.id,
                title=f"{job.name}: {what}",
                text=text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…",
                session_id=None if turn is None else shown(turn.session_id),
                turn_id=None if turn is None else turn.id,
                created_at=now,
                next_at=now,
                owner=job.owner,
            )
            jobs.add_notice(tx, notice)


def _next(tx: Transaction) -> datetime | None:
    found = (jobs.earliest_notice(tx), jobs.next_silence(tx))
    return min((each for each in found if each is not None), default=None)
