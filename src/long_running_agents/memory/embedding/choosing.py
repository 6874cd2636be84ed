"""Which embedder is used: what the settings name, else the one in the box."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from long_running_agents.clock import SystemClock
from long_running_agents.config.settings import MemorySettings
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import ConfigError
from long_running_agents.memory.embedding.bundled import BundledEmbedder
from long_running_agents.memory.embedding.minilm import MiniLmEmbedder
from long_running_agents.memory.embedding.port import Embedder
from long_running_agents.memory.embedding.remote import RemoteEmbedder
from long_running_agents.memory.embedding.server import ServerSource

OWN_KEY = "EMBEDDING_API_KEY"
"""The key for ``memory.embedding_base_url``. A provider's key is never sent anywhere else."""


@dataclass(frozen=True, slots=True)
class _Server:
    base_url: str
    key: str = ""


_SERVERS = {
    "openai": _Server("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": _Server("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "lmstudio": _Server("http://127.0.0.1:1234/v1"),
    "ollama": _Server("http://127.0.0.1:11434/v1"),
}
"""Providers with the protocol of a server, which need no package."""

_PORTS = {"http": 80, "https": 443}

_LIBRARY = ("google", "google-cloud", "cohere", "voyageai", "bedrock", "sentence-transformers")
"""Providers that Pydantic AI speaks to."""


def choose_embedder(
    settings: MemorySettings,
    variables: Mapping[str, str],
    client: httpx2.AsyncClient,
    *,
    models: Path | None = None,
    clock: Clock | None = None,
) -> Embedder | None:
    """The embedder of the settings; None when they switch it off.

    Nothing is loaded or asked yet: what is missing is said by the first text.

    Args:
        settings: What a person has set.
        variables: The environment, where keys are.
        client: Asks servers; shared, and closed by whoever made it.
        models: The home's folder of models, where a converted model is kept.
        clock: Waits between the attempts to ask a server; None means the machine's.

    Raises:
        ConfigError: The settings name no model that can be found.
    """
    if not settings.enabled or settings.embedder == "off":
        return None
    if settings.embedder == "minilm":
        return MiniLmEmbedder(models)
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
    model, place = settings.embedding_model, _place(settings.embedding_base_url)
    if not model:
        raise ConfigError(
            f"The embedding server at {place} needs a model:",
            hint="set memory.embedding_model to one that it has.",
        )
    address = settings.embedding_base_url
    openai = _SERVERS["openai"]
    key = variables.get(OWN_KEY, "")
    if not key and place == _place(openai.base_url):
        key = variables.get(openai.key, "")
    advice = (
        f"Check memory.embedding_base_url and memory.embedding_model, and {OWN_KEY} if the server"
        " wants a key."
    )
    source = ServerSource(
        model,
        base_url=address,
        place=place,
        client=client,
        clock=clock,
        api_key=key,
        advice=advice,
    )
    return RemoteEmbedder(f"server:{model}@{place}", source, advice=advice)


def _by_name(
    name: str, variables: Mapping[str, str], client: httpx2.AsyncClient, clock: Clock
) -> Embedder:
    provider, _, model = name.partition(":")
    if model and (server := _SERVERS.get(provider)) is not None:
        key = variables.get(server.key, "")
        checks = f"Check {server.key} and" if server.key else "Check that it runs, and"
        advice = f"{checks} memory.embedding_model."
        source = ServerSource(
            model,
            base_url=server.base_url,
            place=provider,
            client=client,
            clock=clock,
            api_key=key,
            advice=advice,
        )
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
