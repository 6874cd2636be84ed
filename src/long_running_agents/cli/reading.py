"""Looking into a home without a model: beside its owner, or as its owner."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from long_running_agents.agent.sessions import SessionService
    from long_running_agents.cli.desk import MemoryDesk, SessionDesk
    from long_running_agents.cli.options import Options
    from long_running_agents.cli.skill_desk import SkillDesk
    from long_running_agents.client import Client
    from long_running_agents.config import Loaded
    from long_running_agents.domain.memory import Viewer
    from long_running_agents.memory.memories import Memories
    from long_running_agents.skills.library import Library
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


def changing_sessions(options: "Options", work: "Callable[[SessionDesk], Awaitable[T]]") -> T:
    """Change sessions: at the server that owns the home, else as its owner."""

    async def there(client: "Client") -> T:
        return await work(client.sessions)

    def here() -> T:
        return with_sessions(options, work, writes=True)

    return there_or_here(options, there, here)


def changing_memories(
    options: "Options", work: "Callable[[MemoryDesk, Viewer], Awaitable[T]]"
) -> T:
    """Change what is remembered: at the server that owns the home, else as its owner."""

    async def there(client: "Client") -> T:
        return await work(client.memories, viewer_of(options.load()))

    def here() -> T:
        return with_memories(options, work, writes=True)

    return there_or_here(options, there, here)


def with_skills(
    options: "Options", work: "Callable[[Library], Awaitable[T]]", *, making: bool = False
) -> T:
    """Look at a home's skills, beside whoever owns it.

    Args:
        options: The home.
        work: What is looked at.
        making: Whether the names of all other tools must be known.
    """
    from long_running_agents.tools.skill_opening import open_library

    async def opened() -> T:
        async with open_library(options.load(), read_only=True, making=making) as library:
            return await work(library)

    return asyncio.run(opened())


def changing_skills(
    options: "Options", work: "Callable[[SkillDesk], Awaitable[T]]", *, making: bool = False
) -> T:
    """Change skills: at the server that owns the home, else as its owner.

    Args:
        options: The home.
        work: What is done.
        making: Whether skills are made.
    """

    async def there(client: "Client") -> T:
        return await work(client.skills)

    async def opened() -> T:
        from long_running_agents.tools.skill_opening import open_library

        async with open_library(options.load(), making=making) as library:
            return await work(library)

    return there_or_here(options, there, lambda: asyncio.run(opened()))


def there_or_here(
    options: "Options", there: "Callable[[Client], Awaitable[T]]", here: "Callable[[], T]"
) -> T:
    """Do something at the server, or here if there is no server that does it for this owner."""
    from long_running_agents.cli.joining import client_of

    async def asked() -> "list[T]":
        async with client_of(options.load()) as client:
            return [] if client is None else [await there(client)]

    # A server acts for the owner in its settings; for others it would be the wrong one.
    done = asyncio.run(asked()) if options.owner is None else []
    return done[0] if done else here()


def viewer_of(loaded: "Loaded") -> "Viewer":
    """Whose memories a person at the terminal sees."""
    from long_running_agents.domain.memory import Viewer

    return Viewer(owner=loaded.settings.owner, agent=loaded.settings.agent.name)
