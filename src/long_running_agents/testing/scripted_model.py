"""A Pydantic AI model that plays a script without a network, and an app for tests to put it in."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never
from uuid import uuid4

from pydantic_ai import RunContext
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    DeltaToolCall,
    DeltaToolCalls,
    FunctionModel,
    FunctionStreamedResponse,
)
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from long_running_agents.clock import SystemClock
from long_running_agents.domain.ports import Clock
from long_running_agents.testing.script import (
    CutStream,
    Hang,
    MalformedJson,
    Message,
    Reply,
    Script,
    ServedFailures,
    Status,
    estimate_tokens,
    split,
)

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

    from long_running_agents.app import App
    from long_running_agents.tools.deps import TurnDeps

ReplySource: TypeAlias = Reply | Callable[[list[ModelMessage]], Reply]
_Delta: TypeAlias = str | DeltaToolCalls | DeltaThinkingCalls

_CATEGORIES = {
    400: ModelRequestRejectedError,
    401: ModelAuthenticationError,
    402: ModelQuotaExceededError,
    403: ModelAuthenticationError,
    404: ModelNotFoundError,
    422: ModelRequestRejectedError,
    429: ModelRateLimitError,
    503: ModelUnavailableError,
    529: ModelOverloadedError,
}
_FIRST_SERVER_ERROR = 500


class ScriptUsedUpError(AssertionError):
    """The model was asked once more than its list of replies is long."""


class ScriptedModel(FunctionModel):
    """A model that gives the replies it was handed, and remembers what it was asked."""

    requests: list[list[ModelMessage]]
    """The messages of every request, the oldest first."""
    tools_offered: list[list[str]]
    """The names of the tools that came with every request."""

    def __init__(
        self,
        replies: Sequence[ReplySource] | Script,
        *,
        clock: Clock | None = None,
        model_name: str = "scripted",
    ) -> None:
        """Make a model.

        Args:
            replies: Replies in order, used up over all requests; or a script, which chooses by
                the history.
            clock: What delays wait on; the machine's clock when missing.
            model_name: The name the model goes by.
        """
        super().__init__(self._respond, model_name=model_name)
        self.requests = []
        self.tools_offered = []
        self._replies = replies
        self._clock: Clock = clock or SystemClock()
        self._served = ServedFailures()
        self._used = 0
        self._failed = 0

    @property
    def system(self) -> str:
        """The provider's name."""
        return "scripted"

    async def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        reply = await self._open(messages, info.model_request_parameters)
        match reply.failure:
            case CutStream():
                raise self._cut_error()
            case MalformedJson():
                raise _malformed()
            case _:
                return ModelResponse(
                    parts=_parts(reply),
                    usage=_usage(reply, messages),
                    model_name=self.model_name,
                    timestamp=self._clock.now(),
                    provider_name=self.system,
                    finish_reason="tool_call" if reply.calls else "stop",
                )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Stream the next reply."""
        del run_context
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        reply = await self._open(messages, parameters)
        deltas = self._deltas(reply)
        stream = _ScriptedStream(
            model_request_parameters=parameters,
            _model_name=self.model_name,
            _iter=deltas,
            _timestamp=self._clock.now(),
            _reported=_usage(reply, messages),
        )
        stream.finish_reason = "tool_call" if reply.calls else "stop"
        try:
            yield stream
        finally:
            await deltas.aclose()

    async def _open(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters
    ) -> Reply:
        self.requests.append(list(messages))
        tools = [*parameters.declared_function_tools, *parameters.output_tools]
        self.tools_offered.append([tool.name for tool in tools])
        reply = self._choose(messages)
        if reply.delay:
            await self._clock.sleep(reply.delay)
        match reply.failure:
            case Status() as status:
                raise self._http_error(status)
            case Hang():
                await asyncio.Event().wait()
            case None | CutStream() | MalformedJson():
                pass
            case _:
                assert_never(reply.failure)
        return reply

    def _choose(self, messages: list[ModelMessage]) -> Reply:
        if isinstance(self._replies, Script):
            return self._replies.reply_for(list(_chat(messages)), self._served)
        if self._used == len(self._replies):
            raise ScriptUsedUpError(
                f"The scripted model has {len(self._replies)} replies and was asked for another: "
                f"add one, or find out why request {len(self.requests)} was made. "
                f"Its last message: {messages[-1] if messages else None!r}"
            )
        source = self._replies[self._used]
        reply = source if isinstance(source, Reply) else source(messages)
        self._failed += reply.failure is not None
        if reply.failure is None or (reply.times is not None and self._failed >= reply.times):
            self._used += 1
            self._failed = 0
        return reply

    async def _deltas(self, reply: Reply) -> AsyncGenerator[_Delta]:
        if isinstance(reply.failure, MalformedJson):
            raise _malformed()
        for count, delta in enumerate(_pieces(reply)):
            if isinstance(reply.failure, CutStream) and count == reply.failure.after_chunks:
                raise self._cut_error()
            if count and reply.chunk_delay:
                await self._clock.sleep(reply.chunk_delay)
            yield delta
        if isinstance(reply.failure, CutStream):
            raise self._cut_error()

    def _cut_error(self) -> ModelAPIError:
        return ModelConnectionError(
            self.model_name, "The connection was closed before the answer was complete."
        )

    def _http_error(self, status: Status) -> ModelHTTPError:
        category = _CATEGORIES.get(status.code)
        if category is None and status.code >= _FIRST_SERVER_ERROR:
            category = ModelServerError
        return ModelHTTPError.for_category(
            category,
            status_code=status.code,
            model_name=self.model_name,
            body={"message": status.message, "type": "scripted_failure"},
            retry_after=status.retry_after,
        )


@dataclass
class _ScriptedStream(FunctionStreamedResponse):
    """A stream that reports the usage of its reply instead of a guess."""

    _reported: RequestUsage | None = None

    @property
    def usage(self) -> RequestUsage:
        return self._reported or super().usage

    @property
    def provider_name(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride] - theirs is only ever None
        return "scripted"


def _malformed() -> UnexpectedModelBehavior:
    return UnexpectedModelBehavior("The model's answer is not JSON.", '{"choices": [{"ind')


def _call_id(given: str | None) -> str:
    return given or f"call_{uuid4().hex}"


def _parts(reply: Reply) -> list[ModelResponsePart]:
    parts: list[ModelResponsePart] = []
    if reply.thinking:
        parts.append(ThinkingPart(reply.thinking))
    if reply.text:
        parts.append(TextPart(reply.text))
    parts.extend(
        ToolCallPart(call.tool, dict(call.args), tool_call_id=_call_id(call.id))
        for call in reply.calls
    )
    return parts


def _pieces(reply: Reply) -> Iterator[_Delta]:
    for piece in split(reply.thinking):
        yield {0: DeltaThinkingPart(content=piece)}
    yield from reply.text_chunks()
    for number, call in enumerate(reply.calls, start=1):
        yield {number: DeltaToolCall(call.tool, "", tool_call_id=_call_id(call.id))}
        for piece in call.argument_pieces():
            yield {number: DeltaToolCall(json_args=piece)}


def _usage(reply: Reply, messages: list[ModelMessage]) -> RequestUsage:
    given = reply.input_tokens
    if given is None:
        given = estimate_tokens(sum(len(message["content"]) for message in _chat(messages)))
    return RequestUsage(input_tokens=given, output_tokens=reply.estimated_tokens())


def _chat(messages: list[ModelMessage]) -> Iterator[Message]:
    """The history in OpenAI's shape, as far as scripts and estimates look at it."""
    for message in messages:
        if isinstance(message, ModelResponse):
            content = "".join(map(_response_text, message.parts))
            yield {"role": "assistant", "content": content}
            continue
        if message.instructions:
            yield {"role": "system", "content": message.instructions}
        for part in message.parts:
            match part:
                case UserPromptPart():
                    yield {"role": "user", "content": _prompt_text(part)}
                case ToolReturnPart():
                    yield {"role": "tool", "content": part.model_response_str()}
                case SystemPromptPart():
                    yield {"role": "system", "content": part.content}
                case _:
                    # Pydantic AI has turned the others into these before a model sees them.
                    continue


def _response_text(part: ModelResponsePart) -> str:
    match part:
        case TextPart() | ThinkingPart():
            return part.content
        case ToolCallPart():
            return part.tool_name + part.args_as_json_str()
        case _:
            return ""


def _prompt_text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    texts = [item.content if isinstance(item, TextContent) else item for item in part.content]
    return "\n".join(text for text in texts if isinstance(text, str))


@asynccontextmanager
async def make_app(
    home: Path,
    *,
    model: Model | None = None,
    toolsets: "Sequence[AbstractToolset[TurnDeps]]" = (),
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    summaries: bool = False,
    **settings: object,
) -> AsyncGenerator["App"]:
    """Open an app in a folder, touching nothing outside it.

    Args:
        home: The folder.
        model: Usually a ScriptedModel.
        toolsets: Tools beside the built-in ones.
        clock: Usually a FrozenClock, where time matters.
        environ: The environment the app sees; empty unless given.
        summaries: Whether the model sums up what leaves the view, beside its script.
        settings: Dotted keys, with ``__`` for the dot: ``agent__max_loop_iterations=3``.
    """
    # Much to load for those who only want a model.
    from long_running_agents.app import open_app  # noqa: PLC0415
    from long_running_agents.config import load  # noqa: PLC0415

    flags = {key.replace("__", "."): value for key, value in settings.items()}
    loaded = load(home=home, environ=environ or {}, flags=flags)
    async with open_app(loaded, model=model, toolsets=toolsets, clock=clock) as app:
        app.compactor.sums_up = summaries
        yield app
