"""A model for one step: streams, repeats and falls back, and tells a listener on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import ModelUnavailable
from long_running_agents.models.resilience import Again, reason, remedy

_ADVICE = "'lra doctor' checks the connection."


class Listener(Protocol):
    """Hears what happens while a model is being asked."""

    def words(self, text: str) -> None:
        """A few more words arrived."""
        ...

    def again(self, model: str, reason: str, wait: float) -> None:
        """A request failed; what was heard of this step is void."""
        ...

    def fell_back(self, asked: str, answering: str, reason: str) -> None:
        """Another model is asked from here on."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """A model under the name a person knows it by."""

    name: str
    model: Model
    advice: str = ""
    """What a person can do when it does not answer."""
    roomier: str = ""
    """What a person can do when its server reads too little at once."""


class ListeningModel(WrapperModel):
    """Answers one request as a whole, while its words are heard one by one.

    Streaming happens inside ``request``: the agent loop above is spared the bookkeeping of a
    stream, and a cut stream is repeated here, where nothing has been written down yet.
    """

    def __init__(
        self, choices: Sequence[Choice], *, retries: int, clock: Clock, listener: Listener
    ) -> None:
        super().__init__(choices[0].model)
        self._choices = choices
        self._retries = retries
        self._clock = clock
        self._listener = listener

    @override
    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        failures: list[str] = []
        for place, choice in enumerate(self._choices):
            if place > 0:
                self._listener.fell_back(self._choices[0].name, choice.name, failures[-1])
            answer = await self._persist(
                choice, messages, model_settings, model_request_parameters, failures
            )
            if answer is not None:
                return answer
        raise ModelUnavailable(
            "No model answered: " + "; ".join(failures) + ".",
            hint=f"{self._choices[0].advice or _ADVICE} The turn can be retried.",
        )

    async def _persist(
        self,
        choice: Choice,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        failures: list[str],
    ) -> ModelResponse | None:
        attempt = 0
        while True:
            try:
                return await self._listen(choice.model, messages, settings, parameters)
            except (ModelAPIError, UnexpectedModelBehavior) as error:
                attempt += 1
                why = reason(error)
                decision = remedy(error, attempt=attempt, retries=self._retries)
            if not isinstance(decision, Again):
                failures.append(f"{choice.name}: {why}")
                return None
            self._listener.again(choice.name, why, decision.wait)
            await self._clock.sleep(decision.wait)

    async def _listen(
        self,
        model: Model,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        async with model.request_stream(messages, settings, parameters) as stream:
            async for event in stream:
                if text := _text(event):
                    self._listener.words(text)
            return stream.get()


def _text(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case _:
            return ""
