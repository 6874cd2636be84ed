"""Opening an owner's skills without an agent: no model is loaded, and no turn goes on."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from long_running_agents.clock import SystemClock
from long_running_agents.config import LoadedSettings
from long_running_agents.domain.ports import Clock
from long_running_agents.mcp.servers import servers_of
from long_running_agents.sandbox.factory import errand_sandboxes
from long_running_agents.sandbox.manager import SessionSandboxes
from long_running_agents.skills.context import skill_context_of
from long_running_agents.skills.library import SkillLibrary
from long_running_agents.store.database import Database
from long_running_agents.store.schema import database_path, open_database
from long_running_agents.tools.workspace import open_agent_folder
from long_running_agents.workspace.workspace import Workspace


@asynccontextmanager
async def open_library(
    loaded: LoadedSettings,
    *,
    clock: Clock | None = None,
    read_only: bool = False,
    making: bool = False,
) -> AsyncGenerator[SkillLibrary]:
    """Open only the skills of a home.

    Args:
        read_only: Look beside the home's owner instead of owning the home.
        making: Whether skills are made, so that the names of all other tools must be known.
    """
    clock = clock or SystemClock()
    async with (
        open_database(loaded, clock, read_only=read_only) as database,
        _library(loaded, database, clock, making=making) as library,
    ):
        yield library


@asynccontextmanager
async def open_bench(
    loaded: LoadedSettings, *, clock: Clock | None = None
) -> AsyncGenerator[SkillLibrary]:
    """Open a library to examine drafts with: beside a home's own skills, if there is a home.

    Nothing is written into the home, and it need not be there.
    """
    clock = clock or SystemClock()
    if database_path(loaded).exists():
        async with open_library(loaded, clock=clock, read_only=True, making=True) as library:
            yield library
        return
    with TemporaryDirectory(prefix="lra-bench-") as folder:
        storage = loaded.settings.storage.model_copy(update={"database_url": ""})
        settings = loaded.settings.model_copy(update={"storage": storage})
        empty = replace(loaded, home=Path(folder), settings=settings)
        async with (
            open_database(empty, clock) as database,
            _library(loaded, database, clock, making=True) as library,
        ):
            yield library


@dataclass(frozen=True, slots=True)
class _Place:
    """Where skills are called when no agent does it: beside its folder, on an errand."""

    loaded: LoadedSettings
    owner: str
    sandboxes: SessionSandboxes

    @property
    def folder(self) -> Workspace:
        """The agent's folder, made when it is first asked for."""
        return open_agent_folder(self.loaded, self.owner)


@asynccontextmanager
async def _library(
    loaded: LoadedSettings, database: Database, clock: Clock, *, making: bool
) -> AsyncGenerator[SkillLibrary]:
    servers = servers_of(loaded, clock, frozenset)
    sandboxes = errand_sandboxes(loaded, clock)
    context = skill_context_of(
        servers.guarded(loaded),
        database,
        clock,
        sandboxes,
        servers=servers,
        reserved=_reserved() if making else frozenset(),
        place=lambda owner: _Place(loaded, owner, sandboxes),
        # Whoever listens to a conversation has the home open, and is asked instead.
        announce=lambda _: None,
    )
    try:
        yield SkillLibrary(context, loaded.settings.owner)
    finally:
        await sandboxes.close()


def _reserved() -> frozenset[str]:
    # Slow to import; whoever only looks or decides need not know the names of all tools.
    from long_running_agents.tools.catalog import reserved  # noqa: PLC0415

    return reserved()
