"""A model behind any chat-completions server.

It posts a body it has prepared itself. The official SDK walks every parameter of every message
in Python before each request, which is most of the CPU of a long conversation; servers also
differ from the protocol in ways that need handling at this level.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import httpx2
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import (
    Model,
    ModelRequestParameters,
    StreamedResponse,
    check_allow_model_requests,
)
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage
from typing_extensions import override

from long_running_agents.models import chunks, wire

Json = dict[str, Any]


class ChatCompletionsModel(Model[httpx2.AsyncClient]):
    """Speaks the chat-completions protocol to one server.

    Args:
        model_name: The model's name at the server.
        base_url: The server's address, ending in ``/v1``.
        client: The HTTP client, shared and closed by whoever made it.
        api_key: Sent as a bearer token when not empty.
        system: The provider's name, for usage and prices.
        profile: What the model can do, where it differs from the usual.
    """

    def __init__(
        self,
        model_name: str,
        *,
        base_url: str,
        client: httpx2.AsyncClient,
        api_key: str = "",
        system: str = "openai",
        headers: Mapping[str, str] | None = None,
        profile: ModelProfile | None = None,
    ) -> None:
        super().__init__(profile=profile)
        self._model_name = model_name
        self._base_url = base_url.rstrip("/")
        self._client = client
        self._system = system
        self._headers = dict(headers or {})
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"

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

    @property
    @override
    def provider(self) -> None:
        return None

    @override
    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        body = self._body(messages, model_settings, model_request_parameters, stream=False)
        with _connection_errors(self._model_name):
            reply = await self._client.post(self._url, json=body, headers=self._headers)
        if reply.is_error:
            raise self._refusal(reply.status_code, reply.text, reply.headers)
        return self._read(chunks.parse(reply.text, self._model_name))

    @override
    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        body = self._body(messages, model_settings, model_request_parameters, stream=True)
        with _connection_errors(self._model_name):
            async with self._client.stream(
                "POST", self._url, json=body, headers=self._headers
            ) as reply:
                if reply.is_error:
                    text = (await reply.aread()).decode(errors="replace")
                    raise self._refusal(reply.status_code, text, reply.headers)
                yield ChatStream(
                    model_request_parameters=model_request_parameters,
                    asked_model=self._model_name,
                    system=self._system,
                    address=self._base_url,
                    reply=reply,
                )

    @property
    def _url(self) -> str:
        return f"{self._base_url}/chat/completions"

    def _body(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        *,
        stream: bool,
    ) -> Json:
        check_allow_model_requests()
        settings, parameters = self.prepare_request(settings, parameters)
        return wire.request_body(
            self._model_name,
            messages,
            self._get_instruction_parts(messages, parameters) or (),
            settings or ModelSettings(),
            parameters,
            stream=stream,
        )

    def _refusal(self, status: int, text: str, headers: Mapping[str, str]) -> ModelHTTPError:
        try:
            body: object = chunks.error_text(chunks.parse(text, self._model_name))
        except ModelAPIError:
            body = text[:500]
        return ModelHTTPError(status, self._model_name, body, headers=headers)

    def _read(self, body: Json) -> ModelResponse:
        if body.get("error"):
            raise ModelAPIError(self._model_name, chunks.error_text(body))
        choices: list[Json] = body.get("choices") or []
        if not choices:
            raise ModelAPIError(self._model_name, "the server sent no answer")
        message: Json = choices[0].get("message") or {}
        reason = str(choices[0].get("finish_reason") or "stop")
        usage = chunks.usage_of(body)
        return ModelResponse(
            parts=list(_parts(message)),
            usage=usage or RequestUsage(unmeasured_requests=1),
            model_name=str(body.get("model") or self._model_name),
            provider_name=self._system,
            provider_url=self._base_url,
            finish_reason=chunks.FINISH_REASONS.get(reason),
        )


def _parts(message: Json) -> Iterator[ModelResponsePart]:
    if thinking := message.get("reasoning_content") or message.get("reasoning"):
        yield ThinkingPart(str(thinking))
    if text := message.get("content"):
        yield TextPart(str(text))
    calls: list[Json] = message.get("tool_calls") or []
    for call in calls:
        function: Json = call.get("function") or {}
        if name := function.get("name"):
            arguments = chunks.arguments_text(function.get("arguments")) or "{}"
            call_id = str(call.get("id") or "")
            yield (
                ToolCallPart(name, arguments, tool_call_id=call_id)
                if call_id
                else ToolCallPart(name, arguments)
            )


@dataclass
class ChatStream(StreamedResponse):
    """A streamed answer."""

    asked_model: str
    system: str
    address: str
    reply: httpx2.Response
    began: datetime = field(default_factory=lambda: datetime.now(UTC))  # noqa: TID251 - a time stamp of the library's own record
    _usage_received: bool | None = field(default=False, init=False)

    @override
    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        keys = chunks.CallKeys()
        with _connection_errors(self.asked_model):
            async for chunk in chunks.server_sent(self.reply.aiter_bytes(), self.asked_model):
                if (usage := chunks.usage_of(chunk)) is not None:
                    self._add_usage(usage, reported=True, cumulative=True)
                choices: list[Json] = chunk.get("choices") or []
                for choice in choices[:1]:
                    if reason := choice.get("finish_reason"):
                        self.finish_reason = chunks.FINISH_REASONS.get(str(reason))
                    for event in self._delta(choice.get("delta") or {}, keys):
                        yield event

    def _delta(self, delta: Json, keys: chunks.CallKeys) -> Iterator[ModelResponseStreamEvent]:
        if thinking := delta.get("reasoning_content") or delta.get("reasoning"):
            yield from self._parts_manager.handle_thinking_delta(
                vendor_part_id="thinking", content=str(thinking)
            )
        if text := delta.get("content"):
            yield from self._parts_manager.handle_text_delta(
                vendor_part_id="text", content=str(text)
            )
        pieces: list[Json] = delta.get("tool_calls") or []
        for piece in pieces:
            function = cast("Json", piece.get("function") or {})
            event = self._parts_manager.handle_tool_call_delta(
                vendor_part_id=keys.key(piece),
                tool_name=function.get("name") or None,
                args=chunks.arguments_text(function.get("arguments")) or None,
                tool_call_id=piece.get("id") or None,
            )
            if event is not None:
                yield event

    @override
    async def close_stream(self) -> None:
        await self.reply.aclose()

    @property
    @override
    def model_name(self) -> str:
        return self.asked_model

    @property
    @override
    def provider_name(self) -> str:
        return self.system

    @property
    @override
    def provider_url(self) -> str:
        return self.address

    @property
    @override
    def timestamp(self) -> datetime:
        return self.began


@contextmanager
def _connection_errors(model: str) -> Generator[None]:
    try:
        yield
    except httpx2.TimeoutException as error:
        raise ModelAPIError(model, "the server did not answer in time") from error
    except httpx2.HTTPError as error:
        raise ModelAPIError(
            model, f"the connection failed: {error or type(error).__name__}"
        ) from error
