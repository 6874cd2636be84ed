"""The agent as its tools for others see it, wherever the home is open."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from long_running_agents.domain.approval import Approval
from long_running_agents.domain.events import Passing, Recorded
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import Draft, Found, Query, Viewer, Written
from long_running_agents.domain.session import SessionPreview
from long_running_agents.domain.task import Task
from long_running_agents.domain.turn import Turn

if TYPE_CHECKING:
    from long_running_agents.app import App
    from long_running_agents.client import Client


class Turns(Protocol):
    """Turns: `agent.turns.TurnService` here, `client.turns.Turns` at a running server."""

    async def start(self, session_id: SessionId, text: str, *, attended: bool = True) -> Turn:
        """Accept a message. When this returns, it is on disk and will be answered."""
        ...

    async def stop_turn(self, turn_id: TurnId) -> Turn:
        """Stop one turn, wherever in its session's line it is; one that has ended stays so."""
        ...

    async def settled(self, turn_id: TurnId) -> Turn:
        """Wait until a turn has ended or waits for an answer."""
        ...

    async def open_questions(self, session_id: SessionId | None = None) -> Sequence[Approval]:
        """Questions that wait for an answer."""
        ...

    def listen(self, session_id: SessionId, after: int = 0) -> AsyncIterator[Recorded | Passing]:
        """Hear a session's events after a number, then everything that happens."""
        ...


class Sessions(Protocol):
    """Sessions: `agent.sessions.SessionService` here, `client.sessions.Sessions` there."""

    async def last_event(self, session_id: SessionId) -> int:
        """The number of a session's newest event; 0 for none."""
        ...

    async def previews(
        self, *, limit: int = 50, offset: int = 0, search: str = ""
    ) -> Sequence[SessionPreview]:
        """List sessions, the latest first."""
        ...

    async def turns(self, session_id: SessionId) -> Sequence[Turn]:
        """A session's turns, in order."""
        ...

    async def tasks(self, session_id: SessionId) -> Sequence[Task]:
        """A session's tasks."""
        ...


class Memories(Protocol):
    """Memories: `memory.memories.Memories` here, `client.memories.Memories` there."""

    async def find(self, viewer: Viewer, query: Query) -> Found:
        """The memories that answer a question best."""
        ...

    async def write(self, viewer: Viewer, draft: Draft) -> Written:
        """Remember something, unless it is junk, known, or like something known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What belongs to one owner, and the agent that works with it."""

    name: str
    owner: str
    turns: Turns
    sessions: Sessions
    memories: Memories | None
    """What is remembered; None when that is switched off."""


def at_home(app: "App", owner: str) -> Agent:
    """An owner's agent in a home that this process has opened."""
    return Agent(
        name=app.settings.agent.name,
        owner=owner,
        turns=app.turns.of(owner),
        sessions=app.sessions.of(owner),
        memories=app.memories,
    )


async def at_server(client: "Client", owner: str) -> Agent:
    """The agent of a running server, for whomever the server takes the client for."""
    return Agent(
        name=(await client.status()).agent,
        owner=owner,
        turns=client.turns,
        sessions=client.sessions,
        memories=client.memories,
    )
