"""Requests are fitted to the window of the model that is asked; what is stored stays whole."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart, UserPromptPart
from pydantic_ai.models import (
    Model,
    ModelRequestContext,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext, ToolDefinition
from typing_extensions import override

from long_running_agents.agent import view
from long_running_agents.agent.gauges import Gauge, Gauges
from long_running_agents.agent.view import Sight
from long_running_agents.domain import fitting
from long_running_agents.domain.fitting import Allotment, Conversation, Cut, Item, Role
from long_running_agents.errors import ConfigError, UsageError
from long_running_agents.models.listening import Choice
from long_running_agents.tools import selection
from long_running_agents.tools.ring import Ask, Ring

FRAME = 200
"""Tokens for what comes to a request on its way: a server's template, the library's announcements,
and our note that something is left out."""
_TOO_LARGE = 413
_TOO_LONG = (
    "context length",
    "context_length",
    "context size",
    "context window",
    "context overflow",
    "exceed_context",
    "prompt is too long",
    "too many tokens",
)


_ALL = Cut()


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that fits, and what it was estimated at."""

    messages: list[ModelMessage]
    parameters: ModelRequestParameters
    tokens: int
    items: Sequence[Item] = ()
    """What each of the messages that were given would take; empty when none was left out."""
    cut: Cut = _ALL
    """How much of them is shown."""


class Fitter:
    """Fits the requests of one run to one model.

    Args:
        gauge: What is known of the model.
        may: Whether a tool may be called at all.
    """

    def __init__(self, gauge: Gauge, may: Callable[[str], bool]) -> None:
        self.gauge = gauge
        self._may = may
        self._cut: Cut | None = None
        self._origin: ModelMessage | None = None
        self._sights: dict[int, dict[int, Sight]] = {}
        self._chosen: tuple[object, list[ToolDefinition], int] | None = None

    def tighter(self) -> "Fitter":
        """A fitter for the same model that begins anew."""
        return Fitter(self.gauge, self._may)

    def fit(
        self,
        window: int,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
        settings: ModelSettings | None,
    ) -> Fitted:
        """Choose what to send.

        Raises:
            ConfigError: The window cannot even hold instructions and tools.
            UsageError: The user's message is too long for it.
        """
        answer = settings["max_tokens"] if settings and "max_tokens" in settings else None
        allotment = fitting.allot(window, answer)
        sights = self._look(messages, allotment.result)
        tools, tool_tokens = self._tools(sights, parameters.function_tools, allotment)
        instructions = _instructions(parameters)
        base = tool_tokens + instructions + FRAME
        room = fitting.room(allotment, base, self.gauge.ratio)
        if not fitting.enough(room):
            raise too_small(allotment, instructions, tool_tokens)
        shown, talk, cut = self._view(messages, allotment, room)
        offered = replace(parameters, function_tools=tools)
        return Fitted(shown, offered, base + talk.size(cut, room), talk.items, cut)

    @staticmethod
    def whole(messages: list[ModelMessage], parameters: ModelRequestParameters) -> Fitted:
        """All of a request, for a model of which nobody knows how much it holds."""
        # Nothing is left out, so there is nothing to read on in or to search for.
        offered = selection.others(parameters.function_tools)
        return Fitted(messages, replace(parameters, function_tools=offered), 0)

    def measure(self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
        """Estimate a request as it is."""
        base = selection.takes(parameters.function_tools) + _instructions(parameters) + FRAME
        return base + sum(fitting.tokens(view.weigh(message)) for message in messages)

    def _view(
        self, messages: Sequence[ModelMessage], allotment: Allotment, room: int
    ) -> tuple[list[ModelMessage], Conversation, Cut]:
        size = 0
        # What cannot be put aside, the newest step, may have to be shown shorter.
        for longest in (allotment.result, allotment.result // 4, 0):
            sights = self._look(messages, longest)
            talk = Conversation([seen.item for seen in sights])
            size = talk.least()
            if size <= room:
                cut = self._moved(messages[0], talk, room)
                shown = view.shown(sights, cut, fitting.digest_room(room) * 3)
                return shown, talk, cut
        raise UsageError(
            f"The newest message takes about {size} tokens, and the model's window of"
            f" {allotment.window} leaves {room} for the conversation.",
            hint="Shorten it, or choose a model with a larger window.",
        )

    def _moved(self, origin: ModelMessage, talk: Conversation, room: int) -> Cut:
        if self._cut is None or origin is not self._origin:
            self._origin = origin
            self._cut = fitting.retrace(talk, room)
        self._cut = fitting.advance(self._cut, talk, room)
        return self._cut

    def _look(self, messages: Sequence[ModelMessage], longest: int) -> list[Sight]:
        known = self._sights.setdefault(longest, {})
        looked: list[Sight] = []
        for message in messages:
            seen = known.get(id(message))
            if seen is None:
                # It holds on to the message, so that no id is used twice.
                seen = known[id(message)] = view.sight(message, longest)
            looked.append(seen)
        return looked

    def _tools(
        self, sights: Sequence[Sight], tools: list[ToolDefinition], allotment: Allotment
    ) -> tuple[list[ToolDefinition], int]:
        about = [seen.message for seen in sights if seen.item.role is Role.START][-2:]
        searched = len(sights) if any(_found(sights[-1:])) else None
        key = (tools, about, allotment, searched)
        if self._chosen is not None and self._chosen[0] == key:
            return self._chosen[1], self._chosen[2]
        allowed = [tool for tool in tools if self._may(tool.name)]
        chosen = selection.choose(
            allowed, allotment, lambda: "\n".join(map(_words, about)), _found(sights)
        )
        self._chosen = (key, chosen, selection.takes(chosen))
        return chosen, self._chosen[2]


class Fitting(Ring):
    """Rewrites what one request sends so that it fits; what the rings outside see stays whole.

    Args:
        asked: The model to ask at this moment, then its fallbacks.
        gauges: What is known of models.
        may: Whether a tool may be called at all.
    """

    def __init__(
        self, asked: Callable[[], Sequence[Choice]], gauges: Gauges, may: Callable[[str], bool]
    ) -> None:
        self._asked = asked
        self._gauges = gauges
        self._may = may
        self._fitters: dict[str, Fitter] = {}
        self._fitted: dict[tuple[str, bool], Choice] = {}

    def choices(self) -> list[Choice]:
        """The same models, each of which sees to it that a request fits."""
        return [self._dress(choice, first=place == 0) for place, choice in enumerate(self._asked())]

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        first = self._first()
        window = first.gauge.holds
        if window is None:
            return await ask(context)
        messages, parameters = context.messages, context.model_request_parameters
        fitted = first.fit(window, messages, parameters, context.model_settings)
        context.messages = fitted.messages
        context.model_request_parameters = fitted.parameters
        response = await ask(context)
        # Outside, a call of any tool is known; and what was not sent was not paid for.
        context.model_request_parameters = parameters
        return response

    def _first(self) -> Fitter:
        return self._fitter(self._asked()[0])

    def _fitter(self, choice: Choice) -> Fitter:
        if choice.name not in self._fitters:
            self._fitters[choice.name] = Fitter(self._gauges.of(choice), self._may)
        return self._fitters[choice.name]

    def _dress(self, choice: Choice, *, first: bool) -> Choice:
        key = (choice.name, first)
        if key not in self._fitted:
            model = FittedModel(choice.model, self._fitter(choice), fitted=first)
            self._fitted[key] = replace(choice, model=model)
        return self._fitted[key]


class FittedModel(WrapperModel):
    """A model whose requests fit; it learns from what its server says about their length.

    Args:
        wrapped: The model.
        fitter: What fits requests to it.
        fitted: Whether requests have been fitted already when they come here.
    """

    def __init__(self, wrapped: Model, fitter: Fitter, *, fitted: bool) -> None:
        super().__init__(wrapped)
        self._fitter = fitter
        self._fitted = fitted

    @override
    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        request = self._fit(messages, model_settings, model_request_parameters)
        try:
            response = await self.wrapped.request(
                request.messages, model_settings, request.parameters
            )
        except ModelHTTPError as refusal:
            given = Fitted(messages, model_request_parameters, request.tokens)
            request = self._again(refusal, request, given, model_settings)
            response = await self.wrapped.request(
                request.messages, model_settings, request.parameters
            )
        self._learn(request, response.usage.input_tokens)
        return response

    @override
    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        request = self._fit(messages, model_settings, model_request_parameters)
        async with AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(self._open(request, model_settings))
            except ModelHTTPError as refusal:
                given = Fitted(messages, model_request_parameters, request.tokens)
                request = self._again(refusal, request, given, model_settings)
                stream = await stack.enter_async_context(self._open(request, model_settings))
            yield stream
            self._learn(request, stream.usage.input_tokens)

    def _open(
        self, request: Fitted, settings: ModelSettings | None
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        return self.wrapped.request_stream(request.messages, settings, request.parameters)

    def _fit(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> Fitted:
        window = self._fitter.gauge.holds
        if window is None:
            return self._fitter.whole(messages, parameters)
        if self._fitted:
            return Fitted(messages, parameters, 0)
        try:
            return self._fitter.fit(window, messages, parameters, settings)
        except UsageError as error:
            # Too small for this conversation, as its server would say: the next may be larger.
            raise ModelHTTPError(_TOO_LARGE, self.model_name, str(error)) from error

    def _again(
        self,
        refusal: ModelHTTPError,
        request: Fitted,
        given: Fitted,
        settings: ModelSettings | None,
    ) -> Fitted:
        """The request as it was given, shorter, if it was refused for its length."""
        if not _too_long(refusal):
            raise refusal
        gauge = self._fitter.gauge
        sent = self._fitter.measure(request.messages, request.parameters)
        learned = fitting.window_after_refusal(str(refusal.body), sent)
        gauge.refused = min(learned, gauge.holds or learned)
        try:
            return self._fitter.tighter().fit(
                gauge.refused, given.messages, given.parameters, settings
            )
        except UsageError:
            raise refusal from None

    def _learn(self, request: Fitted, reported: int) -> None:
        gauge = self._fitter.gauge
        if gauge.holds is not None and reported:
            sent = request.tokens or self._fitter.measure(request.messages, request.parameters)
            gauge.ratio = fitting.calibrated(gauge.ratio, sent, reported)


def too_small(allotment: Allotment, instructions: int, tools: int) -> ConfigError:
    """The window cannot hold what every request has to say."""
    answer = allotment.window - allotment.prompt
    return ConfigError(
        f"The model's context window of {allotment.window} tokens is too small: the instructions"
        f" take about {instructions}, the tools {tools}, and {answer} are kept for the answer.",
        hint=(
            "Let the server hold more (OLLAMA_CONTEXT_LENGTH, n_ctx, 'context length') and set"
            " agent.model.context_window to it, or shorten SOUL.md and USER.md, or choose another"
            " model."
        ),
    )


def check_window(window: int, instructions: str, max_output: int | None) -> None:
    """Make sure, before anything is asked, that a window holds instructions and needed tools.

    Raises:
        ConfigError: It does not.
    """
    allotment = fitting.allot(window, max_output)
    words = fitting.tokens(fitting.weight(instructions))
    needed = selection.takes(selection.core_tools())
    if not fitting.enough(fitting.room(allotment, words + needed + FRAME, 1.0)):
        raise too_small(allotment, words, needed)


def _too_long(refusal: ModelHTTPError) -> bool:
    said = str(refusal.body).lower()
    return any(words in said for words in _TOO_LONG)


def _instructions(parameters: ModelRequestParameters) -> int:
    """Tokens that the instructions take."""
    parts = parameters.instruction_parts or ()
    return fitting.tokens(sum(fitting.weight(part.content) for part in parts))


def _words(message: ModelMessage) -> str:
    texts = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _found(sights: Sequence[Sight]) -> Iterator[str]:
    for seen in sights:
        for part in seen.message.parts:
            if isinstance(part, ToolReturnPart) and part.tool_name == selection.SEARCH:
                yield from selection.found_in(part.content)
