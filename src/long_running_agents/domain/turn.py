"""A turn: from one incoming message to its final answer."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.session import MINE, Mode


class Origin(StrEnum):
    """Who began a turn."""

    USER = "user"
    JOB = "job"
    DELEGATE = "delegate"


class TurnStatus(StrEnum):
    """Where a turn stands."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """An approval is open, or its client runs a tool; nothing sleeps on the answer."""
    DONE = "done"
    FAILED = "failed"
    """No model answered. The turn can be retried."""
    STOPPED = "stopped"
    LIMITED = "limited"
    """A budget was used up."""

    @property
    def settled(self) -> bool:
        """Whether nothing more happens until someone asks for it."""
        return self not in (TurnStatus.QUEUED, TurnStatus.RUNNING)

    @property
    def ended(self) -> bool:
        """Whether the turn has its final outcome."""
        return self.settled and self is not TurnStatus.WAITING


MAY_BECOME: dict[TurnStatus, frozenset[TurnStatus]] = {
    TurnStatus.QUEUED: frozenset({TurnStatus.RUNNING, TurnStatus.STOPPED}),
    TurnStatus.RUNNING: frozenset(TurnStatus),
    TurnStatus.WAITING: frozenset({TurnStatus.QUEUED, TurnStatus.STOPPED}),
    TurnStatus.DONE: frozenset(),
    TurnStatus.FAILED: frozenset({TurnStatus.QUEUED}),
    TurnStatus.STOPPED: frozenset({TurnStatus.QUEUED}),
    TurnStatus.LIMITED: frozenset({TurnStatus.QUEUED}),
}
"""The only legal transitions.

RUNNING may become RUNNING: that is a resume after a death. It may become QUEUED: that is an
answer that came before the turn had sat down to wait for it.
"""

RETRYABLE = frozenset({TurnStatus.FAILED, TurnStatus.STOPPED, TurnStatus.LIMITED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What else whoever asks wants of a turn."""

    mode: Mode | None = None
    """How far it may go on its own; as its session unless given."""
    client_tools: str | None = None
    """What the client brings along, its own tools above all, as JSON (`domain/brought.py`)."""
    key: str | None = None
    """What names the request: the same request under the same key is one turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """From one incoming message to its final answer."""

    id: TurnId
    session_id: SessionId
    number: int
    """The turn's place in its session, from 1."""
    prompt: str
    origin: Origin
    attended: bool
    """Whether a person is there to answer approvals."""
    status: TurnStatus
    model: str | None
    """The model asked for this turn, or None for the session's."""
    answer: str = ""
    error: str = ""
    spent: Spent = field(default_factory=Spent)
    renewals: int = 0
    """How often the turn got another budget of the same size."""
    attempts: int = 0
    """How often the turn was picked up; a turn that kills its process is not picked up for ever."""
    created_at: datetime
    ended_at: datetime | None = None
    owner: str = MINE
    mode: Mode = Mode.BOUNDED
    client_tools: str | None = None
    """What the client brought along, its own tools above all, as JSON (`domain/brought.py`)."""
