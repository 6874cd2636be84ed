"""Examining a model: what it can really do, whatever its name promises."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from long_running_agents.domain.model_card import ModelCard
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LraError, ModelUnavailable
from long_running_agents.models.chat_completions import ChatCompletionsModel
from long_running_agents.models.quirks import ALL
from long_running_agents.models.retry import FallbackChoice, reason

_WORD = "kestrel"
_TOOL = ToolDefinition(
    name="report",
    description="Reports the word that the person gave.",
    parameters_json_schema={
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    },
)
_ONE_TOKEN = ModelSettings(max_tokens=1)
_SHORT = ModelSettings(max_tokens=200, temperature=0.0)
_LONG_WORDS = 5000
"""More than the 4096 tokens that several servers read unless they are told otherwise."""
_CUT = 0.9
"""Fewer tokens than this share of the words cannot be the whole prompt: a word is a token."""

_FAILURES = (ModelAPIError, UnexpectedModelBehavior)


@dataclass(frozen=True, slots=True)
class _Heard:
    """One answer."""

    response: ModelResponse
    pieces: int
    """How many pieces of text or calls it came in."""

    @property
    def called(self) -> bool:
        """Whether it calls the tool as it was asked to."""
        return any(
            isinstance(part, ToolCallPart)
            and part.tool_name == _TOOL.name
            and "word" in (part.args_as_dict(raise_if_invalid=False) or {})
            for part in self.response.parts
        )

    @property
    def text(self) -> str:
        """What it says."""
        return "".join(part.content for part in self.response.parts if isinstance(part, TextPart))


def endpoint_of(model: Model) -> str:
    """Where a model is: an address, or the provider's name where there is none."""
    return model.base_url or model.system


FindWindow = Callable[[], Awaitable[int | None]]
"""Asks a server for the window of its model."""


async def examine(
    choice: FallbackChoice, clock: Clock, *, window: FindWindow | None = None
) -> ModelCard:
    """Ask a model a handful of small things, and write down how it did.

    The server is asked for the window once the model has answered: some know it only of a model in
    memory. Where it does not say, a long prompt finds out.

    Raises:
        ModelUnavailable: It does not even answer.
    """
    model = choice.model
    first = await greet(choice)
    plain = _plain(model)
    forced = await _ask(plain, stream=False)
    streamed = await _ask(plain, stream=True)
    learned = plain.ability if isinstance(plain, ChatCompletionsModel) else ALL
    called = bool(forced and forced.called) or bool(streamed and streamed.called)
    native = called and learned.native_tools
    words = await _words(model)
    usage = first.usage.input_tokens > 0
    stated = None if window is None else await window()
    seen, cuts = (stated, False) if stated or not usage else await _measure(model)
    return ModelCard(
        endpoint=endpoint_of(model),
        # A local model has its provider in its name already.
        model=model.model_name.removeprefix(f"{model.system}:"),
        native_tools=native,
        text_tools=False if native else called or await _in_words(model, forced),
        streaming=words > 1,
        streamed_calls=bool(streamed and streamed.called) and learned.streamed_calls,
        usage=usage,
        context_window=seen,
        cuts_silently=cuts,
        checked_at=clock.now(),
    )


async def greet(choice: FallbackChoice) -> ModelResponse:
    """Ask a model for a word, as short as can be."""
    try:
        return await choice.model.request(_say("Hi"), _ONE_TOKEN, ModelRequestParameters())
    except _FAILURES as error:
        raise ModelUnavailable(
            f"{choice.name} does not answer: {reason(error)}.", hint=choice.advice
        ) from error


def _plain(model: Model) -> Model:
    """The model itself, and one that takes no words for calls: only the protocol's count here."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    if isinstance(model, ChatCompletionsModel):
        return model.known(replace(model.ability, text_calls=False))
    return model


def _say(text: str, system: str = "") -> list[ModelMessage]:
    parts = [SystemPromptPart(system)] if system else []
    return [ModelRequest(parts=[*parts, UserPromptPart(text)])]


async def _ask(model: Model, *, stream: bool) -> _Heard | None:
    """Have the model call a tool; None when the server refuses the request."""
    # Some servers refuse to force a call, and make one all the same when they may.
    for forced in (True, False):
        parameters = ModelRequestParameters(function_tools=[_TOOL], allow_text_output=not forced)
        question = _say(f"Report the word {_WORD}.")
        try:
            if stream:
                return await _stream(model, question, parameters)
            return _Heard(await model.request(question, _SHORT, parameters), 1)
        except _FAILURES:
            continue
    return None


async def _stream(
    model: Model, messages: list[ModelMessage], parameters: ModelRequestParameters
) -> _Heard:
    pieces = 0
    async with model.request_stream(messages, _SHORT, parameters) as stream:
        async for event in stream:
            pieces += isinstance(event, PartStartEvent | PartDeltaEvent)
        return _Heard(stream.get(), pieces)


async def _words(model: Model) -> int:
    """In how many pieces a sentence arrives."""
    try:
        heard = await _stream(model, _say("Count from one to ten."), ModelRequestParameters())
    except _FAILURES:
        return 0
    return heard.pieces


async def _in_words(model: Model, forced: _Heard | None) -> bool:
    """Whether the model can write a call as text, or has done so unasked."""
    if forced is not None and _reads_as_call(forced.text):
        return True
    form = json.dumps({"name": _TOOL.name, "arguments": {"word": "…"}}, ensure_ascii=False)
    system = f"To report a word, answer with this JSON and nothing else: {form}"
    try:
        answer = await model.request(
            _say(f"Report the word {_WORD}.", system), _SHORT, ModelRequestParameters()
        )
    except _FAILURES:
        return False
    return _reads_as_call(_Heard(answer, 1).text)


def _reads_as_call(text: str) -> bool:
    begin, end = text.find("{"), text.rfind("}")
    try:
        call: object = json.loads(text[begin : end + 1])
    except ValueError:
        return False
    return isinstance(call, dict) and cast("dict[str, Any]", call).get("name") == _TOOL.name


async def _measure(model: Model) -> tuple[int | None, bool]:
    """Send a long prompt and see how much of it was read: (window, cut without an error)."""
    prompt = "one " * _LONG_WORDS
    try:
        answer = await model.request(_say(prompt), _ONE_TOKEN, ModelRequestParameters())
    except _FAILURES:
        # If it does not fit and the server says so, all is as it should be.
        return None, False
    read = answer.usage.input_tokens
    return (read, True) if read < _LONG_WORDS * _CUT else (None, False)


PATIENCE = 30.0
"""Seconds for a word; some servers load the model first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTried:
    """What came of it."""

    model: str
    ok: bool
    seconds: float
    """How long it took."""
    error: str = ""
    """Why it does not answer; empty when it does."""
    hint: str = ""
    """What to do about it."""


async def try_out(
    choice: FallbackChoice, clock: Clock, *, patience: float = PATIENCE
) -> ModelTried:
    """Ask a model for a word; what goes wrong is what was to be found out."""
    began = clock.monotonic()
    asking = asyncio.ensure_future(greet(choice))
    error = hint = ""
    try:
        if await clock.wait(asking, patience):
            asking.result()
        else:
            error = f"{choice.name} has not answered within {patience:g} seconds."
            hint = choice.advice or "It may be loading: try again in a moment."
    except LraError as failure:
        error, hint = failure.message, failure.hint
    finally:
        asking.cancel()
    seconds = clock.monotonic() - began
    return ModelTried(model=choice.name, ok=not error, seconds=seconds, error=error, hint=hint)
