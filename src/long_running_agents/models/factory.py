"""From a name such as "openai:gpt-5" to a model that can be asked."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Protocol, cast

import httpx2
from pydantic_ai.concurrency import ConcurrencyLimiter
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.concurrency import ConcurrencyLimitedModel
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.usage import RequestUsage

from long_running_agents.config.settings import ModelSettings
from long_running_agents.domain.budget import Usage, estimate_tokens
from long_running_agents.domain.context_window import weight
from long_running_agents.domain.model_card import MissingCapability, ModelCard
from long_running_agents.domain.picture import WEIGHT
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import NotConfigured, UsageError
from long_running_agents.models import names, selection
from long_running_agents.models.chat_completions import ChatCompletionsModel
from long_running_agents.models.embedded import Embedded
from long_running_agents.models.names import ModelName, ModelProvider
from long_running_agents.models.quirks import ALL, Capabilities, Learned, examined, lacking
from long_running_agents.models.retry import FallbackChoice

KEYLESS = "no-key"
"""What servers that want no key are sent: some refuse an empty header."""

USUAL: dict[str, Capabilities] = {"openai": Capabilities(text_calls=False)}
"""What is known of all models of a provider."""


class ModelSource(Protocol):
    """Whoever knows which models to ask."""

    def choices(self, name: str | None) -> Sequence[FallbackChoice]:
        """The model to ask, and those to ask when it does not answer."""
        ...

    @property
    def usual(self) -> str:
        """The name of the model that is asked when none is named; empty when there is none."""
        ...

    def use(self, settings: ModelSettings, variables: Mapping[str, str]) -> None:
        """Follow other settings and keys from the next step on, wherever none is named.

        Raises:
            UsageError: There is nothing to choose from.
        """
        ...


class OneModel:
    """A single model that is there already, whatever name is asked for: a `ModelSource`."""

    def __init__(self, model: Model) -> None:
        self._choice = FallbackChoice(model.model_name, model)

    def choices(self, name: str | None) -> Sequence[FallbackChoice]:
        """That model."""
        del name
        return [self._choice]

    @property
    def usual(self) -> str:
        """Its name."""
        return self._choice.name

    def use(self, settings: ModelSettings, variables: Mapping[str, str]) -> None:
        """Refuse."""
        del settings, variables
        raise UsageError(f"There is no other model than {self._choice.name!r} here.")


class ModelFactory:
    """Makes models from names, and keeps those it made; whoever made the client closes it."""

    def __init__(
        self,
        settings: ModelSettings,
        variables: Mapping[str, str],
        client: httpx2.AsyncClient,
        embedded: Embedded | None = None,
        *,
        known: "Findings | None" = None,
    ) -> None:
        self._settings = settings
        self._variables = variables
        self._client = client
        self._embedded = embedded
        self._made: dict[str, FallbackChoice] = {}
        self._limits: dict[str, ConcurrencyLimiter] = {}
        self._known = known

    def choices(self, name: str | None) -> Sequence[FallbackChoice]:
        """The model to ask, and those to ask when it does not answer."""
        chosen = name or selection.choose(self._settings, self._variables).name
        wanted = list(dict.fromkeys([chosen, *self._settings.fallback]))
        return [self._choice(each) for each in wanted]

    @property
    def usual(self) -> str:
        """The name of the model that is asked when none is named; empty when there is none."""
        try:
            return selection.choose(self._settings, self._variables).name
        except NotConfigured:
            return ""

    def use(self, settings: ModelSettings, variables: Mapping[str, str]) -> None:
        """Follow other settings and keys from the next step on, wherever none is named."""
        self._settings, self._variables = settings, variables
        # A name may mean another server or another key now.
        self._made.clear()

    def _choice(self, name: str) -> FallbackChoice:
        if name not in self._made:
            parsed = names.parse(name, self._settings)
            # Shared by all models of a provider; a stream holds its place until it is closed.
            limit = self._limits.setdefault(
                parsed.provider, ConcurrencyLimiter(self._settings.concurrency)
            )
            model = ConcurrencyLimitedModel(self._build(parsed), limit)
            advice = names.advice(parsed, self._settings)
            roomier = names.roomier(parsed, self._settings)
            self._made[name] = FallbackChoice(name, model, advice, roomier)
        return self._made[name]

    def _build(self, name: ModelName) -> Model:
        if name.provider == names.LOCAL:
            return (self._embedded or Embedded(None)).load(name.model)
        names.require(name, self._settings, self._variables)
        server = names.server_of(name, self._settings)
        if server is None:
            return self._from_library(name)
        return self._from_server(name, server)

    def _from_server(self, name: ModelName, server: ModelProvider) -> Model:
        endpoint, ability = server.base_url.rstrip("/"), USUAL.get(name.provider, ALL)
        if self._known is not None:
            ability = ability.without(self._known.ability(endpoint, name.model))
        if self._settings.pictures is not None:
            ability = replace(ability, pictures=self._settings.pictures)
        return ChatCompletionsModel(
            name.model,
            base_url=endpoint,
            client=self._client,
            api_key=self._variables.get(server.key, "") or KEYLESS,
            system=name.provider,
            ability=ability,
            learned=self._known.learned(endpoint, name.model) if self._known else None,
        )

    def _from_library(self, name: ModelName) -> Model:
        key = names.key_of(name.provider, self._variables)

        def provider_with_key(known: str) -> Any:
            return cast("Any", infer_provider_class(known))(api_key=key)

        return infer_model(str(name), provider_with_key)


BELIEVED = timedelta(days=30)
"""How long a lack is believed in. Servers are mended, and a model must not suffer for ever for what
its server could not do once: after this it is asked for everything again, and may refuse again."""

Keep = Callable[[MissingCapability], Awaitable[None]]
"""Writes down what a model lacks."""

log = logging.getLogger(__name__)


class Findings:
    """Remembers cards and lacks, and writes new lacks down beside the work.

    Addresses are stored redacted, and found by that.
    """

    def __init__(
        self,
        cards: Sequence[ModelCard],
        lacks: Sequence[MissingCapability],
        *,
        keep: Keep,
        clock: Clock,
        redact: Redactor,
    ) -> None:
        self._cards = {(card.endpoint, card.model): card for card in cards}
        self._lacks = lacks
        self._keep = keep
        self._clock = clock
        self._redact = redact
        self._writing: set[asyncio.Task[None]] = set()

    def ability(self, endpoint: str, model: str) -> Capabilities:
        """What a model can do, as far as that is known and not too old to be believed."""
        since = self._clock.now() - BELIEVED
        key = (self._redact(endpoint), model)
        known = lacking(
            lack.what
            for lack in self._lacks
            if (lack.endpoint, lack.model) == key and lack.learned_at >= since
        )
        card = self._cards.get(key)
        return known if card is None or card.checked_at < since else known.without(examined(card))

    def window(self, endpoint: str, model: str) -> int | None:
        """The context window that an examination has found, however long ago.

        A window that is thought too small costs less than a beginning that nobody reads.
        """
        card = self._cards.get((self._redact(endpoint), model))
        return None if card is None else card.context_window

    def learned(self, endpoint: str, model: str) -> Learned:
        """Writes down what the model teaches."""

        def hear(new: frozenset[str]) -> None:
            now = self._clock.now()
            for what in sorted(new):
                lack = MissingCapability(endpoint=endpoint, model=model, what=what, learned_at=now)
                task = asyncio.get_running_loop().create_task(self._write(lack))
                self._writing.add(task)
                task.add_done_callback(self._writing.discard)

        return hear

    async def close(self) -> None:
        """Wait for what is being written."""
        await asyncio.gather(*self._writing)

    async def _write(self, lack: MissingCapability) -> None:
        try:
            await self._keep(lack)
        except Exception as error:  # noqa: BLE001 - the answer is worth more than a note about it
            log.warning("that %s lacks %s is not kept: %s", lack.model, lack.what, error)


class PriceList:
    """Knows what requests cost, from the price table that comes with the agent library."""

    def __init__(self) -> None:
        # Looking for a model that has no price goes through the whole table: do it once.
        self._unknown: set[tuple[str | None, str | None]] = set()

    def usage_of(self, response: ModelResponse, messages: list[ModelMessage]) -> Usage:
        """What a response used, estimated and marked so when the server did not say."""
        reported = response.usage
        estimated = not (reported.input_tokens or reported.output_tokens)
        if estimated:
            reported = response.usage = RequestUsage(
                input_tokens=estimate_tokens(sum(weigh(message) for message in messages)),
                output_tokens=estimate_tokens(weigh(response)),
            )
        return Usage(
            input_tokens=reported.input_tokens,
            output_tokens=reported.output_tokens,
            cache_read_tokens=reported.cache_read_tokens,
            cache_write_tokens=reported.cache_write_tokens,
            cost=self._price(response),
            estimated=estimated,
        )

    def of_request(self, model: Model, input_tokens: int, output_tokens: int = 0) -> Decimal | None:
        """What a request and its answer of this length cost; None when nobody knows the price."""
        asked = ModelResponse(
            parts=[],
            usage=RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens),
            model_name=model.model_name,
            provider_name=model.system,
        )
        return self._price(asked)

    def _price(self, response: ModelResponse) -> Decimal | None:
        key = (response.provider_name, response.model_name)
        if key in self._unknown:
            return None
        try:
            return response.cost().total_price
        except (LookupError, AssertionError, ValueError):
            self._unknown.add(key)
            return None


_PART_FRAME = 60
_CALL_FRAME = 90


def weigh(message: ModelMessage) -> int:
    """How long a message is for a model, with what the protocol puts around it."""
    return sum(_weigh_part(part) for part in message.parts)


def _weigh_part(part: ModelRequestPart | ModelResponsePart) -> int:
    match part:
        case ToolReturnPart():
            text = weight(part.model_response_str()) + weight(part.tool_call_id)
            return text + _PART_FRAME + WEIGHT * len(part.files)
        case ToolCallPart():
            named = weight(part.tool_name) + weight(part.tool_call_id)
            return weight(part.args_as_json_str()) + named + _CALL_FRAME
        case UserPromptPart(content=content) if not isinstance(content, str):
            pieces = [weight(piece) if isinstance(piece, str) else WEIGHT for piece in content]
            return sum(pieces) + _PART_FRAME
        case ThinkingPart(signature=None):
            # Our own protocol does not send it back.
            return 0
        case _:
            content = getattr(part, "content", "")
            return weight(content if isinstance(content, str) else str(content)) + _PART_FRAME
