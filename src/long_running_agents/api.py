"""One protocol per noun: what the services do here and the HTTP client does at a running server.

The command line and the MCP server know services by these alone. A method that is one request says
which, and the client makes it of that.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeVar

from long_running_agents.domain.agent import AgentSpec, AgentStats
from long_running_agents.domain.approval import Approval, GrantDuration
from long_running_agents.domain.budget import BudgetLine, Limits
from long_running_agents.domain.chain import Delegation
from long_running_agents.domain.events import DeltaEnvelope, EventEnvelope
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId, WorkId
from long_running_agents.domain.job import (
    FiringView,
    HookSecret,
    JobId,
    JobView,
    Notice,
    ScheduleView,
)
from long_running_agents.domain.memory import (
    Forgetting,
    Memory,
    MemoryDraft,
    MemoryId,
    MemoryResults,
    Query,
    Selection,
    Viewer,
    Written,
)
from long_running_agents.domain.reflection import Learned, LearnedState, ReflectionReport
from long_running_agents.domain.routing import Routing
from long_running_agents.domain.rule import PinnedRule, RuleId, RuleState
from long_running_agents.domain.session import Session, SessionOrigin, SessionPreview
from long_running_agents.domain.skill import Problem, Skill, SkillDraft, Version
from long_running_agents.domain.task import Scope, Task
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import Terms, Turn
from long_running_agents.domain.work import PlanPolicy, Work, WorkDetails

Declared = TypeVar("Declared", bound=Callable[..., Any])
REQUEST = "request"
_SESSION = "/api/sessions/{session_id}"
_SKILL = "/api/skills/{name}"
TRIED = 1800.0
"""Seconds for what is tried in a sandbox: a call has its own limit, and there are some."""


def request(asked: str, part: str = "", **options: Any) -> Callable[[Declared], Declared]:
    """Mark a method that is one request at a server, such as "GET /api/tasks".

    What it returns is read from the answer, or from a `part` of it. Parameters that the path does
    not name are sent by their names, but for those that are sent as another one: ``turn_id="at"``
    sends `at` as the field `turn_id`. Who asks (``owner``, ``by``) is for the server to know.
    What may be asked ``again`` waits for a server that is away, and all wait ``seconds``.
    """

    def marked(declared: Declared) -> Declared:
        setattr(declared, REQUEST, (asked, part, options))
        return declared

    return marked


class TurnApi(Protocol):
    """Turns: `agent.turns.TurnService` and `client.client.TurnClient`."""

    async def start(
        self,
        session_id: SessionId,
        text: str,
        *,
        attended: bool = True,
        model: str | None = None,
        terms: Terms = ...,
    ) -> Turn:
        """Accept a message. When this returns, it is on disk and will be answered."""
        ...

    async def stop(self, session_id: SessionId) -> Turn | None:
        """Stop the turn that runs or waits in a session; None when there is none."""
        ...

    @request("POST /api/turns/{turn_id}/stop", again=True)
    async def stop_turn(self, turn_id: TurnId) -> Turn:
        """Stop one turn, wherever in its session's queue it is; one that has ended stays so."""
        ...

    @request("GET /api/turns/{turn_id}/delegates", "delegates")
    async def delegates(self, turn_id: TurnId) -> Sequence[Delegation]:
        """The agents that work for a turn, and what came of them, in their order."""
        ...

    @request(f"POST {_SESSION}/retry")
    async def retry(self, session_id: SessionId) -> Turn:
        """Let the session's last turn go on from where it failed, was stopped or ran out."""
        ...

    @request("POST /api/approvals/{approval_id}")
    async def answer(
        self,
        approval_id: ApprovalId,
        *,
        allowed: bool,
        reason: str = "",
        lasting: GrantDuration = ...,
    ) -> None:
        """Answer an approval; when it was the last open one, the turn goes on."""
        ...

    async def settled(self, turn_id: TurnId) -> Turn:
        """Wait until a turn has ended or waits for an approval."""
        ...

    async def open_questions(self, session_id: SessionId | None = None) -> Sequence[Approval]:
        """Pending approvals."""
        ...

    @request("GET /api/turns", "turns")
    async def unfinished(self) -> Sequence[Turn]:
        """The turns of all sessions that run or are queued."""
        ...

    def listen(
        self, session_id: SessionId, after: int = 0
    ) -> AsyncIterator[EventEnvelope | DeltaEnvelope]:
        """A session's events after a number, then everything that happens."""
        ...


class SessionApi(Protocol):
    """Sessions: `agent.sessions.SessionService` and `client.client.SessionClient`."""

    @request(f"GET {_SESSION}")
    async def get(self, session_id: SessionId) -> Session:
        """Look a session up."""
        ...

    async def newest(self) -> Session | None:
        """The session something was said in last."""
        ...

    @request("GET /api/sessions", "sessions", q="search")
    async def previews(
        self,
        *,
        limit: int = 50,
        offset: int = 0,
        search: str = "",
        origin: SessionOrigin | None = None,
    ) -> Sequence[SessionPreview]:
        """List sessions, the latest first; those of one origin if that is asked for."""
        ...

    async def turns(self, session_id: SessionId) -> Sequence[Turn]:
        """A session's turns, in order."""
        ...

    @request(f"GET {_SESSION}/tasks", "tasks")
    async def tasks(self, session_id: SessionId) -> Sequence[Task]:
        """A session's tasks."""
        ...

    async def last_event(self, session_id: SessionId) -> int:
        """The number of a session's newest event; 0 for none."""
        ...

    async def uncertain(self, session_id: SessionId) -> Sequence[ToolCallRecord]:
        """Calls that were cut off and whose effect nobody knows."""
        ...

    @request(f"PATCH {_SESSION}")
    async def rename(self, session_id: SessionId, title: str) -> None:
        """Give a session another title."""
        ...

    @request(f"PATCH {_SESSION}")
    async def choose_model(self, session_id: SessionId, model: str) -> object:
        """Use another model from the next step on, also in the turn that runs."""
        ...

    @request(f"POST {_SESSION}/clear")
    async def clear(self, session_id: SessionId) -> None:
        """Clear what the model sees of a session; the log keeps what was said."""
        ...

    @request(f"POST {_SESSION}/fork", turn_id="at")
    async def fork(self, session_id: SessionId, *, at: TurnId | None = None) -> Session:
        """Begin a new session with a copy of an old one, up to and including a turn."""
        ...

    async def take_over(self, text: str) -> Session:
        """Import a session from an export in JSON lines."""
        ...

    @request(f"DELETE {_SESSION}")
    async def delete(self, session_id: SessionId) -> None:
        """Delete a session with everything in it."""
        ...

    async def export(self, session_id: SessionId, form: Literal["md", "jsonl"]) -> str:
        """Write a session out as text."""
        ...


class RuleApi(Protocol):
    """Pinned rules: `agent.rules.RuleService` and `client.client.RuleClient`."""

    @request("GET /api/rules", "rules")
    async def every(
        self, session_id: SessionId | None = None, *, ended: bool = False
    ) -> Sequence[PinnedRule]:
        """The rules that a session sees, or all; those that are over only if asked for."""
        ...

    @request("POST /api/rules")
    async def pin(
        self,
        text: str,
        *,
        session_id: SessionId | None = None,
        turn_id: TurnId | None = None,
        everywhere: bool = False,
    ) -> PinnedRule:
        """Let a text hold as a rule in a session, or in all of the owner's."""
        ...

    @request("PATCH /api/rules/{rule_id}")
    async def change(
        self, rule_id: RuleId, *, state: RuleState | None = None, enforced: bool | None = None
    ) -> PinnedRule:
        """Accept or dismiss a suggestion, lift a rule, or have the gate enforce it or not."""
        ...


class BudgetApi(Protocol):
    """Budgets: `agent.budgets.BudgetService` and `client.client.BudgetClient`."""

    @request("GET /api/budget", "budget")
    async def lines(self, session_id: SessionId | None = None) -> Sequence[BudgetLine]:
        """The limits of the owner's day, and of a session, with what is used of them."""
        ...

    @request("POST /api/budget", "turns")
    async def more(
        self,
        session_id: SessionId | None = None,
        *,
        tokens: int | None = None,
        cost: Decimal | None = None,
        steps: int | None = None,
        seconds: float | None = None,
    ) -> Sequence[Turn]:
        """Raise the limits of a session, or of the day; turns that they stopped go on."""
        ...


_WORK = "/api/works/{work_id}"


class WorkApi(Protocol):
    """Works: `agent.works.WorkService` and `client.client.WorkClient`."""

    @request("GET /api/works", "works")
    async def every(
        self, *, ended: bool = True, limit: int = 50, session_id: SessionId | None = None
    ) -> Sequence[Work]:
        """The owner's works, those changed last first."""
        ...

    @request("POST /api/works")
    async def start(
        self,
        goal: str,
        *,
        session_id: SessionId | None = None,
        policy: PlanPolicy | None = None,
        scope: Scope | None = None,
        limits: Limits | None = None,
        plan: Sequence[Mapping[str, Any]] = (),
        attended: bool = True,
    ) -> Work:
        """Begin a work: with its plan, which is made first unless it is given."""
        ...

    @request(f"GET {_WORK}")
    async def get(self, work_id: WorkId) -> WorkDetails:
        """All about a work."""
        ...

    @request(f"POST {_WORK}/approve")
    async def approve(self, work_id: WorkId) -> Work:
        """Approve the plan, or the change of it that is proposed: the work goes on."""
        ...

    @request(f"POST {_WORK}/revise")
    async def revise(self, work_id: WorkId, feedback: str) -> Work:
        """Ask for another plan, and say what is to be different."""
        ...

    @request(f"POST {_WORK}/decline")
    async def decline(self, work_id: WorkId) -> Work:
        """Decline a change of the plan, and go on without it; or the plan, which ends the work."""
        ...

    @request(f"POST {_WORK}/pause")
    async def pause(self, work_id: WorkId) -> Work:
        """Let a work wait until a person lets it go on; a turn that runs is stopped."""
        ...

    @request(f"POST {_WORK}/resume")
    async def resume(
        self,
        work_id: WorkId,
        *,
        accept: Sequence[int] = (),
        reject: Sequence[int] = (),
        waive: Sequence[int] = (),
        message: str = "",
        limits: Limits | None = None,
    ) -> Work:
        """Let a paused work go on from where it is, with what a person answers."""
        ...

    @request(f"POST {_WORK}/abandon")
    async def abandon(self, work_id: WorkId) -> Work:
        """End a work; what it has done stays."""
        ...

    @request(f"GET {_WORK}/report", "report")
    async def report(self, work_id: WorkId) -> str:
        """What became of a work, as Markdown."""
        ...


_AGENT = "/api/agents/{name}"


class AgentApi(Protocol):
    """Agents: `agent.registry.AgentService` and `client.client.AgentClient`."""

    @request("GET /api/agents", "agents")
    async def every(self) -> Sequence[AgentSpec]:
        """Of each agent the version in use, or else the newest, by name."""
        ...

    @request(f"GET {_AGENT}")
    async def get(self, name: str, version: int | None = None) -> AgentSpec:
        """One version: a given one, or the one in use, or the newest."""
        ...

    @request(f"GET {_AGENT}/versions", "versions")
    async def history(self, name: str) -> Sequence[AgentSpec]:
        """All versions of an agent, the newest first."""
        ...

    @request("POST /api/agents")
    async def save(self, agent: Mapping[str, Any]) -> AgentSpec:
        """Store a draft as the next version; it is used when a person publishes it."""
        ...

    @request(f"POST {_AGENT}/publish")
    async def publish(self, name: str, version: int | None = None) -> AgentSpec:
        """Use a version, the newest unless one is given; the one before is retired."""
        ...

    @request(f"POST {_AGENT}/retire")
    async def retire(self, name: str) -> AgentSpec:
        """Use an agent no more; turns that run keep their version."""
        ...

    @request(f"POST {_AGENT}/examples")
    async def learn(self, name: str, text: str) -> AgentSpec:
        """Note that what somebody said is for this agent: the router knows it from now on."""
        ...

    @request("POST /api/agents/route")
    async def route(self, text: str, *, needs: Sequence[str] = ()) -> Routing:
        """Which agent a message is for, and why; of those with the capabilities it needs."""
        ...

    @request(f"GET {_AGENT}/stats", "stats")
    async def stats(self, name: str) -> Sequence[AgentStats]:
        """How each version of an agent has done, the newest first."""
        ...

    @request("POST /api/agents/import", "agents")
    async def bring_in(self, text: str, *, file: str = "agent.md") -> Sequence[AgentSpec]:
        """Take agents in from a file, as drafts: its words are somebody else's."""
        ...

    @request(f"GET {_AGENT}/export", "text")
    async def export(self, name: str, version: int | None = None) -> str:
        """An agent as a file that others can read: Markdown with front matter."""
        ...


_JOB = "/api/jobs/{job_id}"


class JobApi(Protocol):
    """Jobs: `jobs.service.JobService` and `client.client.JobClient`."""

    @request("GET /api/jobs", "jobs")
    async def every(self) -> Sequence[JobView]:
        """The owner's jobs, by id."""
        ...

    @request(f"GET {_JOB}")
    async def get(self, job_id: JobId) -> JobView:
        """One job."""
        ...

    @request("POST /api/jobs/preview")
    async def preview(self, schedule: str, *, zone: str = "") -> ScheduleView:
        """A schedule in words and its next five moments."""
        ...

    @request("POST /api/jobs")
    async def add(self, job: Mapping[str, Any]) -> JobView:
        """Make a job of its fields; its id is made of its name unless it is given."""
        ...

    @request(f"PATCH {_JOB}")
    async def edit(self, job_id: JobId, changes: Mapping[str, Any]) -> JobView:
        """Change fields of a job; moments that were planned before keep their firings."""
        ...

    @request(f"DELETE {_JOB}")
    async def remove(self, job_id: JobId) -> None:
        """Delete a job with its history; its sessions stay."""
        ...

    @request(f"POST {_JOB}/run")
    async def run(self, job_id: JobId, *, key: str = "") -> FiringView:
        """Let a job run now; asked twice under the same key, once."""
        ...

    @request(f"POST {_JOB}/pause")
    async def pause(self, job_id: JobId) -> JobView:
        """Let a job fire no more; a run that is under way goes on."""
        ...

    @request(f"POST {_JOB}/resume")
    async def resume(self, job_id: JobId) -> JobView:
        """Let a job fire that was paused or proposed; moments meanwhile do not run."""
        ...

    @request(f"POST {_JOB}/hook")
    async def hook(self, job_id: JobId) -> HookSecret:
        """Make what the deliveries of a job's webhook are signed with, instead of any before."""
        ...

    @request(f"GET {_JOB}/history", "firings")
    async def history(self, job_id: JobId, *, limit: int = 50) -> Sequence[FiringView]:
        """What became of a job's moments, the newest first."""
        ...

    @request("GET /api/jobs/notices", "notices")
    async def notices(self, *, limit: int = 50) -> Sequence[Notice]:
        """What was told about the jobs, or is to be told, the newest first."""
        ...

    @request("POST /api/jobs/import", "jobs")
    async def bring_in(self, text: str, *, file: str = "cron.json") -> Sequence[JobView]:
        """Take jobs in from a file such as cron.json; those of the same id are changed."""
        ...

    @request("GET /api/jobs/export", "text")
    async def export(self) -> str:
        """All jobs as JSON that can be imported."""
        ...


class LearnedApi(Protocol):
    """What was learned: `jobs.learned.LearnedService` and `client.client.LearnedClient`."""

    @request("GET /api/learned", "learned")
    async def every(
        self, *, state: LearnedState | None = None, limit: int = 100
    ) -> Sequence[Learned]:
        """What was learned, merged, put aside or refused, the newest first."""
        ...

    @request("POST /api/learned/reflect", seconds=TRIED)
    async def reflect(self, session_id: SessionId | None = None) -> ReflectionReport:
        """Read the turns that were not read yet, of one session or of all that are quiet."""
        ...

    @request("POST /api/learned/curate")
    async def curate(self) -> ReflectionReport:
        """Put aside what is unused, outdated or there twice."""
        ...

    @request("POST /api/learned/{number}/undo")
    async def undo(self, number: int) -> Learned:
        """Take back what reflection or the curator did with one thing, within 30 days."""
        ...


class MemoryApi(Protocol):
    """Memories: `memory.service.MemoryService` and `client.nouns.MemoryClient`."""

    async def find(self, viewer: Viewer, query: Query) -> MemoryResults:
        """The memories that answer a question best."""
        ...

    async def write(
        self,
        viewer: Viewer,
        draft: MemoryDraft,
        *,
        supersedes: MemoryId | None = None,
        keep_both: bool = False,
    ) -> Written:
        """Remember something, unless it is junk, known, or similar to something known."""
        ...

    async def correct(self, viewer: Viewer, number: MemoryId, text: str) -> Written:
        """Replace a memory's text; the old wording is kept as history."""
        ...

    @request("PATCH /api/memory/{number}", "memory")
    async def switch(self, viewer: Viewer, number: MemoryId, *, enabled: bool) -> Memory:
        """Switch a memory off, so that nothing recalls it, or on again."""
        ...

    async def forget(
        self, owner: str, selection: Selection, *, at_once: bool = False
    ) -> Forgetting:
        """Forget what a selection means, with everything derived from it."""
        ...

    @request("POST /api/memory/undo/{batch}", "memories")
    async def undo(self, owner: str, batch: str) -> list[Memory]:
        """Bring back what was forgotten together."""
        ...


class SkillApi(Protocol):
    """Skills: `skills.library.SkillLibrary` and `client.nouns.SkillClient`."""

    async def every(self) -> Sequence[Skill]:
        """All skills, by name."""
        ...

    async def get(self, name: str) -> Skill:
        """One skill."""
        ...

    async def version(self, name: str, number: int | None = None) -> Version:
        """One version: a given one, or the one in use, or the newest."""
        ...

    @request("GET /api/skills/problems", "problems")
    async def problems(self) -> Sequence[Problem]:
        """Files among the skills that cannot be skills."""
        ...

    async def create(self, draft: SkillDraft, *, enable: bool, by: str) -> Version:
        """Review, try and store a draft, and enable it if that is wished."""
        ...

    @request(f"POST {_SKILL}/approve", version="number")
    async def approve(self, name: str, number: int, *, by: str) -> Skill:
        """Approve a version, and use it."""
        ...

    @request(f"POST {_SKILL}/reject", version="number")
    async def reject(self, name: str, number: int | None = None, *, by: str) -> Skill:
        """Reject a version: a given one, or the newest that is proposed."""
        ...

    @request(f"POST {_SKILL}/rollback", version="number")
    async def roll_back(self, name: str, number: int | None = None, *, by: str) -> Skill:
        """Use an approved version again: a given one, or the one before the one in use."""
        ...

    @request(f"POST {_SKILL}/enable")
    async def enable(self, name: str, *, by: str) -> Skill:
        """Enable a skill that was disabled."""
        ...

    @request(f"POST {_SKILL}/disable")
    async def disable(self, name: str, note: str = "", *, by: str) -> Skill:
        """Disable a skill; nothing of it is lost."""
        ...

    @request(f"DELETE {_SKILL}")
    async def delete(self, name: str, *, by: str) -> None:
        """Delete a skill with all its versions, and its file."""
        ...

    @request("POST /api/skills/import", "versions", seconds=TRIED, source="text")
    async def bring_in(self, text: str) -> Sequence[Version]:
        """Propose all functions of a module."""
        ...
