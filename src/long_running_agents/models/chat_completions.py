"""A model behind any chat-completions server.

It posts a body it has prepared itself. The official SDK walks every parameter of every message
in Python before each request, which is most of the CPU of a long conversation; servers also
differ from the protocol in ways that need handling at this level.
"""

import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
)
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import httpx2
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
    check_allow_model_requests,
)
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage
from pydantic_core import to_json
from typing_extensions import override

from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.errors import CannotSee
from long_running_agents.models import chat_messages
from long_running_agents.models.chat_protocol import Json
from long_running_agents.models.quirks import ALL, Capabilities, Learned, taught
from long_running_agents.models.retry import Truncation, UnreadableAnswer
from long_running_agents.models.text_calls import Names
from long_running_agents.models.text_stream import TextCallFilter


@dataclass(kw_only=True)
class ChatStream(chat_messages.NamedStream):
    """A streamed answer."""

    reply: httpx2.Response
    holdback: TextCallFilter
    read: Callable[[Json], ModelResponse]
    """Reads an answer in one piece, which servers send that do not stream."""
    whole: Callable[[], Awaitable[ModelResponse]] | None
    """Asks again without streaming, for servers whose streams leave out calls."""
    measured: Callable[[RequestUsage], Json | None]
    """Is told the tokens when the answer is complete, and says what they show."""
    _usage_received: bool | None = field(default=False, init=False)
    _named: set[int] = field(default_factory=set[int], init=False)
    _size: int = field(default=0, init=False)
    _said: bool = field(default=False, init=False)
    _called: bool = field(default=False, init=False)

    @override
    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        keys = chat_messages.CallKeys(self.asked_model)
        kind = self.reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        with connection_errors(self.asked_model):
            pieces = self.reply.aiter_bytes()
            async for chunk in chat_messages.server_sent(pieces, self.asked_model, kind):
                for event in self._events(chunk, keys):
                    yield event
        for event in self._rest():
            yield event
        self.provider_details = self.measured(self._usage)
        if self.whole is not None and not self._parts_manager.get_parts():
            for event in self._replayed(await self.whole()):
                yield event

    def _events(
        self, chunk: Json, keys: chat_messages.CallKeys
    ) -> Iterator[ModelResponseStreamEvent]:
        choices = chat_messages.tables(chunk, "choices")
        if choices and chat_messages.is_whole(choices[0]):
            yield from self._replayed(self.read(chunk))
            return
        if (usage := chat_messages.usage_of(chunk)) is not None:
            self._add_usage(usage, reported=True, cumulative=True)
        for choice in choices[:1]:
            if reason := choice.get("finish_reason"):
                self.finish_reason = chat_messages.FINISH_REASONS.get(str(reason))
            delta = chat_messages.table(choice, "delta")
            if thinking := str(delta.get("reasoning_content") or delta.get("reasoning") or ""):
                self._grow(thinking)
                yield from self._thinking(thinking)
            if words := str(delta.get("content") or ""):
                self._grow(words)
                passes = self.holdback.passes(words)
                yield from self._text(words) if passes else self._content(words)
            for piece in chat_messages.tables(delta, "tool_calls"):
                yield from self._piece(piece, keys)

    def _grow(self, text: str) -> None:
        self._size += len(text)
        if self._size > chat_messages.MESSAGE:
            answer = f"an answer of more than {chat_messages.MESSAGE} letters"
            raise chat_messages.too_much(self.asked_model, answer)

    def _content(self, text: str) -> Iterator[ModelResponseStreamEvent]:
        shown = self.holdback.feed(text)
        if shown.thinking:
            yield from self._thinking(shown.thinking)
        if shown.text:
            yield from self._text(shown.text)

    def _piece(
        self, piece: Json, keys: chat_messages.CallKeys
    ) -> Iterator[ModelResponseStreamEvent]:
        function = chat_messages.table(piece, "function")
        name, call_id = str(function.get("name") or ""), str(piece.get("id") or "")
        arguments = chat_messages.arguments_text(function.get("arguments"))
        self._grow(name + call_id + arguments)
        key = keys.key(piece)
        if name:
            self._named.add(key)
        elif key not in self._named:
            # What is no call of anything cannot become one.
            return iter(())
        self._called = True
        return self._call(key, name or None, arguments or None, call_id or None)

    def _thinking(self, text: str) -> Iterator[ModelResponseStreamEvent]:
        return self._parts_manager.handle_thinking_delta(vendor_part_id="thinking", content=text)

    def _text(self, text: str) -> Iterator[ModelResponseStreamEvent]:
        self._said = True
        return self._parts_manager.handle_text_delta(vendor_part_id="text", content=text)

    def _call(
        self, key: object, name: str | None, arguments: str | None, call_id: str | None
    ) -> Iterator[ModelResponseStreamEvent]:
        event = self._parts_manager.handle_tool_call_delta(
            vendor_part_id=key, tool_name=name, args=arguments, tool_call_id=call_id
        )
        if event is not None:
            yield event

    def _rest(self) -> Iterator[ModelResponseStreamEvent]:
        """What was held back until the end."""
        end = self.holdback.end(native=self._called)
        if end.thinking:
            yield from self._thinking(end.thinking)
        if end.text:
            yield from self._text(end.text)
        for number, call in enumerate(end.calls):
            yield from self._call(("text", number), call.name, call.arguments, None)
        self._called = self._called or bool(end.calls)
        if self._called and self.finish_reason != "length":
            self.finish_reason = "tool_call"
        if not self._said and not self._called and self.finish_reason == "stop":
            yield from self._misfiled()

    def _misfiled(self) -> Iterator[ModelResponseStreamEvent]:
        for part in self._parts_manager.get_parts():
            if isinstance(part, ThinkingPart) and part.content:
                yield from self._text(part.content)

    def _replayed(self, response: ModelResponse) -> Iterator[ModelResponseStreamEvent]:
        self._add_usage(response.usage, reported=not response.usage.unmeasured_requests)
        self.finish_reason = response.finish_reason
        for number, part in enumerate(response.parts):
            if isinstance(part, ThinkingPart):
                yield from self._thinking(part.content)
            elif isinstance(part, TextPart):
                yield from self._text(part.content)
            elif isinstance(part, ToolCallPart):
                arguments = part.args_as_json_str()
                yield from self._call(
                    ("whole", number), part.tool_name, arguments, part.tool_call_id
                )

    @override
    async def close_stream(self) -> None:
        await self.reply.aclose()


@contextmanager
def connection_errors(model: str) -> Generator[None]:
    """Call failures of the connection by the name that the agent library knows."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise ModelAPIError(model, "the server did not answer in time") from error
    except httpx2.HTTPError as error:
        raise ModelAPIError(
            model, f"the connection failed: {error or type(error).__name__}"
        ) from error


log = logging.getLogger(__name__)


class _Asked(NamedTuple):
    """A request as the agent library makes it."""

    messages: list[ModelMessage]
    settings: ModelSettings | None
    parameters: ModelRequestParameters


@dataclass(frozen=True, slots=True)
class _Question:
    """A request as it is posted."""

    body: Json
    content: bytes
    ability: Capabilities
    """What was known of the model when it was written."""
    names: Names
    """The tools that can be called, each with its arguments."""

    def holdback(self) -> TextCallFilter:
        native = self.ability.native_tools
        sought = self.ability.text_calls or not native
        return TextCallFilter(self.names if sought else {}, anywhere=not native)


class ChatCompletionsModel(Model[httpx2.AsyncClient]):
    """Speaks the chat-completions protocol to one server.

    It takes the server for a perfect one until it is refused something; then it remembers, asks in
    a way that the server understands, and tells whoever wants to learn what it lacks. The address
    ends in ``/v1``, and whoever made the client closes it.
    """

    def __init__(
        self,
        model_name: str,
        *,
        base_url: str,
        client: httpx2.AsyncClient,
        api_key: str = "",
        system: str = "openai",
        ability: Capabilities = ALL,
        learned: Learned | None = None,
    ) -> None:
        super().__init__()
        self._model_name = model_name
        self._base_url = base_url.rstrip("/")
        # Parsed once: a request would parse it anew.
        self._url = httpx2.URL(f"{self._base_url}/chat/completions")
        self._client = client
        self._system = system
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        self._ability = ability
        self._learned = learned
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"

    @property
    def ability(self) -> Capabilities:
        """What is known of the model by now."""
        return self._ability

    def known(self, ability: Capabilities) -> "ChatCompletionsModel":
        """The same model, known to be able to do something else; what it learns is its own."""
        same = copy(self)
        same._ability = ability  # noqa: SLF001 - a copy of our own
        same._learned = None  # noqa: SLF001 - as above
        return same

    @property
    @override
    def model_name(self) -> str:
        return self._model_name

    @property
    @override
    def system(self) -> str:
        return self._system

    @property
    @override
    def base_url(self) -> str:
        return self._base_url

    @override
    def _instance_profile_defaults(self, profile: ModelProfile) -> ModelProfile:
        # The schema is told in words as well: some servers take it and do not enforce it.
        ours = ModelProfile(
            supports_json_schema_output=True, native_output_requires_schema_in_instructions=True
        )
        return merge_profile(profile, ours)

    @override
    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        asked = _Asked(messages, model_settings, model_request_parameters)
        while True:
            question = self._question(asked, stream=False)
            with connection_errors(self._model_name):
                reply = await self._send(question)
                raw = await self._body(reply)
            if not reply.is_error:
                kind = reply.headers.get("content-type", "")
                return self._read(chat_messages.whole(raw, self._model_name, kind), question)
            self._heed(question, reply, raw)

    async def _send(self, question: _Question) -> httpx2.Response:
        request = self._client.build_request(
            "POST", self._url, content=question.content, headers=self._headers
        )
        reply = await self._client.send(request, stream=True)
        if (packed := reply.headers.get("content-encoding", "identity")) != "identity":
            # What is small when packed may be without end when unpacked.
            await reply.aclose()
            raise UnreadableAnswer(self._model_name, f"the server packs its answer as {packed!r}")
        return reply

    @override
    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        asked = _Asked(messages, model_settings, model_request_parameters)
        tools = bool(
            model_request_parameters.function_tools or model_request_parameters.output_tools
        )
        opened = None if self._whole_only(tools) else await self._open(asked)
        if opened is None:
            yield CompletedStreamedResponse(
                await self.request(*asked),
                model_request_parameters=model_request_parameters,
                replay_events=True,
            )
            return
        question, reply = opened
        try:
            yield ChatStream(
                model_request_parameters=model_request_parameters,
                asked_model=self._model_name,
                system=self._system,
                address=self._base_url,
                reply=reply,
                holdback=question.holdback(),
                read=partial(self._read, question=question),
                whole=partial(self._unstreamed, asked) if tools else None,
                measured=partial(self._measure, question),
            )
        finally:
            await reply.aclose()

    async def _body(self, reply: httpx2.Response) -> bytes:
        try:
            return await chat_messages.body_of(reply, self._model_name)
        finally:
            await reply.aclose()

    async def _open(self, asked: _Asked) -> tuple[_Question, httpx2.Response] | None:
        """Begin a stream; None when the server has just said that it streams no such thing."""
        while True:
            question = self._question(asked, stream=True)
            with connection_errors(self._model_name):
                reply = await self._send(question)
                if not reply.is_error:
                    return question, reply
                raw = await self._body(reply)
            self._heed(question, reply, raw)
            if self._whole_only(bool(question.names)):
                return None

    def _whole_only(self, tools: bool) -> bool:
        return not self._ability.streaming or (tools and not self._ability.streamed_calls)

    async def _unstreamed(self, asked: _Asked) -> ModelResponse:
        """Ask again, after a stream with nothing in it."""
        response = await self.request(*asked)
        if any(isinstance(part, ToolCallPart) for part in response.parts):
            self._learn(Capabilities(streamed_calls=False))
        return response

    def _question(self, asked: _Asked, *, stream: bool) -> _Question:
        check_allow_model_requests()
        settings, parameters = self.prepare_request(asked.settings, asked.parameters)
        body = chat_messages.request_body(
            self._model_name,
            asked.messages,
            self._get_instruction_parts(asked.messages, parameters) or (),
            settings or ModelSettings(),
            parameters,
            stream=stream,
            ability=self._ability,
        )
        tools = parameters.declared_tool_defs.items()
        names = {
            name: (*tool.parameters_json_schema.get("properties", ()),) for name, tool in tools
        }
        return _Question(body, to_json(body), self._ability, names)

    def _heed(self, question: _Question, reply: httpx2.Response, raw: bytes) -> None:
        """Learn from a refusal, or raise it when there is nothing to learn."""
        refusal = self._refusal(reply.status_code, raw.decode(errors="replace"), reply.headers)
        lesson = taught(question.ability, reply.status_code, str(refusal.body), question.body)
        if lesson is None:
            raise refusal
        self._learn(lesson)
        if question.ability.pictures and not lesson.pictures:
            # Without them it would answer another question.
            raise CannotSee.of(self._model_name)

    def _learn(self, lesson: Capabilities) -> None:
        new = lesson.lacks - self._ability.lacks
        if new:
            self._ability = self._ability.without(lesson)
            log.info("%s does not understand %s", self._model_name, ", ".join(sorted(new)))
            if self._learned is not None:
                self._learned(new)

    def _measure(self, question: _Question, usage: RequestUsage | None) -> Json | None:
        """Notice a server that reads only part of what it is sent."""
        sent = estimate_tokens(len(question.content))
        if usage is None or not chat_messages.cut_short(sent, usage.input_tokens):
            return None
        if b'"image_url"' in question.content:
            # Pictures are long in letters and short in tokens.
            return None
        return Truncation(sent, usage.input_tokens).details()

    def _refusal(self, status: int, text: str, headers: Mapping[str, str]) -> ModelHTTPError:
        code = None
        try:
            said = chat_messages.parse(text, self._model_name)
            body: object = chat_messages.error_text(said)
            code = chat_messages.error_code(said)
        except ModelAPIError:
            body = text[:500]
        return ModelHTTPError(
            status, self._model_name, body, headers=headers, provider_error_code=code
        )

    def _read(self, body: Json, question: _Question) -> ModelResponse:
        choices = chat_messages.tables(body, "choices")
        message = chat_messages.table(choices[0], "message")
        reason = chat_messages.FINISH_REASONS.get(str(choices[0].get("finish_reason") or "stop"))
        parts = chat_messages.parts_of(message, question.holdback(), stopped=reason == "stop")
        usage = chat_messages.usage_of(body)
        if reason != "length" and any(isinstance(part, ToolCallPart) for part in parts):
            reason = "tool_call"
        return ModelResponse(
            parts=parts,
            usage=usage or RequestUsage(unmeasured_requests=1),
            model_name=str(body.get("model") or self._model_name),
            provider_name=self._system,
            provider_url=self._base_url,
            provider_details=self._measure(question, usage),
            finish_reason=reason,
        )
