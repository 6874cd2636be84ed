"""A turn: from one incoming message to its final answer, and what its client brings along."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.ids import SessionId, TurnId, WorkId
from long_running_agents.domain.picture import Picture
from long_running_agents.domain.session import MINE, Mode, SessionOrigin


class TurnOrigin(StrEnum):
    """Who began a turn."""

    USER = "user"
    JOB = "job"
    DELEGATE = "delegate"
    WORK = "work"
    """Nobody: a work goes on by itself."""


class TurnStatus(StrEnum):
    """Where a turn stands."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """An approval is open, or its client runs a tool; nothing sleeps on the answer."""
    DELEGATING = "delegating"
    """Its delegates are at work; nothing sleeps on them either."""
    DONE = "done"
    FAILED = "failed"
    """No model answered. The turn can be retried."""
    STOPPED = "stopped"
    LIMITED = "limited"
    """A budget was used up."""
    STEERED = "steered"
    """Its message was given to the turn that ran, which answers it."""

    @property
    def settled(self) -> bool:
        """Whether nothing more happens until someone asks for it."""
        return self not in (TurnStatus.QUEUED, TurnStatus.RUNNING, TurnStatus.DELEGATING)

    @property
    def ended(self) -> bool:
        """Whether the turn has its final outcome."""
        return self.settled and self is not TurnStatus.WAITING


MAY_BECOME: dict[TurnStatus, frozenset[TurnStatus]] = {
    TurnStatus.QUEUED: frozenset({TurnStatus.RUNNING, TurnStatus.STOPPED, TurnStatus.STEERED}),
    TurnStatus.RUNNING: frozenset(TurnStatus) - {TurnStatus.STEERED},
    TurnStatus.WAITING: frozenset({TurnStatus.QUEUED, TurnStatus.STOPPED, TurnStatus.DELEGATING}),
    TurnStatus.DELEGATING: frozenset({TurnStatus.QUEUED, TurnStatus.STOPPED, TurnStatus.WAITING}),
    TurnStatus.DONE: frozenset(),
    TurnStatus.FAILED: frozenset({TurnStatus.QUEUED}),
    TurnStatus.STOPPED: frozenset({TurnStatus.QUEUED}),
    TurnStatus.LIMITED: frozenset({TurnStatus.QUEUED}),
    TurnStatus.STEERED: frozenset(),
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
    """What the client brings along, its own tools above all, as JSON (`domain/turn.py`)."""
    key: str | None = None
    """What names the request: the same request under the same key is one turn."""
    origin: SessionOrigin = SessionOrigin.OWN
    """Through what the session came to be, if it begins with this."""
    pictures: tuple[Picture, ...] = ()
    """What the message shows."""
    title: str | None = None
    """What the session is named after, if it has no name yet; the message unless given."""
    steer: bool = False
    """Whether the message is for the turn that runs, if one does."""
    agent: str | None = None
    """Who answers from now on: an agent by name, ``name@version``, "auto", or "" for our own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """From one incoming message to its final answer."""

    id: TurnId
    session_id: SessionId
    number: int
    """The turn's place in its session, from 1."""
    prompt: str
    origin: TurnOrigin
    attended: bool
    """Whether a person is there to answer approvals."""
    status: TurnStatus
    model: str | None = None
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
    """What the client brought along, its own tools above all, as JSON (`domain/turn.py`)."""
    steer: bool = False
    """Whether its message is for the turn that runs, at its next step."""
    work_id: WorkId | None = None
    """The work that it is a part of."""
    agent: str = ""
    """The agent and version that it is run with, as in ``coder@2``; empty for the home's own."""
    after: int = field(default=0, compare=False)
    """The session's last event before the turn's own, for whoever has just begun it; else 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTool:
    """A tool that whoever asked runs itself."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its parameters, as a JSON schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """How a turn has to end, for the program that reads it."""

    json: bool = False
    """Whether the answer is JSON and nothing else."""
    schema: Mapping[str, Any] | None = None
    """What the JSON has to be; any object when missing."""
    name: str = "answer"
    """What the client calls the schema."""
    tool: str = ""
    """A tool of the client that has to be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """The client's instructions, tools and form, for one turn."""

    instructions: str = ""
    tools: tuple[ClientTool, ...] = ()
    form: AnswerForm | None = None
    pictures: tuple[str, ...] = ()
    """What the pictures are called that go with the message."""

    @property
    def names(self) -> frozenset[str]:
        """What its tools are called."""
        return frozenset(tool.name for tool in self.tools)

    def to_json(self) -> str | None:
        """As a turn keeps it; None when nothing was brought."""
        return None if self == _NOTHING else _BROUGHT.dump_json(self).decode()


_BROUGHT = TypeAdapter(ClientRequest)
_NOTHING = ClientRequest()


def brought(kept: str | None) -> ClientRequest:
    """What a turn keeps, as it was brought."""
    return _NOTHING if kept is None else _BROUGHT.validate_json(kept)
