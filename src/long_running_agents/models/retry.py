"""Asking a model: which failures are retried, after which backoff, and when the next is asked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from typing import Any, Protocol, cast

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.domain.retry_policy import RetryPolicy
from long_running_agents.errors import ModelUnavailable

CALLS = 128
"""Tool calls in one step."""

_FIRST_SERVER_ERROR = 500
_TOO_LONG = re.compile(
    r"context.?(?:length|size|window).{0,40}exceed|exceed.{0,60}context|maximum context"
    r"|context_length_exceeded|prompt is too long|too many tokens",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(r"insufficient.?(?:quota|credit|balance|funds)|billing", re.IGNORECASE)


class UnreadableAnswer(ModelAPIError):
    """What came is no answer, or too much of one, and would be so again."""


class Trouble(StrEnum):
    """The kinds of failure that are treated differently."""

    TOO_LONG = auto()
    """The conversation does not fit into the model."""
    NOT_ALLOWED = auto()
    """The key is wrong, or the account is empty."""
    BUSY = auto()
    """The server asks for patience."""
    REFUSED = auto()
    """The request is wrong for this server, or its answer for us, and will be so again."""
    BROKEN = auto()
    """The server failed; it may have recovered a moment later."""
    CUT = auto()
    """The connection failed, the stream was cut, or the answer was not JSON."""
    BUG = auto()
    """Something of ours."""


_REPEATED = frozenset({Trouble.BUSY, Trouble.BROKEN, Trouble.CUT})
"""What may be gone a moment later. All other trouble goes straight to the next model."""

_STATUSES = {
    401: Trouble.NOT_ALLOWED,
    402: Trouble.NOT_ALLOWED,
    403: Trouble.NOT_ALLOWED,
    408: Trouble.BROKEN,
    409: Trouble.BUSY,
    413: Trouble.TOO_LONG,
    425: Trouble.BUSY,
    429: Trouble.BUSY,
    501: Trouble.REFUSED,
}


def backoff(error: Exception, attempt: int, policy: RetryPolicy) -> float | None:
    """Seconds to wait before the same request is made for another attempt; None when it is not."""
    if trouble(error) not in _REPEATED:
        return None
    return policy.backoff(attempt, getattr(error, "retry_after", None))


def trouble(error: Exception) -> Trouble:
    """What kind of failure an error is."""
    if isinstance(error, UnreadableAnswer):
        return Trouble.REFUSED
    if not isinstance(error, ModelHTTPError):
        known = isinstance(error, ModelAPIError | UnexpectedModelBehavior)
        return Trouble.CUT if known else Trouble.BUG
    words = f"{error.provider_error_code or ''} {error.body}"
    if _TOO_LONG.search(words):
        return Trouble.TOO_LONG
    if _NO_MONEY.search(words):
        return Trouble.NOT_ALLOWED
    broken = error.status_code >= _FIRST_SERVER_ERROR
    return _STATUSES.get(error.status_code, Trouble.BROKEN if broken else Trouble.REFUSED)


def reason(error: Exception) -> str:
    """What went wrong, in a few words for a person."""
    if isinstance(error, ModelHTTPError):
        return f"HTTP {error.status_code}: {str(error.body)[:200].rstrip('. ')}"
    return str(error)[:200].rstrip(". ")


_DETAIL = "truncated"


@dataclass(frozen=True, slots=True)
class Truncation:
    """How much of a request was read."""

    sent: int
    """Tokens that were sent, about."""
    read: int
    """Tokens that the server says it has read: all that it has room for."""

    def details(self) -> dict[str, Any]:
        """The news as an answer carries it."""
        return {_DETAIL: {"sent": self.sent, "read": self.read}}


def taken(response: ModelResponse) -> tuple[ModelResponse, Truncation | None]:
    """The answer without the news, and the news."""
    details = response.provider_details or {}
    if _DETAIL not in details:
        return response, None
    told = cast("dict[str, int]", details[_DETAIL])
    rest = {key: value for key, value in details.items() if key != _DETAIL}
    return replace(response, provider_details=rest or None), Truncation(told["sent"], told["read"])


def too_many_calls(model: str) -> UnreadableAnswer:
    """More calls in one step than anybody could want."""
    return UnreadableAnswer(model, f"the model asked for more than {CALLS} tool calls at once")


_RETRY = "Retry with /retry, or: lra ask --session ID --retry"
_ADVICE = "'lra doctor' checks the connection."


class RequestListener(Protocol):
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
class FallbackChoice:
    """A model under the name a person knows it by."""

    name: str
    model: Model
    advice: str = ""
    """What a person can do when it does not answer."""
    roomier: str = ""
    """What a person can do when its server reads too little at once."""


class RetryingModel(WrapperModel):
    """Answers one request as a whole, while its words are heard one by one.

    Streaming happens inside ``request``: the agent loop above is spared the bookkeeping of a
    stream, and a cut stream is repeated here, where nothing has been written down yet.
    """

    def __init__(
        self,
        choices: Sequence[FallbackChoice],
        *,
        retries: int,
        clock: Clock,
        listener: RequestListener,
    ) -> None:
        super().__init__(choices[0].model)
        self._choices = choices
        self._policy = RetryPolicy(retries=retries)
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
            hint=f"{self._choices[0].advice or _ADVICE} {_RETRY}",
        )

    async def _persist(
        self,
        choice: FallbackChoice,
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
                wait = backoff(error, attempt, self._policy)
            if wait is None:
                failures.append(f"{choice.name}: {why}")
                return None
            self._listener.again(choice.name, why, wait)
            await self._clock.sleep(wait)

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
            response = stream.get()
        if sum(isinstance(part, ToolCallPart) for part in response.parts) > CALLS:
            raise too_many_calls(model.model_name)
        return response


def _text(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case _:
            return ""
