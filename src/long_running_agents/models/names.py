"""How a model is named, who provides it, and what a name needs before it can be asked.

Nothing here speaks to a model, so that names can be listed and checked without loading one.
"""

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from long_running_agents.config.settings import ModelSettings
from long_running_agents.errors import ConfigError, NotConfigured, NotFound

CUSTOM = "custom"
"""The provider of a bare model name at ``agent.model.base_url``."""

LOCAL = "local"
"""The provider of the models that run inside this program."""

OWN_KEY = "AGENT_MODEL_KEY"
"""The key for ``agent.model.base_url``. Another provider's key is never sent there."""

GEMINI = "google:gemini-flash-latest"
"""What ``--gemini`` stands for: the provider's own name for its newest quick model."""

FORM = (
    "expected 'provider:model', such as openai:gpt-5-mini or ollama:qwen3, or 'address#model' for"
    " any other server, such as http://127.0.0.1:8080/v1#qwen3. 'lra models list' shows names."
)
CHOOSE = "'lra models list' shows what is there, 'lra models use NAME' chooses."


@dataclass(frozen=True, slots=True)
class ModelProvider:
    """A provider that speaks the chat-completions protocol."""

    base_url: str
    key: str = ""
    """The variable that holds its key."""
    needs_key: bool = True


SERVERS: dict[str, ModelProvider] = {
    "openai": ModelProvider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openrouter": ModelProvider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "lmstudio": ModelProvider("http://127.0.0.1:1234/v1", needs_key=False),
    "ollama": ModelProvider("http://127.0.0.1:11434/v1", needs_key=False),
}

LIBRARY: dict[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic", ("ANTHROPIC_API_KEY",)),
    "google": ("google.genai", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
}
"""Providers with a protocol of their own: the package they need and the variables with a key."""

USUAL: dict[str, str] = {
    "openai": "openai:gpt-5-mini",
    "anthropic": "anthropic:claude-sonnet-5",
    "google": GEMINI,
    "openrouter": "openrouter:openai/gpt-5-mini",
}
"""The model that is asked when a provider's key is all there is, in the order of preference."""

LABELS = {
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "google": "Google",
    "openrouter": "OpenRouter",
}


@dataclass(frozen=True, slots=True)
class ModelName:
    """A name, taken apart."""

    provider: str
    model: str
    base_url: str = ""
    """The address, where the name itself says it."""

    def __str__(self) -> str:
        return f"{self.base_url}#{self.model}" if self.base_url else f"{self.provider}:{self.model}"


def parse(text: str, settings: ModelSettings | None = None) -> ModelName:
    """Take a name apart; where the settings have an address, a bare name is a model there.

    Raises:
        ConfigError: It is no name, or no provider has it.
    """
    if text.startswith(("http://", "https://")):
        return _at_address(text)
    provider, _, model = text.partition(":")
    own = settings.base_url if settings else ""
    if not model and own and provider != LOCAL:
        provider, model = CUSTOM, text
    if provider == LOCAL or (model and provider in (*SERVERS, *LIBRARY)):
        return ModelName(provider, model)
    if model and own and settings and provider in (CUSTOM, settings.provider):
        return ModelName(provider, model)
    if not model:
        raise ConfigError(f"Model {text!r} not understood:", hint=FORM)
    known = [*SERVERS, *LIBRARY, LOCAL]
    near = difflib.get_close_matches(provider, known, n=1)
    meant = f"Did you mean {near[0]}:{model}? " if near else ""
    raise ConfigError(
        f"Provider {provider!r} is not known:",
        hint=f"use one of {', '.join(known)}, or set agent.model.base_url (AGENT_MODEL_URL)."
        f" {meant}{CHOOSE}",
    )


def _at_address(text: str) -> ModelName:
    address, _, model = text.partition("#")
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        host = None
        parts = urlsplit("")
    if not model or not host:
        raise ConfigError(f"Model {text!r} not understood:", hint=FORM)
    if parts.username or parts.password:
        # A session's model is stored and shown, so no name may hold a secret.
        raise ConfigError(
            "An address in a model's name must not hold a password.",
            hint=f"Set agent.model.base_url (AGENT_MODEL_URL) and {OWN_KEY}.",
        )
    return ModelName(CUSTOM, model, address.rstrip("/"))


def own_weights(model: str) -> Path | None:
    """The path after ``local:``, where weights of the person's own are named by it."""
    return Path(model).expanduser() if "/" in model else None


def configured_name(settings: ModelSettings) -> str | None:
    """The full name of the model the settings choose, or None when they choose none."""
    return settings.selected or own_name(settings)


def own_name(settings: ModelSettings) -> str | None:
    """The full name of the model that provider, model_id and base_url name."""
    model = settings.model_id
    if not model:
        return None
    if settings.provider:
        return f"{settings.provider}:{model}"
    if settings.base_url:
        return f"{CUSTOM}:{model}"
    return model


def server_of(name: ModelName, settings: ModelSettings) -> ModelProvider | None:
    """Where a name is asked, and with which key; None when that is not over our own wire."""
    own = settings.base_url
    if name.base_url:
        # A key goes to the address it was given for, and nowhere else.
        same = name.base_url == own.rstrip("/")
        key = OWN_KEY if same else server_variable(name.base_url)
        return ModelProvider(name.base_url, key, needs_key=False)
    known = SERVERS.get(name.provider)
    if not own or name.provider not in (CUSTOM, settings.provider):
        return known
    return ModelProvider(own, known.key if known and known.key else OWN_KEY, needs_key=False)


def server_variable(base_url: str) -> str:
    """The variable with the key of a server that was added, which no other address shares."""
    return f"MODEL_SERVER_{hashlib.sha256(base_url.encode()).hexdigest()[:16].upper()}_KEY"


def endpoint_of(name: ModelName, settings: ModelSettings) -> str:
    """Where a name is asked, as cards know it: an address, or the provider where there is none."""
    server = server_of(name, settings)
    return server.base_url.rstrip("/") if server else name.provider


def require(name: ModelName, settings: ModelSettings, variables: Mapping[str, str]) -> None:
    """See that a name has the package and the key it needs."""
    if name.provider in LIBRARY and not name.base_url:
        keys = LIBRARY[name.provider][1]
        if advice := missing_package(name.provider):
            raise NotConfigured(
                f"{name.provider} needs a package that is not installed.", hint=advice
            )
        if not any(variables.get(key) for key in keys):
            raise missing_key(name.provider, keys[0])
    server = server_of(name, settings)
    if server is not None and server.needs_key and not variables.get(server.key):
        raise missing_key(name.provider, server.key)


def key_of(provider: str, variables: Mapping[str, str]) -> str | None:
    """The key that a provider's variables hold."""
    keys = key_variables(provider)
    return next((variables[key] for key in keys if variables.get(key)), None)


def key_variables(provider: str) -> tuple[str, ...]:
    """The variables that may hold a provider's key."""
    if provider not in USUAL:
        raise NotFound(
            f"There is no provider {provider!r} that takes a key.",
            hint=f"There are {', '.join(USUAL)}.",
        )
    return LIBRARY[provider][1] if provider in LIBRARY else (SERVERS[provider].key,)


def missing_package(provider: str) -> str:
    """How to install the package that a provider needs; empty when it needs none."""
    if provider not in LIBRARY or installed(LIBRARY[provider][0]):
        return ""
    return f"pip install 'long-running-agents[{provider}]'"


def installed(package: str) -> bool:
    """Whether a package can be imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        # The package around it is missing, too.
        return False


def missing_key(provider: str, variable: str) -> NotConfigured:
    """A provider without its key."""
    return NotConfigured(
        f"{provider} needs a key and {variable} is not set.",
        hint=f"Export {variable}, or write it to the .env file of the home. {CHOOSE}",
    )


def no_model() -> NotConfigured:
    """Nothing says which model to ask."""
    return NotConfigured(
        "No model is configured.",
        hint=(
            "Set OPENAI_API_KEY and AGENT_MODEL=openai:gpt-5-mini, or AGENT_MODEL_URL and"
            " AGENT_MODEL for a local server, in the environment or the .env file of the home;"
            " or run 'lra models pull' for a small one on this machine. 'lra models list' shows"
            " what is there. 'lra demo' needs no model."
        ),
    )


_ROOMIER = {
    "ollama": "Start Ollama with OLLAMA_CONTEXT_LENGTH=32768, or set num_ctx in a Modelfile.",
    "lmstudio": "Load the model with 'lms load MODEL --context-length 32768'.",
}


def roomier(name: ModelName, settings: ModelSettings) -> str:
    """What a person can do when the server of this name reads too little at once."""
    usual = {server.base_url: provider for provider, server in SERVERS.items()}
    provider = usual.get(endpoint_of(name, settings), name.provider)
    other = "Give its server a longer context (llama-server -c, vLLM --max-model-len)."
    return _ROOMIER.get(provider, other)


def advice(name: ModelName, settings: ModelSettings) -> str:
    """What a person can do when nobody answers to this name."""
    server = server_of(name, settings)
    if server is None:
        return CHOOSE
    if server.base_url.rstrip("/") == settings.base_url.rstrip("/"):
        return f"agent.model.base_url (AGENT_MODEL_URL) says {settings.base_url}. {CHOOSE}"
    if server.needs_key:
        return f"{name.provider} is asked at {server.base_url} with {server.key}. {CHOOSE}"
    return f"Is the server at {server.base_url} running? {CHOOSE}"
