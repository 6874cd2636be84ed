"""Looking into a home without a model: beside its owner, or as its owner."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from long_running_agents.agent.sessions import SessionService
    from long_running_agents.cli.options import Options
    from long_running_agents.config import Loaded
    from long_running_agents.domain.memory import Viewer
    from long_running_agents.memory.memories import Memories
    from long_running_agents.store.database import Database

T = TypeVar("T")


def has_database(options: "Options") -> bool:
    """Whether anything was ever stored in the home."""
    from long_running_agents.store.opening import database_path

    return database_path(options.load()).exists()


def with_database(
    options: "Options", work: "Callable[[Database], Awaitable[T]]", *, writes: bool = False
) -> T:
    """Run work on a home's database; it owns the home only if it writes."""
    from long_running_agents.clock import SystemClock
    from long_running_agents.store.opening import open_database

    async def opened() -> T:
        async with open_database(options.load(), SystemClock(), read_only=not writes) as database:
            return await work(database)

    return asyncio.run(opened())


def with_sessions(
    options: "Options", work: "Callable[[SessionService], Awaitable[T]]", *, writes: bool = False
) -> T:
    """Run work on a home's sessions."""
    from long_running_agents.agent.sessions import SessionService
    from long_running_agents.clock import SystemClock

    owner = options.load().settings.owner

    def on_sessions(database: "Database") -> Awaitable[T]:
        return work(SessionService(database, SystemClock(), owner=owner))

    return with_database(options, on_sessions, writes=writes)


def with_memories(
    options: "Options",
    work: "Callable[[Memories, Viewer], Awaitable[T]]",
    *,
    writes: bool = False,
) -> T:
    """Run work on what a home remembers; it owns the home only if it writes."""
    from long_running_agents.memory.opening import open_memories

    async def opened() -> T:
        loaded = options.load()
        async with open_memories(loaded, read_only=not writes) as memories:
            return await work(memories, viewer_of(loaded))

    return asyncio.run(opened())


def viewer_of(loaded: "Loaded") -> "Viewer":
    """Whose memories a person at the terminal sees."""
    from long_running_agents.domain.memory import Viewer

    return Viewer(owner=loaded.settings.owner, agent=loaded.settings.agent.name)
