"""An approval: a stored question "may this call run?" and its answer."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from long_running_agents.domain.grant import Lasting, Scope
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId


class ApprovalState(StrEnum):
    """Where a question stands."""

    OPEN = "open"
    ALLOWED = "allowed"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    """The turn was stopped before anyone answered."""
    EXPIRED = "expired"
    """Nobody answered in time."""


UNANSWERED = "nobody answered in time"


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
    offer: Scope | None = None
    """What a lasting answer would cover; None when it can be answered for this call only."""
    lasting: Lasting = Lasting.ONCE
    """How long the answer is good for."""
    expires_at: datetime | None = None
    """From when on nobody may answer any more; None for never."""

    def overdue(self, now: datetime) -> bool:
        """Whether it waits for an answer that would come too late."""
        return (
            self.state is ApprovalState.OPEN
            and self.expires_at is not None
            and self.expires_at <= now
        )
