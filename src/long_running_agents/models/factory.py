"""From a name such as "openai:gpt-5" to a model that can be asked."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import httpx2
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import infer_provider_class

from long_running_agents.config.settings import ModelSettings
from long_running_agents.errors import NotConfigured, UsageError
from long_running_agents.models import choosing, names
from long_running_agents.models.ability import ALL, Ability, Learned
from long_running_agents.models.chat_completions import ChatCompletionsModel
from long_running_agents.models.embedded import Embedded
from long_running_agents.models.limited import LimitedModel
from long_running_agents.models.listening import Choice
from long_running_agents.models.names import Name, Server

KEYLESS = "no-key"
"""What servers that want no key are sent: some refuse an empty header."""

USUAL: dict[str, Ability] = {"openai": Ability(text_calls=False)}
"""What is known of all models of a provider."""


class ModelSource(Protocol):
    """Whoever knows which models to ask."""

    def choices(self, name: str | None) -> Sequence[Choice]:
        """The model to ask, and those to ask when it does not answer."""
        ...

    @property
    def usual(self) -> str:
        """The name of the model that is asked when none is named; empty when there is none."""
        ...

    def use(self, settings: ModelSettings) -> None:
        """Follow other settings from the next step on, wherever none is named.

        Raises:
            UsageError: There is nothing to choose from.
        """
        ...


class OneModel:
    """A single model that is there already, whatever name is asked for."""

    def __init__(self, model: Model) -> None:
        self._choice = Choice(model.model_name, model)

    def choices(self, name: str | None) -> Sequence[Choice]:
        """That model."""
        del name
        return [self._choice]

    @property
    def usual(self) -> str:
        """Its name."""
        return self._choice.name

    def use(self, settings: ModelSettings) -> None:
        """Refuse.

        Raises:
            UsageError: Always.
        """
        del settings
        raise UsageError(f"There is no other model than {self._choice.name!r} here.")


class Known(Protocol):
    """Whoever remembers what models at their servers can do, and hears what is found out."""

    def ability(self, endpoint: str, model: str) -> Ability:
        """What is known from before."""
        ...

    def learned(self, endpoint: str, model: str) -> Learned:
        """Who hears what the model teaches."""
        ...


class ModelFactory:
    """Makes models from names, and keeps those it made.

    Args:
        settings: Which model to ask when no name is given, and its fallbacks.
        variables: Where keys are found.
        client: Asks servers; shared, and closed by whoever made it.
        embedded: The models that run inside this program, if there are any.
        known: Remembers what models can do; nothing is remembered without.
    """

    def __init__(
        self,
        settings: ModelSettings,
        variables: Mapping[str, str],
        client: httpx2.AsyncClient,
        embedded: Embedded | None = None,
        *,
        known: Known | None = None,
    ) -> None:
        self._settings = settings
        self._variables = variables
        self._client = client
        self._embedded = embedded
        self._made: dict[str, Choice] = {}
        self._limits: dict[str, asyncio.Semaphore] = {}
        self._known = known

    def choices(self, name: str | None) -> Sequence[Choice]:
        """The model to ask, and those to ask when it does not answer."""
        chosen = name or choosing.by_settings(self._settings, self._variables).name
        wanted = list(dict.fromkeys([chosen, *self._settings.fallback]))
        return [self._choice(each) for each in wanted]

    @property
    def usual(self) -> str:
        """The name of the model that is asked when none is named; empty when there is none."""
        try:
            return choosing.by_settings(self._settings, self._variables).name
        except NotConfigured:
            return ""

    def use(self, settings: ModelSettings) -> None:
        """Follow other settings from the next step on, wherever none is named."""
        self._settings = settings
        # A name may mean another server now.
        self._made.clear()

    def _choice(self, name: str) -> Choice:
        if name not in self._made:
            parsed = names.parse(name, self._settings)
            model = LimitedModel(self._build(parsed), self._limit(parsed.provider))
            advice = names.advice(parsed, self._settings)
            roomier = names.roomier(parsed, self._settings)
            self._made[name] = Choice(name, model, advice, roomier)
        return self._made[name]

    def _limit(self, provider: str) -> asyncio.Semaphore:
        return self._limits.setdefault(provider, asyncio.Semaphore(self._settings.concurrency))

    def _build(self, name: Name) -> Model:
        if name.provider == names.LOCAL:
            return (self._embedded or Embedded(None)).load(name.model)
        names.require(name, self._settings, self._variables)
        server = names.server_of(name, self._settings)
        if server is None:
            return self._from_library(name)
        return self._from_server(name, server)

    def _from_server(self, name: Name, server: Server) -> Model:
        endpoint, ability = server.base_url.rstrip("/"), USUAL.get(name.provider, ALL)
        if self._known is not None:
            ability = ability.without(self._known.ability(endpoint, name.model))
        return ChatCompletionsModel(
            name.model,
            base_url=endpoint,
            client=self._client,
            api_key=self._variables.get(server.key, "") or KEYLESS,
            system=name.provider,
            ability=ability,
            learned=self._known.learned(endpoint, name.model) if self._known else None,
        )

    def _from_library(self, name: Name) -> Model:
        key = names.key_of(name.provider, self._variables)

        def provider_with_key(known: str) -> Any:
            return cast("Any", infer_provider_class(known))(api_key=key)

        return infer_model(str(name), provider_with_key)
