"""Works over HTTP: begin, show, approve, revise, pause, resume, abandon and report."""

from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field

from long_running_agents.agent.works import WorkService
from long_running_agents.domain.auth import Caller
from long_running_agents.domain.budget import Limits
from long_running_agents.domain.ids import SessionId, WorkId, new_id
from long_running_agents.domain.task import Scope
from long_running_agents.domain.work import PlanPolicy, Work, WorkDetails
from long_running_agents.server.auth import Approving, Chatting, Reading
from long_running_agents.server.http import ID, SESSION_ID, Limit, OneSession, Routes, route
from long_running_agents.server.wire import (
    LONGEST,
    WireRequest,
    WireResponse,
    built,
    derived,
    example,
)

OneWork = Annotated[WorkId, Path(pattern=ID, description="The work.")]
_Tasks = Annotated[tuple[int, ...], Field(max_length=1000)]


class WorkResponse(derived(Work)):
    """An undertaking of a session: a goal that is planned, carried out and proven."""


class WorkList(WireResponse):
    """Works, those changed last first."""

    works: list[WorkResponse]
    summaries: list[str]
    """How far each of them is, in words."""


class WorkDetailsResponse(derived(WorkDetails)):
    """A work with all that a person wants to see of it."""


class WorkReport(WireResponse):
    """What became of a work."""

    report: str
    """As Markdown."""


class WorkScope(WireRequest):
    """Where a work may write and whom it may reach."""

    paths: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    """Files and folders of the workspace; patterns may have * and ?."""
    hosts: Annotated[tuple[str, ...], Field(max_length=100)] = ()


class WorkLimits(WireRequest):
    """What a work may use; null for what is not said."""

    steps: int | None = Field(default=None, ge=0, le=2**53)
    tokens: int | None = Field(default=None, ge=0, le=2**53)
    cost: Decimal | None = Field(default=None, ge=0)
    """US dollars."""
    seconds: float | None = Field(default=None, ge=0)


class NewWork(WireRequest):
    """A work to begin."""

    model_config = example(
        '{"goal": "Write a report about herons", "scope": {"paths": ["report/"]}}'
    )

    goal: str = Field(min_length=1, max_length=LONGEST)
    session_id: SessionId | None = Field(default=None, pattern=SESSION_ID)
    """The session it is for; a new one unless given."""
    policy: PlanPolicy | None = None
    """Who approves its plan."""
    scope: WorkScope | None = None
    """Where it may write and whom it may reach."""
    limits: WorkLimits | None = None
    """What it may use; as the settings say unless given."""
    plan: Annotated[tuple[dict[str, Any], ...], Field(max_length=200)] = ()
    """Its tasks, if they are known: title, description, criterion, depends_on, paths, hosts."""
    attended: bool = True
    """Whether a person is there to answer approvals."""


class PlanFeedback(WireRequest):
    """What is to be different."""

    model_config = example('{"feedback": "Leave the tests as they are."}')

    feedback: Annotated[str, Field(max_length=LONGEST)] = ""


class WorkAnswer(WireRequest):
    """What a person says to let a work go on."""

    model_config = example('{"accept": [3], "limits": {"tokens": 100000}}')

    accept: _Tasks = ()
    """Tasks that they have looked at and that are done."""
    reject: _Tasks = ()
    """Tasks that are not."""
    waive: _Tasks = ()
    """Tasks that they do without."""
    message: Annotated[str, Field(max_length=LONGEST)] = ""
    """Something to say."""
    limits: WorkLimits | None = None
    """By how much limits are raised; as much again where one stopped it, unless given."""


class WorkRoutes(Routes, tag="works"):
    """Deep work; what lets it go on takes the right to approve."""

    @route("GET /api/works")
    async def list_all(
        self,
        caller: Reading,
        session_id: OneSession = None,
        ended: Annotated[bool, Query(description="Also those that have ended.")] = True,
        limit: Limit = 50,
    ) -> WorkList:
        """List works, those changed last first."""
        works = self._of(caller)
        found = await works.every(ended=ended, limit=limit, session_id=session_id)
        return WorkList.of({"works": found, "summaries": await works.summaries(found)})

    @route("POST /api/works", status_code=HTTPStatus.CREATED)
    async def start(self, caller: Chatting, new: NewWork) -> WorkResponse:
        """Begin a work; its plan is made first unless it is given, and then waits for approval."""
        key = caller.key(new.session_id or new_id("session", self._clock.now()))
        scope = None if new.scope is None else built(Scope, new.scope)
        limits = None if new.limits is None else built(Limits, new.limits)
        given = new.model_copy(update={"session_id": key, "scope": scope, "limits": limits})
        return WorkResponse.of(await self._of(caller).start(**dict(given)))

    @route("GET /api/works/{work_id}")
    async def show(self, caller: Reading, work_id: OneWork) -> WorkDetailsResponse:
        """Show a work with its tasks, evidence, plans, budget and forecast."""
        return WorkDetailsResponse.of(await self._of(caller).get(work_id))

    @route("GET /api/works/{work_id}/report")
    async def report(self, caller: Reading, work_id: OneWork) -> WorkReport:
        """Tell what became of a work, as Markdown."""
        return WorkReport(report=await self._of(caller).report(work_id))

    @route("POST /api/works/{work_id}/approve")
    async def approve(self, caller: Approving, work_id: OneWork) -> WorkResponse:
        """Approve the plan, or the change of it that is proposed."""
        return WorkResponse.of(await self._of(caller).approve(work_id))

    @route("POST /api/works/{work_id}/revise")
    async def revise(self, caller: Approving, work_id: OneWork, said: PlanFeedback) -> WorkResponse:
        """Ask for another plan."""
        return WorkResponse.of(await self._of(caller).revise(work_id, said.feedback))

    @route("POST /api/works/{work_id}/decline")
    async def decline(self, caller: Approving, work_id: OneWork) -> WorkResponse:
        """Decline a change of the plan and go on without it; or the plan, which ends the work."""
        return WorkResponse.of(await self._of(caller).decline(work_id))

    @route("POST /api/works/{work_id}/pause")
    async def pause(self, caller: Chatting, work_id: OneWork) -> WorkResponse:
        """Let a work wait; a turn that runs is stopped."""
        return WorkResponse.of(await self._of(caller).pause(work_id))

    @route("POST /api/works/{work_id}/resume")
    async def resume(self, caller: Approving, work_id: OneWork, said: WorkAnswer) -> WorkResponse:
        """Let a paused work go on from where it is."""
        limits = None if said.limits is None else built(Limits, said.limits)
        given = said.model_copy(update={"limits": limits})
        return WorkResponse.of(await self._of(caller).resume(work_id, **dict(given)))

    @route("POST /api/works/{work_id}/abandon")
    async def abandon(self, caller: Chatting, work_id: OneWork) -> WorkResponse:
        """End a work; what it has done stays."""
        return WorkResponse.of(await self._of(caller).abandon(work_id))

    def _of(self, caller: Caller) -> WorkService:
        return self._app.works.of(caller.owner)
