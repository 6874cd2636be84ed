"""Questions about calls, their answers, and what was decided."""

from datetime import datetime

from pydantic import ConfigDict, Field, JsonValue

from long_running_agents.domain import strict_json
from long_running_agents.domain.approval import Approval, ApprovalState
from long_running_agents.domain.grant import Grant, Lasting
from long_running_agents.domain.judgement import Judgement
from long_running_agents.errors import UsageError
from long_running_agents.server.wire.shapes import Asked, Told


class ApprovalTold(Told):
    """The question whether a call may run."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "approval_01k9x0000000abcdefgh",
                "session_id": "my-session",
                "turn_id": "turn_01k9x0000000abcdefgh",
                "tool_call_id": "call_1",
                "tool": "shell",
                "input": {"command": "git push"},
                "question": "it sends data out",
                "state": "open",
                "reason": "",
                "scope": "shell with git push",
                "lasting": "once",
                "asked_at": "2026-11-16T09:00:00Z",
                "answered_at": None,
                "expires_at": None,
            }
        }
    )

    id: str
    session_id: str
    turn_id: str
    tool_call_id: str
    tool: str
    input: JsonValue
    question: str
    state: ApprovalState
    reason: str
    scope: str
    """What a lasting answer would cover; empty when only this call can be allowed."""
    lasting: Lasting
    asked_at: datetime
    answered_at: datetime | None
    expires_at: datetime | None

    @classmethod
    def of(cls, approval: Approval) -> "ApprovalTold":
        """A question, told."""
        return cls(
            id=approval.id,
            session_id=approval.session_id,
            turn_id=approval.turn_id,
            tool_call_id=approval.call_id,
            tool=approval.tool,
            input=_input(approval.args),
            question=approval.question,
            state=approval.state,
            reason=approval.reason,
            scope="" if approval.offer is None else str(approval.offer),
            lasting=approval.lasting,
            asked_at=approval.asked_at,
            answered_at=approval.answered_at,
            expires_at=approval.expires_at,
        )


def _input(args: str) -> JsonValue:
    try:
        return strict_json.parse(args)
    except UsageError:
        # A model may write what is nearly JSON, or what no JSON can say.
        return args


class ApprovalList(Told):
    """Questions that wait for an answer, the oldest first."""

    approvals: list[ApprovalTold]


class ApprovalAnswer(Asked):
    """A person's answer."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"allowed": True, "lasting": "once", "reason": ""}}
    )

    allowed: bool
    reason: str = Field(default="", max_length=2000)
    """Why not, for the model to read."""
    lasting: Lasting = Lasting.ONCE
    """How long a yes is good for."""


class GrantTold(Told):
    """An answer that is good for later calls, too."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "grant_01k9x0000000abcdefgh",
                "session_id": None,
                "tool": "shell",
                "scope": "shell with git push",
                "created_at": "2026-11-16T09:00:00Z",
                "used": 3,
                "revoked_at": None,
            }
        }
    )

    id: str
    session_id: str | None
    """The only session it is good for; null for all."""
    tool: str
    scope: str
    created_at: datetime
    used: int
    revoked_at: datetime | None

    @classmethod
    def of(cls, grant: Grant) -> "GrantTold":
        """A grant, told."""
        return cls(
            id=grant.id,
            session_id=grant.session_id,
            tool=grant.scope.tool,
            scope=str(grant.scope),
            created_at=grant.created_at,
            used=grant.used,
            revoked_at=grant.revoked_at,
        )


class GrantList(Told):
    """What was granted, the newest first."""

    grants: list[GrantTold]


class JudgementTold(Told):
    """What was decided about a call."""

    at: datetime
    session_id: str
    turn_id: str
    tool_call_id: str
    tool: str
    args: str
    """The beginning of the arguments, as JSON text."""
    decision: str
    why: str
    who: str

    @classmethod
    def of(cls, judgement: Judgement) -> "JudgementTold":
        """A judgement, told."""
        return cls(
            at=judgement.at,
            session_id=judgement.session_id,
            turn_id=judgement.turn_id,
            tool_call_id=judgement.call_id,
            tool=judgement.tool,
            args=judgement.args,
            decision=judgement.decision,
            why=judgement.why,
            who=judgement.who,
        )


class JudgementList(Told):
    """What was decided, the newest first."""

    log: list[JudgementTold]
