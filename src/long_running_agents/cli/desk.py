"""The desk: what conversations and commands ask for, wherever the home is open.

There are two: the home that this process has opened, and the server that has opened it.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from long_running_agents.cli.skill_desk import SkillDesk
    from long_running_agents.domain.approval import Approval
    from long_running_agents.domain.events import Passing, Recorded
    from long_running_agents.domain.grant import Lasting
    from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId
    from long_running_agents.domain.memory import (
        Draft,
        Forgetting,
        Found,
        Memory,
        MemoryId,
        Query,
        Selection,
        Viewer,
        Written,
    )
    from long_running_agents.domain.session import Session, SessionPreview
    from long_running_agents.domain.task import Task
    from long_running_agents.domain.tool import ToolCallRecord
    from long_running_agents.domain.turn import Turn
    from long_running_agents.home import Home


class TurnDesk(Protocol):
    """Turns: `agent.turns.TurnService` here, `client.turns.Turns` there."""

    async def start(
        self,
        session_id: "SessionId",
        text: str,
        *,
        attended: bool = True,
        model: str | None = None,
    ) -> "Turn":
        """Accept a message. When this returns, it is on disk and will be answered."""
        ...

    async def stop(self, session_id: "SessionId") -> "Turn | None":
        """Stop the turn that runs or waits in a session; None when there is none."""
        ...

    async def retry(self, session_id: "SessionId") -> "Turn":
        """Let the session's last turn go on from where it failed, was stopped or ran out."""
        ...

    async def answer(
        self,
        approval_id: "ApprovalId",
        *,
        allowed: bool,
        reason: str = "",
        lasting: "Lasting" = ...,
    ) -> None:
        """Answer a question; when it was the last open one, the turn goes on."""
        ...

    async def settled(self, turn_id: "TurnId") -> "Turn":
        """Wait until a turn has ended or waits for an answer."""
        ...

    async def open_questions(self, session_id: "SessionId | None" = None) -> "Sequence[Approval]":
        """Questions that wait for an answer."""
        ...

    async def unfinished(self) -> "Sequence[Turn]":
        """The turns of all sessions that run or are in line."""
        ...

    def listen(
        self, session_id: "SessionId", after: int = 0
    ) -> "AsyncIterator[Recorded | Passing]":
        """Hear a session's events after a number, then everything that happens."""
        ...


class SessionDesk(Protocol):
    """Sessions: `agent.sessions.SessionService` here, `client.sessions.Sessions` there."""

    async def get(self, session_id: "SessionId") -> "Session":
        """Look a session up."""
        ...

    async def newest(self) -> "Session | None":
        """The session something was said in last."""
        ...

    async def previews(
        self, *, limit: int = 50, offset: int = 0, search: str = ""
    ) -> "Sequence[SessionPreview]":
        """List sessions, the latest first."""
        ...

    async def turns(self, session_id: "SessionId") -> "Sequence[Turn]":
        """A session's turns, in order."""
        ...

    async def tasks(self, session_id: "SessionId") -> "Sequence[Task]":
        """A session's tasks."""
        ...

    async def uncertain(self, session_id: "SessionId") -> "Sequence[ToolCallRecord]":
        """Calls that were cut off and whose effect nobody knows."""
        ...

    async def rename(self, session_id: "SessionId", title: str) -> None:
        """Give a session another title."""
        ...

    async def choose_model(self, session_id: "SessionId", model: str) -> object:
        """Use another model from the next step on, also in the turn that runs."""
        ...

    async def fork(self, session_id: "SessionId", *, at: "TurnId | None" = None) -> "Session":
        """Begin a new session with a copy of an old one, up to and including a turn."""
        ...

    async def take_over(self, text: str) -> "Session":
        """Make a session of what an export in JSON lines says."""
        ...

    async def delete(self, session_id: "SessionId") -> None:
        """Delete a session with everything in it."""
        ...

    async def export(self, session_id: "SessionId", form: 'Literal["md", "jsonl"]') -> str:
        """Write a session out as text."""
        ...


class MemoryDesk(Protocol):
    """Memories: `memory.memories.Memories` here, `client.memories.Memories` there."""

    async def find(self, viewer: "Viewer", query: "Query") -> "Found":
        """The memories that answer a question best."""
        ...

    async def write(
        self,
        viewer: "Viewer",
        draft: "Draft",
        *,
        supersedes: "MemoryId | None" = None,
        keep_both: bool = False,
    ) -> "Written":
        """Remember something, unless it is junk, known, or like something known."""
        ...

    async def correct(self, viewer: "Viewer", number: "MemoryId", text: str) -> "Written":
        """Say what is true instead of a memory; the old wording is kept as history."""
        ...

    async def switch(self, viewer: "Viewer", number: "MemoryId", *, enabled: bool) -> "Memory":
        """Switch a memory off, so that nothing brings it to mind, or on again."""
        ...

    async def forget(
        self, owner: str, selection: "Selection", *, at_once: bool = False
    ) -> "Forgetting":
        """Forget what a selection means, with everything derived from it."""
        ...

    async def undo(self, owner: str, batch: str) -> "list[Memory]":
        """Bring back what was forgotten together."""
        ...


class Desk(Protocol):
    """An agent that can be talked to."""

    home: "Home"
    """Where this side keeps its files."""
    agent: str
    """What the agent is called."""
    owner: str
    """Whose things these are."""
    waits: bool
    """Whether a question that nobody is there for may be left to wait."""
    goes_on: str
    """What becomes of a turn when its listener leaves."""

    @property
    def turns(self) -> TurnDesk:
        """Turns."""
        ...

    @property
    def sessions(self) -> SessionDesk:
        """Sessions."""
        ...

    @property
    def memories(self) -> MemoryDesk | None:
        """What is remembered; None when memory is switched off."""
        ...

    @property
    def skills(self) -> "SkillDesk | None":
        """Tools that were made; None when they are switched off."""
        ...

    async def find(self, session_id: "SessionId") -> "Session | None":
        """Look a session up; None when nothing was said in it yet."""
        ...

    async def last_event(self, session_id: "SessionId") -> int:
        """The number of a session's newest event; 0 for none."""
        ...

    async def known_until(self, session_id: "SessionId", unfinished: "Sequence[Turn]") -> int:
        """The last event that is no news for somebody who comes now.

        Args:
            session_id: The session.
            unfinished: Its turns that have not ended.
        """
        ...

    async def turn_of(self, approval_id: "ApprovalId") -> "TurnId | None":
        """The turn that asks a question; None when nobody knows any more."""
        ...

    async def model(self) -> str | None:
        """The model that answers where a session has not chosen its own."""
        ...

    async def models(self) -> Sequence[str]:
        """Models that can be asked right now."""
        ...

    async def check_model(self, name: str) -> None:
        """Refuse a model that cannot be asked.

        Raises:
            LraError: It cannot.
        """
        ...

    @property
    def there(self) -> bool:
        """Whether the agent can be reached."""
        ...

    def tell(self, hear: Callable[[str], None]) -> None:
        """Say who hears of it when the agent cannot be reached, and when it can again."""
        ...
