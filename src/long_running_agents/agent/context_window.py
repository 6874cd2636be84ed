"""Compaction: requests are fitted to the context window of a model; the log stays whole."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolReturnPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext, ToolDefinition
from typing_extensions import override

from long_running_agents.agent import history, transcript
from long_running_agents.agent.history import MessageForms
from long_running_agents.domain import context_window
from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.context_window import (
    Allotment,
    ConversationSizes,
    HistoryCut,
    MessageRole,
    WindowOf,
    leaving,
)
from long_running_agents.errors import ConfigError, UsageError
from long_running_agents.models.factory import weigh
from long_running_agents.models.retry import FallbackChoice
from long_running_agents.tools import selection
from long_running_agents.tools.middleware import Ask, Middleware
from long_running_agents.tools.sessions import LOOKING_BACK


@dataclass(slots=True)
class TokenEstimate:
    """What is known of a model's window and its way of counting."""

    window: int | None
    most: int
    """Tokens of a conversation that are ever shown: `sessions.max_history_tokens`."""
    ratio: float = 1.0
    """Real tokens for each one that we estimate."""
    refused: int | None = None
    """The window as it was learned from a refusal."""
    small: bool = False
    """Whether it is so small that it chooses well only among few tools."""

    @property
    def holds(self) -> int | None:
        """The window; None when nobody knows."""
        known = [size for size in (self.window, self.refused) if size is not None]
        return min(known, default=None)

    @property
    def used(self) -> int:
        """How much of the window a conversation may grow to."""
        return context_window.used(self.holds, self.most)

    def holds_all(self, messages: Sequence[ModelMessage], instructions: str) -> bool:
        """Whether all of a conversation fits beside as many tools as there may be."""
        allotment = context_window.allot(self.used)
        words = estimate_tokens(context_window.weight(instructions))
        room = context_window.room(allotment, words + allotment.tools + FRAME, self.ratio)
        room = min(room, self.most)
        taken = sum(estimate_tokens(weigh(each)) for each in messages)
        return taken <= room - context_window.block_room(room)


_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?([bm])(?![a-z0-9])", re.IGNORECASE)
_SMALL = 3.5
"""Billions of parameters."""


def small(name: str) -> bool:
    """Whether a model is small, as its name says: qwen2.5:0.5b, smollm2-135m, llama-3.2-3B."""
    sizes = [float(size) / (1 if unit in "bB" else 1000) for size, unit in _SIZE.findall(name)]
    return bool(sizes) and max(sizes) <= _SMALL


class TokenEstimates:
    """An estimate for each model, kept from turn to turn."""

    def __init__(self, windows: WindowOf, most: int) -> None:
        self._windows = windows
        self._most = most
        self._made: dict[str, TokenEstimate] = {}

    def of(self, choice: FallbackChoice) -> TokenEstimate:
        """The estimate of a model; its window is asked for anew, since servers are reconfigured."""
        window = self._windows(choice.name) or choice.model.context_window
        estimate = self._made.setdefault(
            choice.name, TokenEstimate(window, self._most, small=small(choice.name))
        )
        if estimate.window != window:
            estimate.window, estimate.refused = window, None
        return estimate


FRAME = 200
"""Tokens for what comes to a request on its way: a server's template, the library's announcements,
and our note that something is left out."""
_NOTE = "\n\n["
"""How a note of ours begins that follows a user's words."""
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


_ALL = HistoryCut()
_NOTHING = ConversationSizes([])


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """A request that fits, and what it was estimated at."""

    messages: list[ModelMessage]
    parameters: ModelRequestParameters
    tokens: int
    talk: ConversationSizes = _NOTHING
    """What each of the messages that were given would take."""
    cut: HistoryCut = _ALL
    """How much of them is shown."""
    room: int = 0
    """What they may take."""
    block: str = ""
    """What stands for those that are not shown."""


class ContextWindowFitter:
    """Fits the requests of one run to one model."""

    def __init__(self, estimate: TokenEstimate, may: Callable[[str], bool]) -> None:
        self.estimate = estimate
        self._may = may
        self._cut: HistoryCut | None = None
        self._origin: ModelMessage | None = None
        self._forms: dict[int, dict[int, MessageForms]] = {}
        self._chosen: tuple[object, list[ToolDefinition], int] | None = None

    def forget(self) -> None:
        """Begin anew: what was left out until now was not enough."""
        self._cut = None

    def fit(
        self,
        messages: Sequence[ModelMessage],
        parameters: ModelRequestParameters,
        settings: ModelSettings | None,
    ) -> FittedRequest:
        """Choose what to send.

        Raises:
            ConfigError: The window cannot even hold instructions and tools.
            UsageError: The user's message is too long for it.
        """
        answer = settings["max_tokens"] if settings and "max_tokens" in settings else None
        allotment = context_window.allot(self.estimate.holds or self.estimate.used, answer)
        forms = self._look(messages, allotment.result)
        tools, tool_tokens = self._tools(forms, parameters.function_tools, allotment)
        instructions = _instructions(parameters)
        base = tool_tokens + instructions + FRAME
        room = context_window.room(allotment, base, self.estimate.ratio)
        if not context_window.enough(room):
            raise too_small(allotment, instructions, tool_tokens)
        most = min(self.estimate.most, self.estimate.used - base)
        shown, talk, cut, room = self._view(messages, allotment, room, most)
        offered = replace(parameters, function_tools=tools)
        return FittedRequest(shown, offered, base + talk.size(cut, room), talk, cut, room)

    def whole(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> FittedRequest:
        """All of a request, as if it fitted."""
        offered = replace(parameters, function_tools=selection.once(parameters.function_tools))
        return FittedRequest(messages, offered, self.measure(messages, offered))

    def measure(self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
        """Estimate a request as it is."""
        base = selection.takes(parameters.function_tools) + _instructions(parameters) + FRAME
        return base + sum(estimate_tokens(weigh(message)) for message in messages)

    def _view(
        self, messages: Sequence[ModelMessage], allotment: Allotment, room: int, most: int
    ) -> tuple[list[ModelMessage], ConversationSizes, HistoryCut, int]:
        size = 0
        # What cannot be put aside, the newest step, may have to be shown shorter.
        for longest in (allotment.result, allotment.result // 4, 0):
            forms = self._look(messages, longest)
            talk = ConversationSizes([seen.item for seen in forms])
            size = talk.least()
            if size <= room or self.estimate.holds is None:
                # What was just said is shown whole where the window holds it.
                room = min(room, most)
                room = max(room - context_window.block_room(room), size)
                cut = self._moved(messages[0], talk, room)
                shown = history.shown(forms, cut, context_window.digest_room(room) * 3)
                return shown, talk, cut, room
        raise UsageError(
            f"The newest message takes about {size} tokens, and the model's window of"
            f" {allotment.window} leaves {room} for the conversation.",
            hint="Shorten it, or choose a model with a larger window.",
        )

    def _moved(self, origin: ModelMessage, talk: ConversationSizes, room: int) -> HistoryCut:
        if self._cut is None or origin is not self._origin:
            self._origin = origin
            self._cut = context_window.retrace(talk, room)
        self._cut = context_window.advance(self._cut, talk, room)
        return self._cut

    def _look(self, messages: Sequence[ModelMessage], longest: int) -> list[MessageForms]:
        known = self._forms.setdefault(longest, {})
        looked: list[MessageForms] = []
        for message in messages:
            seen = known.get(id(message))
            if seen is None:
                # It holds on to the message, so that no id is used twice.
                seen = known[id(message)] = history.forms_of(message, longest)
            looked.append(seen)
        return looked

    def _tools(
        self, forms: Sequence[MessageForms], tools: list[ToolDefinition], allotment: Allotment
    ) -> tuple[list[ToolDefinition], int]:
        about = [seen.message for seen in forms if seen.item.role is MessageRole.START][-2:]
        searched = len(forms) if any(_found(forms[-1:])) else None
        # Where nothing is left out, there is nothing to read on in or to look for.
        whole = _whole(forms, allotment)
        key = (tools, about, allotment, searched, whole)
        if self._chosen is not None and self._chosen[0] == key:
            return self._chosen[1], self._chosen[2]
        allowed = [tool for tool in tools if self._may(tool.name)]
        if whole:
            allowed = [tool for tool in allowed if tool.name not in LOOKING_BACK]
        if self.estimate.small:
            chosen = _few([seen.message for seen in forms], allowed)
        else:
            chosen = selection.choose(
                allowed, allotment, lambda: "\n".join(map(_said, about)), _found(forms)
            )
        self._chosen = (key, chosen, selection.takes(chosen))
        return chosen, self._chosen[2]


@dataclass
class ContextWindow(Middleware):
    """Rewrites what one request sends so that it fits; outside of this, it stays whole.

    What stands for the turns that are left out is read when they are, and stays the same until
    more are, so that the beginning of the prompt does.
    """

    asked: Callable[[], Sequence[FallbackChoice]]
    """The model to ask at this moment, then its fallbacks."""
    estimates: TokenEstimates
    may: Callable[[str], bool]
    """Whether a tool may be called at all."""
    turn: int
    """The number of the turn under way."""
    earlier: bool
    """Whether there are turns before those that are given."""
    block: Callable[[int, int], Awaitable[str]]
    """What stands for the turns before a number, in at most so many characters."""

    def __post_init__(self) -> None:
        self._fitters: dict[str, ContextWindowFitter] = {}
        self._fitted: dict[tuple[str, bool], FallbackChoice] = {}
        self._given: tuple[list[ModelMessage], ModelRequestParameters] = (
            [],
            ModelRequestParameters(),
        )
        self._blocks: dict[tuple[int, int], str] = {}
        self.tokens = 0
        """What the request under way takes of the first model."""
        self.leaving = 0
        """The first turn that is shown when the conversation goes on; 0 while all are."""

    def choices(self) -> list[FallbackChoice]:
        """The same models, each of which sees to it that a request fits."""
        found: list[FallbackChoice] = []
        for place, choice in enumerate(self.asked()):
            key = (choice.name, place == 0)
            if key not in self._fitted:
                fitter = self.fitter(choice)
                model = ContextWindowModel(choice.model, fitter, self, fitted=place == 0)
                self._fitted[key] = replace(choice, model=model)
            found.append(self._fitted[key])
        return found

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        parameters = context.model_request_parameters
        self.take(context.messages, parameters)
        fitted = await self.fit(self.fitter(self.asked()[0]), context.model_settings)
        self.tokens = fitted.tokens
        self.leaving = self._first_shown(fitted, leaving(fitted.cut, fitted.talk, fitted.room))
        context.messages = fitted.messages
        context.model_request_parameters = fitted.parameters
        response = await ask(context)
        # Outside, a call of any tool is known; and what was not sent was not paid for.
        context.model_request_parameters = parameters
        return response

    def take(self, messages: list[ModelMessage], parameters: ModelRequestParameters) -> None:
        """Have a request to fit."""
        self._given = messages, parameters

    async def fit(
        self, fitter: ContextWindowFitter, settings: ModelSettings | None
    ) -> FittedRequest:
        """Fit the request under way to a model, with what stands for what it is not shown."""
        fitted = fitter.fit(*self._given, settings)
        before = self._first_shown(fitted, len(fitted.talk.starts(-1, fitted.cut.first)))
        if before == 0:
            return fitted
        room = context_window.block_room(fitted.room)
        if (before, room) not in self._blocks:
            self._blocks[before, room] = await self.block(before, room * 3)
        if not (note := self._blocks[before, room]):
            return fitted
        shown = [history.with_note(fitted.messages[0], note), *fitted.messages[1:]]
        tokens = fitted.tokens + estimate_tokens(context_window.weight(note))
        return replace(fitted, messages=shown, tokens=tokens, block=note)

    def _first_shown(self, fitted: FittedRequest, left_out: int) -> int:
        """The number of the first turn that is shown; 0 when all are."""
        given = len(fitted.talk.starts(-1, len(fitted.talk.items)))
        return self.turn - given + left_out + 1 if left_out or self.earlier else 0

    def fitter(self, choice: FallbackChoice) -> ContextWindowFitter:
        """The fitter for a model."""
        if choice.name not in self._fitters:
            self._fitters[choice.name] = ContextWindowFitter(self.estimates.of(choice), self.may)
        return self._fitters[choice.name]


class ContextWindowModel(WrapperModel):
    """A model whose requests fit; it learns from what its server says about their length."""

    def __init__(
        self, wrapped: Model, fitter: ContextWindowFitter, window: ContextWindow, *, fitted: bool
    ) -> None:
        super().__init__(wrapped)
        self._fitter = fitter
        self._window = window
        self._fitted = fitted

    @override
    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        request = FittedRequest(messages, model_request_parameters, self._window.tokens)
        if not self._fitted:
            request = await self._fit(model_settings)
        async with AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(self._open(request, model_settings))
            except ModelHTTPError as refusal:
                request = await self._again(refusal, request, model_settings)
                stream = await stack.enter_async_context(self._open(request, model_settings))
            yield stream
            self._learn(request, stream.usage.input_tokens)

    def _open(
        self, request: FittedRequest, settings: ModelSettings | None
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        return self.wrapped.request_stream(request.messages, settings, request.parameters)

    async def _fit(self, settings: ModelSettings | None) -> FittedRequest:
        try:
            fitted = await self._window.fit(self._fitter, settings)
        except (ConfigError, UsageError) as error:
            # Too small for this conversation, as its server would say: the next may be larger.
            raise ModelHTTPError(_TOO_LARGE, self.model_name, str(error)) from error
        messages = self.wrapped.prepare_messages(fitted.messages, fitted.parameters)
        return replace(fitted, messages=messages)

    async def _again(
        self, refusal: ModelHTTPError, request: FittedRequest, settings: ModelSettings | None
    ) -> FittedRequest:
        """The request as it was given, shorter, if it was refused for its length."""
        if not _too_long(refusal):
            raise refusal
        estimate = self._fitter.estimate
        sent = self._fitter.measure(request.messages, request.parameters)
        learned = context_window.window_after_refusal(str(refusal.body), sent)
        estimate.refused = min(learned, estimate.holds or learned)
        self._fitter.forget()
        try:
            return await self._fit(settings)
        except ModelHTTPError:
            raise refusal from None

    def _learn(self, request: FittedRequest, reported: int) -> None:
        estimate = self._fitter.estimate
        if estimate.holds is not None and reported:
            estimate.ratio = context_window.calibrated(estimate.ratio, request.tokens, reported)


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
    allotment = context_window.allot(window, max_output)
    words = estimate_tokens(context_window.weight(instructions))
    needed = selection.takes(selection.core_tools())
    if not context_window.enough(context_window.room(allotment, words + needed + FRAME, 1.0)):
        raise too_small(allotment, words, needed)


def _too_long(refusal: ModelHTTPError) -> bool:
    said = str(refusal.body).lower()
    return any(words in said for words in _TOO_LONG)


def _instructions(parameters: ModelRequestParameters) -> int:
    """Tokens that the instructions take."""
    parts = parameters.instruction_parts or ()
    return estimate_tokens(sum(context_window.weight(part.content) for part in parts))


def _said(message: ModelMessage) -> str:
    """What a user said, without what came to mind."""
    said = [part for part in message.parts if isinstance(part, UserPromptPart)]
    return "\n".join(transcript.words(part)[1] for part in said).partition(_NOTE)[0]


def _found(forms: Sequence[MessageForms]) -> Iterator[str]:
    for seen in forms:
        for part in seen.message.parts:
            if isinstance(part, ToolReturnPart) and part.tool_name == selection.SEARCH:
                yield from selection.found_in(part.content)


def _whole(forms: Sequence[MessageForms], allotment: Allotment) -> bool:
    """Whether all of a conversation will be shown, for sure."""
    plain = all(seen.whole is seen.message for seen in forms)
    return plain and sum(seen.item.whole for seen in forms) <= allotment.prompt // 2


def _few(messages: Sequence[ModelMessage], tools: list[ToolDefinition]) -> list[ToolDefinition]:
    """The tools for a small model: the same at every step of a turn."""
    starts = [
        place for place, one in enumerate(messages) if history.role_of(one) is MessageRole.START
    ]
    said = [_said(messages[place]) for place in starts[-2:]]
    earlier = messages[: starts[-1]] if starts else ()
    used = [
        part.tool_name
        for message in reversed(earlier)
        if isinstance(message, ModelResponse)
        for part in message.tool_calls
    ]
    return selection.few(tools, said, used)
