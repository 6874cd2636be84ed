"""Opening what a home remembers, without an agent: no model is loaded for it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import quote

import httpx2

from long_running_agents.clock import SystemClock
from long_running_agents.config import Loaded, load
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE
from long_running_agents.home import Home, workspace_of
from long_running_agents.memory.chroma import chosen_index
from long_running_agents.memory.embedding.choosing import choose_embedder
from long_running_agents.memory.embedding.port import Embedder
from long_running_agents.memory.memories import Memories
from long_running_agents.memory.mirrors import Mirrors
from long_running_agents.store.database import Database
from long_running_agents.store.opening import open_database


@asynccontextmanager
async def open_memories(
    loaded: Loaded | None = None, *, clock: Clock | None = None, read_only: bool = False
) -> AsyncGenerator[Memories]:
    """Open only what a home remembers.

    Args:
        loaded: The settings; read from where they usually are unless given.
        clock: Another clock than the machine's.
        read_only: Look beside the home's owner instead of owning the home.
    """
    loaded = loaded or load()
    clock = clock or SystemClock()
    async with (
        open_database(loaded, clock, read_only=read_only) as database,
        httpx2.AsyncClient(timeout=loaded.settings.agent.model.timeout) as client,
    ):
        memories = memories_of(loaded, database, client, clock, read_only=read_only)
        try:
            yield memories
            if not read_only:
                await mirrors_of(loaded, memories).read_edits()
        finally:
            await memories.close()


def memories_of(
    loaded: Loaded,
    database: Database,
    client: httpx2.AsyncClient,
    clock: Clock,
    *,
    read_only: bool = False,
) -> Memories:
    """What a home remembers, with the embedder and the index that its settings name."""
    # ChromaDB's folder belongs to one process, as the home does.
    index = None if read_only else chosen_index(loaded.settings.storage.vector_store_path)
    return Memories(database, embedder_of(loaded, client, clock), clock, index)


def mirrors_of(loaded: Loaded, memories: Memories) -> Mirrors:
    """The files that show what the owner of a home remembers."""
    owner = loaded.settings.owner
    folder = workspace_of(loaded) / "memory"
    return Mirrors(memories, folder if owner == MINE else folder / quote(owner, safe=""), owner)


def embedder_of(loaded: Loaded, client: httpx2.AsyncClient, clock: Clock) -> Embedder | None:
    """The embedder that a home's settings name."""
    return choose_embedder(
        loaded.settings.memory,
        loaded.variables,
        client,
        models=Home(loaded.home).models,
        clock=clock,
    )
