"""Jobs over HTTP: add, edit, run, pause, resume, remove, import and export; the routes of cron."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Path, Request
from pydantic import Field

from long_running_agents.domain.auth import Caller
from long_running_agents.domain.job import (
    FiringOutcome,
    FiringView,
    HookSecret,
    JobId,
    JobState,
    JobView,
    Notice,
    ScheduleView,
)
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.jobs.hooks import WebhookDelivery, receive
from long_running_agents.jobs.service import JobService
from long_running_agents.server.auth import Approving, Chatting, Reading, caller_of, check
from long_running_agents.server.http import PLAIN, Limit, Routes, read, route
from long_running_agents.server.routes.skills import Values
from long_running_agents.server.wire import WireRequest, WireResponse, derived, example

OneJob = Annotated[
    JobId,
    Path(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$", description="The job.", examples=["daily-check"]),
]
_LONGEST_FILE = 1 << 20


class ScheduleResponse(derived(ScheduleView)):
    """A schedule in words, and when it fires next."""


class FiringResponse(derived(FiringView)):
    """One planned moment of a job, and what its turn came to."""


class JobResponse(derived(JobView)):
    """A job with its schedule in words and its newest firing."""


class HookResponse(derived(HookSecret)):
    """Where the deliveries of a webhook go, and what they are signed with."""


class JobList(WireResponse):
    """Jobs, by id."""

    jobs: list[JobResponse]


class FiringList(WireResponse):
    """What became of a job's moments, the newest first."""

    firings: list[FiringResponse]


class NoticeResponse(derived(Notice)):
    """What was told about a job, or is to be told, to one address."""


class NoticeList(WireResponse):
    """What was told about jobs, or is to be told, the newest first."""

    notices: list[NoticeResponse]


class JobText(WireResponse):
    """Jobs as a file."""

    text: str
    """JSON, as in cron.json."""


class JobBody(WireRequest):
    """A job to add."""

    model_config = example(
        '{"job": {"name": "Morning", "schedule": "daily 09:00", "prompt": "Go."}}'
    )

    job: Values
    """Its fields: name, schedule and prompt, and any other of a job's."""


class JobChanges(WireRequest):
    """What of a job is to be different."""

    changes: Values


class JobRun(WireRequest):
    """A run that somebody asks for."""

    key: Annotated[str, Field(max_length=200, pattern=PLAIN)] = ""
    """What names the request: asked twice under the same key, the job runs once."""


class JobFile(WireRequest):
    """Jobs to import."""

    text: Annotated[str, Field(max_length=_LONGEST_FILE)]
    file: Annotated[str, Field(max_length=200, pattern=PLAIN)] = "cron.json"
    """What the file is called."""


class SchedulePreview(WireRequest):
    """A schedule to be looked at."""

    schedule: Annotated[str, Field(max_length=200, pattern=PLAIN)]
    zone: Annotated[str, Field(max_length=100, pattern=PLAIN)] = ""
    """The time zone; the usual one unless given."""


class CronJob(WireResponse):
    """A job as the routes of cron show it."""

    id: str
    name: str
    schedule: str
    prompt: str
    session_id: str | None
    enabled: bool
    next_run: datetime | None
    last_run: datetime | None
    last_status: str | None
    """How the last run ended, or why there was none."""

    @classmethod
    def shown(cls, view: JobView) -> "CronJob":
        """A job in these words."""
        job, last = view.job, view.last
        ended = None if last is None else last.status or last.firing.outcome
        return cls(
            id=job.id,
            name=job.name,
            schedule=job.schedule,
            prompt=job.prompt,
            session_id=job.session_id or f"job-{job.id}",
            enabled=job.state is JobState.ACTIVE,
            next_run=job.next_at,
            last_run=None if last is None else last.firing.seen_at,
            last_status=None if ended is None else str(ended),
        )


class CronList(WireResponse):
    """The jobs, as the routes of cron show them."""

    jobs: list[CronJob]


class CronRun(WireResponse):
    """A run that was asked for."""

    id: str
    turn_id: str | None
    session_id: str | None
    outcome: str
    status: TurnStatus | None


class JobRoutes(Routes, tag="jobs"):
    """The jobs of whoever asks."""

    def _of(self, caller: Caller) -> JobService:
        return self._app.jobs.of(caller.owner)

    @route("GET /api/jobs")
    async def every(self, caller: Reading) -> JobList:
        """List the jobs."""
        return JobList(jobs=[JobResponse.of(each) for each in await self._of(caller).every()])

    @route("POST /api/jobs", status_code=HTTPStatus.CREATED)
    async def add(self, caller: Approving, body: JobBody) -> JobResponse:
        """Make a job."""
        return JobResponse.of(await self._of(caller).add(body.job))

    @route("POST /api/jobs/preview")
    async def preview(self, caller: Chatting, body: SchedulePreview) -> ScheduleResponse:
        """Say a schedule in words, with its next five moments."""
        found = await self._of(caller).preview(body.schedule, zone=body.zone)
        return ScheduleResponse.of(found)

    @route("GET /api/jobs/export")
    async def export(self, caller: Reading) -> JobText:
        """Write all jobs as JSON that can be imported."""
        return JobText(text=await self._of(caller).export())

    @route("GET /api/jobs/notices")
    async def notices(self, caller: Reading, limit: Limit = 50) -> NoticeList:
        """What was told about the jobs, or is to be told, the newest first."""
        found = await self._of(caller).notices(limit=limit)
        return NoticeList(notices=[NoticeResponse.of(each) for each in found])

    @route("POST /api/jobs/import")
    async def bring_in(self, caller: Approving, body: JobFile) -> JobList:
        """Take jobs in from a file; those of the same id are changed."""
        found = await self._of(caller).bring_in(body.text, file=body.file)
        return JobList(jobs=[JobResponse.of(each) for each in found])

    @route("GET /api/jobs/{job_id}")
    async def get(self, caller: Reading, job_id: OneJob) -> JobResponse:
        """Show one job."""
        return JobResponse.of(await self._of(caller).get(job_id))

    @route("PATCH /api/jobs/{job_id}")
    async def edit(self, caller: Approving, job_id: OneJob, body: JobChanges) -> JobResponse:
        """Change fields of a job."""
        return JobResponse.of(await self._of(caller).edit(job_id, body.changes))

    @route("DELETE /api/jobs/{job_id}", status_code=HTTPStatus.NO_CONTENT)
    async def remove(self, caller: Approving, job_id: OneJob) -> None:
        """Delete a job with its history; its sessions stay."""
        await self._of(caller).remove(job_id)

    @route("POST /api/jobs/{job_id}/run")
    async def run(self, caller: Approving, job_id: OneJob, body: JobRun) -> FiringResponse:
        """Let a job run now."""
        return FiringResponse.of(await self._of(caller).run(job_id, key=body.key))

    @route("POST /api/jobs/{job_id}/pause")
    async def pause(self, caller: Approving, job_id: OneJob) -> JobResponse:
        """Let a job fire no more."""
        return JobResponse.of(await self._of(caller).pause(job_id))

    @route("POST /api/jobs/{job_id}/resume")
    async def resume(self, caller: Approving, job_id: OneJob) -> JobResponse:
        """Let a job fire that was paused or proposed."""
        return JobResponse.of(await self._of(caller).resume(job_id))

    @route("POST /api/jobs/{job_id}/hook")
    async def hook(self, caller: Approving, job_id: OneJob) -> HookResponse:
        """Make a secret for a job's webhook; it is shown this once, and replaces any before."""
        return HookResponse.of(await self._of(caller).hook(job_id))

    @route("GET /api/jobs/{job_id}/history")
    async def history(self, caller: Reading, job_id: OneJob, limit: Limit = 50) -> FiringList:
        """What became of a job's moments, the newest first."""
        found = await self._of(caller).history(job_id, limit=limit)
        return FiringList(firings=[FiringResponse.of(each) for each in found])

    @route("GET /api/cron")
    async def cron(self, caller: Reading) -> CronList:
        """List the jobs, as cron.json has them."""
        return CronList(jobs=[CronJob.shown(each) for each in await self._of(caller).every()])

    @route("POST /api/cron/reload")
    async def reload(self, caller: Approving) -> CronList:
        """Read cron.json again."""
        return CronList(jobs=[CronJob.shown(each) for each in await self._of(caller).reload()])

    @route("POST /api/cron/{job_id}/run")
    async def run_cron(self, caller: Approving, job_id: OneJob) -> CronRun:
        """Let a job run now."""
        view = await self._of(caller).run(job_id)
        firing = view.firing
        return CronRun(
            id=job_id,
            turn_id=firing.turn_id,
            session_id=firing.session_id,
            outcome=firing.outcome,
            status=view.status,
        )

    @route("POST /api/cron/{job_id}/toggle")
    async def toggle(self, caller: Approving, job_id: OneJob) -> CronJob:
        """Pause a job that fires, or let one fire that does not."""
        service = self._of(caller)
        active = (await service.get(job_id)).job.state is JobState.ACTIVE
        change = service.pause if active else service.resume
        return CronJob.shown(await change(job_id))


_LARGEST = 256 << 10
_DELIVERED: dict[str, Any] = {
    "x-scope": "hook:ID; or a signature",
    "requestBody": {"content": {"application/json": {}}, "description": "At most 256 kB."},
}


class HookReceipt(WireResponse):
    """What became of a delivery."""

    turn_id: str | None
    session_id: str | None
    outcome: FiringOutcome


class HookRoutes(Routes, tag="hooks"):
    """Deliveries to jobs whose schedule is "webhook"."""

    @route("POST /hooks/{job_id}", status_code=HTTPStatus.ACCEPTED, openapi_extra=_DELIVERED)
    async def deliver(self, request: Request, job_id: OneJob) -> HookReceipt:
        """Begin a job with what is delivered, once for each delivery.

        It is signed after Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature), or
        has a token of the scope hook:ID.
        """
        signature = request.headers.get("webhook-signature", "")
        # Before the body is read, and the same whether or not there is such a job.
        owner = None if signature else check(caller_of(request), f"hook:{job_id}").owner
        delivery = WebhookDelivery(
            body=await read(request, _LARGEST),
            id=request.headers.get("webhook-id", ""),
            timestamp=request.headers.get("webhook-timestamp", ""),
            signature=signature,
        )
        firing = (await receive(self._app.jobs.scheduler, job_id, delivery, owner)).firing
        return HookReceipt(
            turn_id=firing.turn_id, session_id=firing.session_id, outcome=firing.outcome
        )
