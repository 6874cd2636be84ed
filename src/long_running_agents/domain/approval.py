"""An approval: a stored question "may this call run?" and its answer."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId


class ApprovalState(StrEnum):
    """Where a question stands."""

    OPEN = "open"
    ALLOWED = "allowed"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    """The turn was stopped before anyone answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The question whether one tool call may run."""

    id: ApprovalId
    session_id: SessionId
    turn_id: TurnId
    call_id: str
    tool: str
    args: str
    """The arguments as JSON text."""
    question: str
    state: ApprovalState
    reason: str = ""
    """Why it was denied, for the model to read."""
    asked_at: datetime
    answered_at: datetime | None = None
