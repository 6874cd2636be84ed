"""Opening an owner's skills without an agent: no model is loaded, and no turn goes on."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from long_running_agents.clock import SystemClock
from long_running_agents.config import Loaded
from long_running_agents.domain.ports import Clock
from long_running_agents.mcp import names
from long_running_agents.mcp.servers import servers_of
from long_running_agents.sandbox import opening
from long_running_agents.sandbox.session_sandboxes import SessionSandboxes
from long_running_agents.sandbox.workspace import Workspace
from long_running_agents.skills.library import Library
from long_running_agents.skills.trial import Trials
from long_running_agents.skills.workroom import Shelves, Workroom
from long_running_agents.store.database import Database
from long_running_agents.store.opening import database_path, open_database
from long_running_agents.tools.workspaces import open_workspace


@asynccontextmanager
async def open_library(
    loaded: Loaded,
    *,
    clock: Clock | None = None,
    read_only: bool = False,
    making: bool = False,
) -> AsyncGenerator[Library]:
    """Open only the skills of a home.

    Args:
        loaded: The settings.
        clock: Another clock than the machine's.
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
async def open_bench(loaded: Loaded, *, clock: Clock | None = None) -> AsyncGenerator[Library]:
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


class _Place:
    """Where skills are called when no agent does it: beside its folder, on an errand."""

    def __init__(self, loaded: Loaded, owner: str, sandboxes: SessionSandboxes) -> None:
        self._loaded = loaded
        self._owner = owner
        self.sandboxes = sandboxes
        """Where code runs."""

    @property
    def workspace(self) -> Workspace:
        """The agent's folder, made when it is first asked for."""
        return open_workspace(self._loaded, self._owner)


@asynccontextmanager
async def _library(
    loaded: Loaded, database: Database, clock: Clock, *, making: bool
) -> AsyncGenerator[Library]:
    servers = servers_of(loaded, clock, frozenset)
    settings = loaded.settings
    sandboxes = opening.errand_sandboxes(
        settings.sandbox, loaded.variables, clock, layers=loaded.home / opening.LAYERS
    )
    room = Workroom(
        database=database,
        clock=clock,
        settings=settings.agent.skills,
        redact=servers.guarded(loaded).redact,
        trials=Trials(lambda: sandboxes.lent("trial"), clock),
        reserved=_reserved() if making else frozenset(),
        prefixes=tuple(f"{names.prefix(each.spec.name)}_" for each in servers.each),
        place=lambda owner: _Place(loaded, owner, sandboxes),
        # Whoever listens to a conversation has the home open, and is asked instead.
        announce=lambda _: None,
        shelves=Shelves(database),
    )
    try:
        yield Library(room, settings.owner)
    finally:
        await sandboxes.close()


def _reserved() -> frozenset[str]:
    # Slow to import; whoever only looks or decides need not know the names of all tools.
    from long_running_agents.tools.catalog import reserved  # noqa: PLC0415

    return reserved()
