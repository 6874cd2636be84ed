"""From a name such as "openai:gpt-5" to a model that can be asked."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol, cast

import httpx2
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import infer_provider_class

from long_running_agents.config.settings import ModelSettings
from long_running_agents.errors import ConfigError, NotConfigured
from long_running_agents.models.ability import ALL, Ability, Reports
from long_running_agents.models.chat_completions import ChatCompletionsModel
from long_running_agents.models.limited import LimitedModel
from long_running_agents.models.listening import Choice

KEYLESS = "no-key"
"""What servers that want no key are sent: some refuse an empty header."""


@dataclass(frozen=True, slots=True)
class Server:
    """A provider that speaks the chat-completions protocol."""

    base_url: str
    key: str = ""
    """The variable that holds its key."""
    needs_key: bool = True
    ability: Ability = ALL
    """What is known of all its models."""


SERVERS: dict[str, Server] = {
    "openai": Server(
        "https://api.openai.com/v1", "OPENAI_API_KEY", ability=Ability(text_calls=False)
    ),
    "openrouter": Server("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "lmstudio": Server("http://127.0.0.1:1234/v1", needs_key=False),
    "ollama": Server("http://127.0.0.1:11434/v1", needs_key=False),
}

LIBRARY: dict[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic", ("ANTHROPIC_API_KEY",)),
    "google": ("google.genai", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
"""Providers with a protocol of their own: the package they need and the variables with a key."""

CUSTOM = "custom"
"""The provider of a bare model name at ``agent.model.base_url``."""

OWN_KEY = "AGENT_MODEL_KEY"
"""The key for ``agent.model.base_url``. Another provider's key is never sent there."""


def no_model() -> NotConfigured:
    """Nothing says which model to ask."""
    return NotConfigured(
        "No model is configured.",
        hint=(
            "Set OPENAI_API_KEY and AGENT_MODEL=openai:gpt-5-mini, or AGENT_MODEL_URL and"
            " AGENT_MODEL for a local server, in the environment or the .env file of the home."
            " 'lra demo' needs neither."
        ),
    )


def configured_name(settings: ModelSettings) -> str | None:
    """The full name of the model the settings choose, or None when they choose none."""
    model = settings.model_id
    if not model:
        return None
    if settings.provider:
        return f"{settings.provider}:{model}"
    if settings.base_url:
        return f"{CUSTOM}:{model}"
    return model


class ModelSource(Protocol):
    """Whoever knows which models to ask."""

    def choices(self, name: str | None) -> Sequence[Choice]:
        """The model to ask, and those to ask when it does not answer."""
        ...


class OneModel:
    """A single model that is there already, whatever name is asked for."""

    def __init__(self, model: Model) -> None:
        self._choice = Choice(model.model_name, model)

    def choices(self, name: str | None) -> Sequence[Choice]:
        """That model."""
        del name
        return [self._choice]


class ModelFactory:
    """Makes models from names, and keeps those it made.

    Args:
        settings: Which models, and how they are asked.
        variables: The environment, for keys.
        client: The HTTP client that all of them share.
        abilities: What is known of models from before, by their full names.
        reports: Says for a full name who is told what is found out about that model.
    """

    def __init__(
        self,
        settings: ModelSettings,
        variables: Mapping[str, str],
        client: httpx2.AsyncClient,
        *,
        abilities: Mapping[str, Ability] | None = None,
        reports: Callable[[str], Reports] | None = None,
    ) -> None:
        self._settings = settings
        self._variables = variables
        self._client = client
        self._made: dict[str, Model] = {}
        self._limits: dict[str, asyncio.Semaphore] = {}
        self._abilities = abilities or {}
        self._reports = reports

    def choices(self, name: str | None) -> Sequence[Choice]:
        """The model to ask, and those to ask when it does not answer."""
        chosen = name or configured_name(self._settings)
        if chosen is None:
            raise no_model()
        names = list(dict.fromkeys([chosen, *self._settings.fallback]))
        return [Choice(name, self.make(name)) for name in names]

    def make(self, name: str) -> Model:
        """The model of a name."""
        if name not in self._made:
            made = self._build(name)
            self._made[name] = LimitedModel(made, self._limit(made.system))
        return self._made[name]

    def _limit(self, provider: str) -> asyncio.Semaphore:
        return self._limits.setdefault(provider, asyncio.Semaphore(self._settings.concurrency))

    def _build(self, name: str) -> Model:
        provider, _, model = name.partition(":")
        if not model and self._settings.base_url:
            provider, model = CUSTOM, name
        if not model:
            raise ConfigError(
                f"Model {name!r} not understood:",
                hint="expected 'provider:model', such as openai:gpt-5-mini or ollama:qwen3.",
            )
        if provider in LIBRARY:
            return self._from_library(provider, name)
        return self._from_server(provider, model)

    def _from_server(self, provider: str, model: str) -> Model:
        server = self._server(provider)
        if server is None:
            known = ", ".join([*SERVERS, *LIBRARY])
            raise ConfigError(
                f"Provider {provider!r} is not known:",
                hint=f"use one of {known}, or set agent.model.base_url (AGENT_MODEL_URL).",
            )
        key = self._variables.get(server.key, "")
        if server.needs_key and not key:
            raise _missing_key(provider, server.key)
        name = f"{provider}:{model}"
        return ChatCompletionsModel(
            model,
            base_url=server.base_url,
            client=self._client,
            api_key=key or KEYLESS,
            system=provider,
            ability=self._abilities.get(name, server.ability),
            reports=self._reports(name) if self._reports else None,
        )

    def _server(self, provider: str) -> Server | None:
        own = self._settings.base_url
        known = SERVERS.get(provider)
        if not own or provider not in (CUSTOM, self._settings.provider):
            return known
        return Server(own, known.key if known and known.key else OWN_KEY, needs_key=False)

    def _from_library(self, provider: str, name: str) -> Model:
        package, keys = LIBRARY[provider]
        if not _installed(package):
            raise NotConfigured(
                f"{provider} needs a package that is not installed.",
                hint=f"pip install 'long-running-agents[{provider}]'",
            )
        key = next((self._variables[key] for key in keys if self._variables.get(key)), None)
        if key is None:
            raise _missing_key(provider, keys[0])

        def provider_with_key(known: str) -> Any:
            return cast("Any", infer_provider_class(known))(api_key=key)

        return infer_model(name, provider_with_key)


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        # The package around it is missing, too.
        return False


def _missing_key(provider: str, variable: str) -> NotConfigured:
    return NotConfigured(
        f"{provider} needs a key and {variable} is not set.",
        hint=f"Export {variable}, or write it to the .env file of the home.",
    )
