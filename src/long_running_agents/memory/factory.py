"""Opens the memory of a home, without an agent, with the embedder that its settings name."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import quote, urlsplit

import httpx2

from long_running_agents.clock import SystemClock
from long_running_agents.config import LoadedSettings, load
from long_running_agents.config.settings import MemorySettings
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE
from long_running_agents.errors import ConfigError
from long_running_agents.home import agent_folder
from long_running_agents.memory.chroma import chosen_index
from long_running_agents.memory.embedding.base import Embedder
from long_running_agents.memory.embedding.bundled import BundledEmbedder
from long_running_agents.memory.embedding.remote import RemoteEmbedder, ServerSource
from long_running_agents.memory.mirrors import Mirrors
from long_running_agents.memory.service import MemoryService
from long_running_agents.store.database import Database
from long_running_agents.store.schema import open_database


@asynccontextmanager
async def open_memories(
    loaded: LoadedSettings | None = None, *, clock: Clock | None = None, read_only: bool = False
) -> AsyncGenerator[MemoryService]:
    """Open only what a home remembers.

    With ``read_only``, look beside the home's owner instead of owning the home.
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
    loaded: LoadedSettings,
    database: Database,
    client: httpx2.AsyncClient,
    clock: Clock,
    *,
    read_only: bool = False,
) -> MemoryService:
    """What a home remembers, with the embedder and the index that its settings name."""
    # ChromaDB's folder belongs to one process, as the home does.
    index = None if read_only else chosen_index(loaded.settings.storage.vector_store_path)
    embedder = choose_embedder(loaded.settings.memory, loaded.variables, client, clock=clock)
    return MemoryService(database, embedder, clock, index)


def mirrors_of(loaded: LoadedSettings, memories: MemoryService) -> Mirrors:
    """The files that show what the owner of a home remembers."""
    owner = loaded.settings.owner
    folder = agent_folder(loaded) / "memory"
    return Mirrors(memories, folder if owner == MINE else folder / quote(owner, safe=""), owner)


_OWN_KEY = "EMBEDDING_API_KEY"
"""The key for ``memory.embedding_base_url``. A provider's key is never sent anywhere else."""


_SERVERS = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "lmstudio": ("http://127.0.0.1:1234/v1", ""),
    "ollama": ("http://127.0.0.1:11434/v1", ""),
}
"""Providers with the protocol of a server, which need no package: address and name of the key."""

_PORTS = {"http": 80, "https": 443}

_LIBRARY = ("google", "google-cloud", "cohere", "voyageai", "bedrock", "sentence-transformers")
"""Providers that Pydantic AI speaks to."""


def choose_embedder(
    settings: MemorySettings,
    variables: Mapping[str, str],
    client: httpx2.AsyncClient,
    *,
    clock: Clock | None = None,
) -> Embedder | None:
    """The embedder of the settings; None when they switch it off.

    Nothing is loaded or asked yet: what is missing is said by the first text.

    Raises:
        ConfigError: The settings name no model that can be found.
    """
    if not settings.enabled or settings.embedder == "off":
        return None
    if settings.embedder == "bundled":
        return BundledEmbedder()
    if settings.embedding_base_url:
        return _at_address(settings, variables, client, clock or SystemClock())
    if settings.embedding_model:
        return _by_name(settings.embedding_model, variables, client, clock or SystemClock())
    return BundledEmbedder()


def _at_address(
    settings: MemorySettings,
    variables: Mapping[str, str],
    client: httpx2.AsyncClient,
    clock: Clock,
) -> Embedder:
    model, address = settings.embedding_model, settings.embedding_base_url
    place = _place(address)
    if not model:
        raise ConfigError(
            f"The embedding server at {place} needs a model:",
            hint="set memory.embedding_model to one that it has.",
        )
    openai, openai_key = _SERVERS["openai"]
    key = variables.get(_OWN_KEY, "")
    if not key and place == _place(openai):
        key = variables.get(openai_key, "")
    advice = (
        f"Check memory.embedding_base_url and memory.embedding_model, and {_OWN_KEY} if the server"
        " wants a key."
    )
    source = ServerSource(model, address, place, client, clock, api_key=key, advice=advice)
    return RemoteEmbedder(f"server:{model}@{place}", source, advice=advice)


def _by_name(
    name: str, variables: Mapping[str, str], client: httpx2.AsyncClient, clock: Clock
) -> Embedder:
    provider, _, model = name.partition(":")
    if model and provider in _SERVERS:
        address, key_name = _SERVERS[provider]
        key = variables.get(key_name, "")
        checks = f"Check {key_name} and" if key_name else "Check that it runs, and"
        advice = f"{checks} memory.embedding_model."
        source = ServerSource(model, address, provider, client, clock, api_key=key, advice=advice)
        return RemoteEmbedder(name, source, advice=advice)
    if model and provider in _LIBRARY:
        # Loading Pydantic AI takes a second that the bundled embedder does not need.
        from long_running_agents.memory.embedding.provider import (  # noqa: PLC0415
            ProviderSource,
            library_model,
        )

        source = ProviderSource(name, partial(library_model, name, variables))
        return RemoteEmbedder(name, source, advice="Check memory.embedding_model.")
    raise ConfigError(
        f"The embedding model {name!r} is not understood:",
        hint="set memory.embedding_base_url to the server that has it, or write 'provider:model'"
        f" with one of {', '.join((*_SERVERS, *_LIBRARY))}.",
    )


def _place(address: str) -> str:
    """Host and port of an address, without what may be secret in it."""
    try:
        parts = urlsplit(address)
        if parts.hostname and parts.scheme in _PORTS:
            return f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"
    except ValueError:
        pass
    raise ConfigError(
        "memory.embedding_base_url is no address:",
        hint="expected one such as http://127.0.0.1:1234/v1.",
    )
