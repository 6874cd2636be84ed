"""A judgement: what was decided about a call, why, and by whom."""

from dataclasses import dataclass
from datetime import datetime

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.policy import Allow, Ask, By, Decision, Deny, Ruling

_NOTHING = "nothing speaks against it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One line of the audit log."""

    at: datetime
    owner: str
    session_id: SessionId
    turn_id: TurnId
    call_id: str
    tool: str
    args: str
    """The arguments as JSON text, or the beginning of it."""
    decision: Ruling
    why: str
    who: By


def ruling(decision: Decision) -> tuple[Ruling, str, By]:
    """A decision as the log tells it: what, why, who."""
    match decision:
        case Allow(reason=reason, by=by):
            return Ruling.ALLOW, reason or _NOTHING, by
        case Ask(reason=reason, by=by):
            return Ruling.ASK, reason, by
        case Deny(reason=reason, by=by):
            return Ruling.DENY, reason, by
