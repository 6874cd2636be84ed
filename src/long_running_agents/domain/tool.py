"""A tool call as the ledger knows it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from long_running_agents.domain.ids import SessionId, TurnId


class Effect(StrEnum):
    """What running a tool again would do. Undeclared tools are ONCE."""

    READ = "read"
    """Changes nothing; may be repeated."""
    IDEMPOTENT = "idempotent"
    """Repeating it leaves the same state; may be repeated."""
    ONCE = "once"
    """Repeating it does it twice; never repeated by itself."""


class Power(StrEnum):
    """What a tool can do beyond its own result; the gate asks about some of it."""

    SEND = "send"
    """Can carry data out of this machine."""
    EXECUTE = "execute"
    """Runs foreign code, in a sandbox."""
    CHANGE = "change"
    """Changes files of the workspace."""
    REMEMBER = "remember"
    """Writes what later turns are told."""
    EXTEND = "extend"
    """Adds to what the agent can do by itself: packages, skills, jobs."""


class CallState(StrEnum):
    """Where a tool call stands."""

    REQUESTED = "requested"
    """The model asked; nothing has run."""
    WAITING = "waiting"
    """An approval is open, or the client runs it."""
    STARTED = "started"
    """It is running, or was when the process died."""
    DONE = "done"
    FAILED = "failed"
    DENIED = "denied"
    UNCERTAIN = "uncertain"
    """It was cut off; whether it took effect is unknown."""

    @property
    def resolved(self) -> bool:
        """Whether the model has, or can be given, an outcome."""
        return self in (CallState.DONE, CallState.FAILED, CallState.DENIED, CallState.UNCERTAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One row of the ledger: the intent, and once known, the outcome."""

    turn_id: TurnId
    session_id: SessionId
    call_id: str
    step: int
    position: int
    tool: str
    args: str
    """The arguments as JSON text."""
    effect: Effect
    state: CallState
    result: str | None = None
    """What the model was told, as JSON text."""
    started_at: datetime | None = None
    ended_at: datetime | None = None


class Replay(StrEnum):
    """What to do with a call that a restarted turn meets again."""

    RUN = "run"
    RETURN_RESULT = "return_result"
    REPORT_UNCERTAIN = "report_uncertain"


def replay(state: CallState, effect: Effect) -> Replay:
    """Decide how a call goes on: finished ones are not repeated, unfinished ONCE ones neither."""
    if state.resolved:
        return Replay.RETURN_RESULT
    if state is CallState.STARTED and effect is Effect.ONCE:
        return Replay.REPORT_UNCERTAIN
    return Replay.RUN


UNCERTAIN_MESSAGE = (
    "UNCERTAIN: {tool} was cut off while it ran, so it may or may not have taken effect. "
    "It has not been run again. Check its effect before you decide what to do."
)
