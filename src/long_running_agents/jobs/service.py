"""Jobs as a service: add, edit, run, pause, resume and remove them, import and export."""

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from long_running_agents.domain.ids import new_id, session_id
from long_running_agents.domain.job import (
    FiringView,
    HookSecret,
    Job,
    JobDraft,
    JobId,
    JobSession,
    JobState,
    JobView,
    Notice,
    OverlapPolicy,
    ScheduleView,
    slug,
)
from long_running_agents.domain.schedule import Schedule, ScheduleKind, parse_schedule
from long_running_agents.domain.session import MINE
from long_running_agents.errors import Taken, UsageError
from long_running_agents.jobs.cron_file import CRON_FILE, CronFile, dump_jobs, parse_jobs
from long_running_agents.jobs.hooks import new_hook_secret
from long_running_agents.jobs.notices import silence
from long_running_agents.jobs.scheduler import Scheduler, moments, skip_due
from long_running_agents.store import jobs
from long_running_agents.store.database import Transaction

T = TypeVar("T")

_DRAFT = TypeAdapter(JobDraft)
_FIELDS = tuple(each.name for each in fields(JobDraft))
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LONGEST_JITTER = 300.0
_SHORTEST_SILENCE, _LONGEST_SILENCE = 60.0, 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class JobService:
    """Looks after an owner's jobs, for a person."""

    scheduler: Scheduler
    zone: str
    """The time zone of jobs that name none."""
    file: CronFile | None = None
    """The file of the home's owner that mirrors some of the jobs."""
    owner: str = MINE

    def of(self, owner: str) -> "JobService":
        """The same service for somebody else's jobs."""
        return replace(self, owner=owner, file=self.file if owner == self.owner else None)

    async def every(self) -> Sequence[JobView]:
        """The owner's jobs, by id."""
        return await self.scheduler.database.read(
            lambda tx: [self._view(tx, job) for job in jobs.of_owner(tx, self.owner)]
        )

    async def get(self, job_id: JobId) -> JobView:
        """One job."""
        return await self.scheduler.database.read(
            lambda tx: self._view(tx, jobs.get(tx, self.owner, job_id))
        )

    async def preview(self, schedule: str, *, zone: str = "") -> ScheduleView:
        """A schedule in words and its next five moments."""
        now = self._now()
        return parse_schedule(schedule, zone or self.zone, now=now).view(now, now)

    async def add(self, job: Mapping[str, Any]) -> JobView:
        """Make a job of its fields; its id is made of its name unless it is given.

        Raises:
            UsageError: A field is unknown or makes no sense.
            Taken: There is a job of this id.
        """
        made = self._made(job, self._now())

        def work(tx: Transaction) -> JobView:
            if jobs.find(tx, self.owner, made.id) is not None:
                raise Taken(f"There is a job {made.id!r} already.", hint="Give it another id.")
            return self._view(tx, jobs.save(tx, made))

        return await self._changed(work)

    async def edit(self, job_id: JobId, changes: Mapping[str, Any]) -> JobView:
        """Change fields of a job; moments that were planned before keep their firings."""
        now = self._now()

        def work(tx: Transaction) -> JobView:
            job = jobs.get(tx, self.owner, job_id)
            if changes.get("id", job_id) != job_id:
                raise UsageError("The id of a job stays.", hint="Add another one instead.")
            skip_due(tx, job, now, "the job was edited before it could run")
            return self._view(tx, jobs.save(tx, self._edited(job, changes, now)))

        return await self._changed(work)

    def _edited(self, job: Job, changes: Mapping[str, Any], now: datetime) -> Job:
        known = {name: getattr(job, name) for name in _FIELDS}
        draft = self._draft({**known, **changes}, now, known=job)
        said = {name: getattr(draft, name) for name in _FIELDS}
        same = (draft.schedule, draft.zone) == (job.schedule, job.zone)
        changed = replace(job, **said, version=job.version + 1, updated_at=now)
        return _from_now_on(replace(changed, anchor=job.anchor if same else now), now)

    async def remove(self, job_id: JobId) -> None:
        """Delete a job with its history; its sessions stay."""

        def work(tx: Transaction) -> None:
            jobs.remove(tx, self.owner, jobs.get(tx, self.owner, job_id).id)

        await self._changed(work)

    async def run(self, job_id: JobId, *, key: str = "") -> FiringView:
        """Let a job run now; asked twice under the same key, once."""
        asked = f"asked:{key or new_id('run', self._now())}"
        return await self.scheduler.run(self.owner, job_id, asked)

    async def pause(self, job_id: JobId) -> JobView:
        """Let a job fire no more; a run that is under way goes on."""
        now = self._now()

        def work(tx: Transaction) -> JobView:
            job = jobs.get(tx, self.owner, job_id)
            skip_due(tx, job, now, "the job was paused before it could run")
            paused = replace(job, state=JobState.PAUSED, note="", next_at=None, updated_at=now)
            return self._view(tx, jobs.save(tx, replace(paused, cursor=max(job.cursor, now))))

        return await self._changed(work)

    async def resume(self, job_id: JobId) -> JobView:
        """Let a job fire that was paused or proposed; moments meanwhile do not run."""
        now = self._now()

        def work(tx: Transaction) -> JobView:
            job = jobs.get(tx, self.owner, job_id)
            if job.state is JobState.ACTIVE:
                return self._view(tx, job)
            active = replace(job, state=JobState.ACTIVE, note="", updated_at=now)
            return self._view(tx, jobs.save(tx, _from_now_on(active, now)))

        return await self._changed(work)

    async def hook(self, job_id: JobId) -> HookSecret:
        """Make what the deliveries of a job's webhook are signed with, instead of any before."""
        secret = new_hook_secret()

        def work(tx: Transaction) -> None:
            job = jobs.get(tx, self.owner, job_id)
            if parse_schedule(job.schedule, job.zone).kind is not ScheduleKind.WEBHOOK:
                hint = f"'lra jobs edit {job_id} --schedule webhook' makes it one."
                raise UsageError(f"Job {job_id!r} is begun by no webhook.", hint=hint)
            jobs.set_hook_secret(tx, job, secret)

        await self.scheduler.database.write(work)
        return HookSecret(path=f"/hooks/{job_id}", secret=secret)

    async def history(self, job_id: JobId, *, limit: int = 50) -> Sequence[FiringView]:
        """What became of a job's moments, the newest first."""

        def work(tx: Transaction) -> list[FiringView]:
            job = jobs.get(tx, self.owner, job_id)
            return jobs.history(tx, self.owner, job.id, limit=limit)

        return await self.scheduler.database.read(work)

    async def notices(self, *, limit: int = 50) -> Sequence[Notice]:
        """What was told about the jobs, or is to be told, the newest first."""
        return await self.scheduler.database.read(
            lambda tx: jobs.notices_of(tx, self.owner, limit=limit)
        )

    async def bring_in(self, text: str, *, file: str = CRON_FILE) -> Sequence[JobView]:
        """Take jobs in from a file such as cron.json; those of the same id are changed."""
        return await self._take_in(parse_jobs(text, file), file)

    async def _take_in(self, found: Sequence[Mapping[str, Any]], file: str) -> list[JobView]:
        now = self._now()

        def work(tx: Transaction) -> list[JobView]:
            return [self._taken(tx, entry, now, file) for entry in found]

        return await self._changed(work)

    def _taken(
        self, tx: Transaction, entry: Mapping[str, Any], now: datetime, file: str
    ) -> JobView:
        said = {name: value for name, value in entry.items() if name != "enabled"}
        made = replace(self._made(said, now), created_by=file)
        known = jobs.find(tx, self.owner, made.id)
        if known is not None:
            same = all(getattr(known, name) == getattr(made, name) for name in _FIELDS)
            if same and (known.state is JobState.ACTIVE) is entry["enabled"]:
                return self._view(tx, known)
            skip_due(tx, known, now, f"{file} was changed before it could run")
            made = replace(self._edited(known, said, now), created_by=file)
        state = JobState.ACTIVE if entry["enabled"] else JobState.PAUSED
        return self._view(tx, jobs.save(tx, _from_now_on(replace(made, state=state), now)))

    async def export(self) -> str:
        """All jobs as JSON that can be imported."""
        return dump_jobs(await self.scheduler.database.read(self._own))

    async def reload(self) -> Sequence[JobView]:
        """Read cron.json again, if it has changed: what is not in it any more is removed.

        Raises:
            UsageError: It is broken; no job is changed.
        """
        found = None if self.file is None else await asyncio.to_thread(self.file.changed)
        if found is not None:
            kept = {view.job.id for view in await self._take_in(found, CRON_FILE)}
            for view in await self.every():
                if view.job.created_by == CRON_FILE and view.job.id not in kept:
                    await self.remove(view.job.id)
        return await self.every()

    def _own(self, tx: Transaction) -> list[Job]:
        return jobs.of_owner(tx, self.owner)

    async def _changed(self, work: Callable[[Transaction], T]) -> T:
        """Write a change, have the next moment waited for, and the file say the same."""
        done = await self.scheduler.database.write(work)
        await self.scheduler.changed()
        if self.file is not None:
            every = await self.scheduler.database.read(self._own)
            mirrored = [job for job in every if job.created_by == CRON_FILE]
            await asyncio.to_thread(self.file.write, mirrored)
        return done

    def _made(self, said: Mapping[str, Any], now: datetime) -> Job:
        draft = self._draft(said, now)
        job = Job(
            **{name: getattr(draft, name) for name in _FIELDS},
            anchor=now,
            cursor=now,
            created_at=now,
            updated_at=now,
            owner=self.owner,
        )
        return _from_now_on(job, now)

    def _draft(self, said: Mapping[str, Any], now: datetime, known: Job | None = None) -> JobDraft:
        """What somebody says of a job, checked."""
        if unknown := sorted(set(said) - set(_FIELDS)):
            fields_known = ", ".join(_FIELDS)
            raise UsageError(f"A job has no {unknown[0]!r}.", hint=f"It has: {fields_known}.")
        try:
            draft = _DRAFT.validate_python(
                {
                    name: asdict(value)
                    if name == "limits" and value and not isinstance(value, dict)
                    else value
                    for name, value in said.items()
                    if value is not None
                }
            )
        except ValidationError as error:
            [first, *_] = error.errors()
            where = ".".join(map(str, first["loc"])) or "the job"
            raise UsageError(
                f"{where}: {first['msg']}.", hint="Correct it and try again."
            ) from error
        draft = replace(draft, zone=draft.zone or self.zone, id=JobId(draft.id or slug(draft.name)))
        fresh = known is None or draft.schedule != known.schedule
        _check(draft, parse_schedule(draft.schedule, draft.zone, now=now if fresh else None))
        return draft

    def _view(self, tx: Transaction, job: Job) -> JobView:
        now = self._now()
        try:
            view = parse_schedule(job.schedule, job.zone).view(now, job.anchor)
        except UsageError as error:
            # Such as a time zone that is no more: the job can be seen and edited all the same.
            view = ScheduleView(words=error.message)
        if job.state is not JobState.ACTIVE:
            view = replace(view, next_times=())
        last = jobs.history(tx, job.owner, job.id, limit=1)
        return JobView(job=job, schedule=view, last=last[0] if last else None)

    def _now(self) -> datetime:
        return self.scheduler.turns.clock.now()


def _from_now_on(job: Job, now: datetime) -> Job:
    """A job whose moments begin now; what was planned before has its firings."""
    begun = replace(job, cursor=max(job.cursor, now), silent_at=silence(job, now))
    _, following = moments(begun, begun.cursor)
    return replace(begun, next_at=following if job.state is JobState.ACTIVE else None)


def _check(draft: JobDraft, schedule: Schedule) -> None:
    """Refuse what is well formed and makes no sense."""
    _check_watch(draft, schedule)
    _check_seconds(draft)
    if not _ID.fullmatch(draft.id):
        raise UsageError(
            f"Job id {draft.id!r} not accepted.",
            hint="Use up to 64 lower-case letters, digits, '-' or '_', such as daily-check.",
        )
    if not draft.name.strip() or not draft.prompt.strip():
        raise UsageError("A job needs a name and a prompt.", hint="Say what is to be done.")
    if draft.session_mode is JobSession.NAMED:
        if draft.session_id is None:
            raise UsageError("No session is named.", hint="Give session_id, or another mode.")
        session_id(draft.session_id)
    if draft.overlap is OverlapPolicy.PARALLEL and draft.session_mode is not JobSession.NEW:
        raise UsageError(
            "Runs side by side need a session each.", hint="Set session_mode to new, too."
        )
    if draft.overlap is OverlapPolicy.QUEUE and draft.session_mode is JobSession.NEW:
        raise UsageError(
            "Runs queue in one session, and each would have its own.",
            hint="Set session_mode to own or named, too.",
        )


def _check_seconds(draft: JobDraft) -> None:
    if not 0 <= draft.jitter <= _LONGEST_JITTER or (draft.max_age or 0) < 0:
        raise UsageError("jitter is from 0 to 300 seconds, and max_age not below 0.")
    silent = draft.expect_every
    if silent is not None and not _SHORTEST_SILENCE <= silent <= _LONGEST_SILENCE:
        raise UsageError("expect_every is from 60 seconds to a year.")


def _check_watch(draft: JobDraft, schedule: Schedule) -> None:
    """Refuse a look at nothing, and one that no moment is planned for."""
    if schedule.kind is ScheduleKind.WATCH and not draft.watch.strip():
        raise UsageError(
            "Nothing is said that could be watched.",
            hint="Give watch, too: a command such as 'git ls-remote URL', or an address.",
        )
    if draft.watch and schedule.kind in (ScheduleKind.STARTUP, ScheduleKind.WEBHOOK):
        raise UsageError(
            f"A job that watches has times, and {schedule.text!r} has none.",
            hint="Write the schedule as in: watch 10m, or daily 09:00.",
        )


def local_zone(variables: Mapping[str, str]) -> str:
    """The name of this machine's time zone; UTC where nobody knows it."""
    named = variables.get("TZ", "").removeprefix(":")
    linked = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    written = Path("/etc/timezone")
    kept = written.read_text(encoding="utf-8").strip() if written.is_file() else ""
    for zone in filter(None, (named, linked, kept)):
        # One look each: a list of all zones takes a walk through hundreds of files.
        with suppress(KeyError, ValueError, OSError):
            return ZoneInfo(zone).key
    return "UTC"
