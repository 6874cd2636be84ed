"""The desk of a home that this process has opened."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from long_running_agents.app import App, open_app
from long_running_agents.cli.desk import MemoryDesk, SessionDesk, TurnDesk
from long_running_agents.cli.skill_desk import SkillDesk
from long_running_agents.clock import SystemClock
from long_running_agents.config import Loaded
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import Session
from long_running_agents.domain.turn import Turn
from long_running_agents.models import looking
from long_running_agents.models.names import configured_name
from long_running_agents.store import approvals, events, sessions


@asynccontextmanager
async def opened(loaded: Loaded) -> AsyncGenerator["OwnDesk"]:
    """Open a home while inside."""
    clock = SystemClock()
    opened_at = clock.now()
    async with open_app(loaded) as app:
        yield OwnDesk(app, clock, opened_at)


class OwnDesk:
    """An open home."""

    goes_on = "the turn goes on when the home is opened again"

    def __init__(self, app: App, clock: Clock, opened_at: datetime) -> None:
        """Sit down at a home.

        Args:
            app: The open home.
            clock: Tells the time.
            opened_at: When it was opened; what happened since is news.
        """
        settings = app.settings
        self.home = app.home
        self.agent = settings.agent.name
        self.owner = settings.owner
        self.waits = settings.agent.tools.non_interactive_approval_policy == "ask"
        self._app = app
        self._clock = clock
        self._opened_at = opened_at

    @property
    def turns(self) -> TurnDesk:
        """Turns."""
        return self._app.turns

    @property
    def sessions(self) -> SessionDesk:
        """Sessions."""
        return self._app.sessions

    @property
    def memories(self) -> MemoryDesk | None:
        """What is remembered; None when memory is switched off."""
        return self._app.memories

    @property
    def skills(self) -> SkillDesk | None:
        """Tools that were made; None when they are switched off."""
        workshop = self._app.workshop
        return None if workshop is None else workshop.library

    async def find(self, session_id: SessionId) -> Session | None:
        """Look a session up; None when nothing was said in it yet."""
        return await self._app.database.read(lambda tx: sessions.find(tx, session_id))

    async def last_event(self, session_id: SessionId) -> int:
        """The number of a session's newest event; 0 for none."""
        return await self._app.database.read(lambda tx: events.last(tx, session_id))

    async def known_until(self, session_id: SessionId, unfinished: Sequence[Turn]) -> int:
        """The last event that is no news: turns go on by themselves once the home is open."""
        del unfinished
        before, self._opened_at = self._opened_at, self._clock.now()
        return await self._app.database.read(lambda tx: events.last(tx, session_id, before=before))

    async def turn_of(self, approval_id: ApprovalId) -> TurnId | None:
        """The turn that asks a question."""
        found = await self._app.database.read(
            lambda tx: approvals.get(tx, approval_id, owner=self.owner)
        )
        return found.turn_id

    async def model(self) -> str | None:
        """The model that answers where a session has not chosen its own."""
        return configured_name(self._app.settings.agent.model)

    async def models(self) -> Sequence[str]:
        """Models that can be asked right now."""
        return await looking.at_hand(self._app.loaded)

    async def check_model(self, name: str) -> None:
        """Refuse a model that cannot be asked."""
        self._app.models.choices(name)

    @property
    def there(self) -> bool:
        """Whether the home can be reached: it is open here."""
        return True

    def tell(self, hear: Callable[[str], None]) -> None:
        """Do nothing: it can always be reached."""
