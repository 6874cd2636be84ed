"""The workshop: where skills are made, kept and used, put together from its parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic_ai.toolsets import AbstractToolset

from long_running_agents.config import Loaded
from long_running_agents.domain.events import Recorded
from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox.session_sandboxes import SessionSandboxes
from long_running_agents.skills.filing import Filing
from long_running_agents.skills.library import Library
from long_running_agents.skills.opening import sandboxes_of, workroom_of
from long_running_agents.store.database import Database
from long_running_agents.tools.catalog import reserved
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.hands import AllHands
from long_running_agents.tools.skill_tools import SkillTools


@dataclass(frozen=True, slots=True)
class Workshop:
    """Skills, as long as a home is open."""

    library: Library
    """Those of the home's owner; of others with `of`."""
    filing: Filing
    toolset: SkillTools
    sandboxes: SessionSandboxes
    """Where they are tried."""

    async def close(self) -> None:
        """End what was started."""
        await self.filing.close()
        await self.sandboxes.close()


def workshop_of(
    loaded: Loaded,
    database: Database,
    clock: Clock,
    hands: AllHands,
    *,
    toolsets: Sequence[AbstractToolset[TurnDeps]] = (),
    announce: Callable[[Sequence[Recorded]], None],
) -> Workshop | None:
    """The workshop of a home; None where skills are switched off. Nothing is started yet."""
    settings = loaded.settings
    if not settings.agent.tools.enable.skills:
        return None
    sandboxes = sandboxes_of(loaded, clock)
    room = workroom_of(
        loaded,
        database,
        clock,
        sandboxes,
        servers=hands.servers,
        reserved=reserved(toolsets),
        place=hands.of,
        announce=announce,
    )
    library = Library(room, settings.owner)
    filing = Filing(room, library)
    tools = SkillTools(
        settings.agent.skills,
        filing,
        network=bool(settings.sandbox.network),
        allows=room.allows,
    )
    return Workshop(library, filing, tools, sandboxes)
