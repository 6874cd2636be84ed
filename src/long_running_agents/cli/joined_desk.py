"""The desk of a server that has the home open."""

from collections.abc import Callable, Sequence

from long_running_agents.cli.desk import MemoryDesk, SessionDesk, TurnDesk
from long_running_agents.cli.skill_desk import SkillDesk
from long_running_agents.client.client import Client, Status
from long_running_agents.config import Loaded
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId
from long_running_agents.domain.session import Session
from long_running_agents.domain.turn import Turn
from long_running_agents.home import Home


class JoinedDesk:
    """A running server."""

    goes_on = "the turn goes on at the server"

    def __init__(self, client: Client, status: Status, loaded: Loaded) -> None:
        """Sit down at a server.

        Args:
            client: The way to it.
            status: What it said of itself.
            loaded: The settings on this side.
        """
        settings = loaded.settings
        self.home = Home(loaded.home)
        self.agent = status.agent
        self.owner = settings.owner
        self.waits = settings.agent.tools.non_interactive_approval_policy == "ask"
        self._client = client

    @property
    def turns(self) -> TurnDesk:
        """Turns."""
        return self._client.turns

    @property
    def sessions(self) -> SessionDesk:
        """Sessions."""
        return self._client.sessions

    @property
    def memories(self) -> MemoryDesk | None:
        """What is remembered; a server without memory says so when it is asked."""
        return self._client.memories

    @property
    def skills(self) -> SkillDesk | None:
        """Tools that were made; a server without them says so when it is asked."""
        return self._client.skills

    async def find(self, session_id: SessionId) -> Session | None:
        """Look a session up; None when nothing was said in it yet."""
        return await self._client.sessions.find(session_id)

    async def last_event(self, session_id: SessionId) -> int:
        """The number of a session's newest event; 0 for none."""
        return await self._client.sessions.last_event(session_id)

    async def known_until(self, session_id: SessionId, unfinished: Sequence[Turn]) -> int:
        """The last event before the turns that have not ended: all of them is told."""
        newest = await self.last_event(session_id)
        if not unfinished:
            return newest
        return await self._client.sessions.before(session_id, unfinished[0].id, newest)

    async def turn_of(self, approval_id: ApprovalId) -> TurnId | None:
        """The turn that asks a question; None when it waits no more."""
        found = await self._client.turns.open_questions()
        return next((each.turn_id for each in found if each.id == approval_id), None)

    async def model(self) -> str | None:
        """The model that answers where a session has not chosen its own."""
        return (await self._client.status()).model or None

    async def models(self) -> Sequence[str]:
        """Models that can be asked at the server right now."""
        return await self._client.models()

    async def check_model(self, name: str) -> None:
        """Leave it to the server: it says so when it cannot ask a model."""

    @property
    def there(self) -> bool:
        """Whether the server can be reached."""
        return self._client.link.there

    def tell(self, hear: Callable[[str], None]) -> None:
        """Say who hears that the server went away, and that it is back."""
        self._client.link.tell = hear
