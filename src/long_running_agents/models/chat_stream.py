"""An answer of a chat-completions server, piece by piece."""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import httpx2
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import StreamedResponse
from pydantic_ai.usage import RequestUsage
from typing_extensions import override

from long_running_agents.models import chunks
from long_running_agents.models.holdback import Holdback

Json = dict[str, Any]


@dataclass
class ChatStream(StreamedResponse):
    """A streamed answer."""

    asked_model: str
    system: str
    address: str
    reply: httpx2.Response
    holdback: Holdback
    whole: Callable[[], Awaitable[ModelResponse]] | None
    """Asks again without streaming, for servers whose streams leave out calls."""
    measured: Callable[[RequestUsage], Json | None]
    """Is told the tokens when the answer is complete, and says what they show."""
    began: datetime = field(default_factory=lambda: datetime.now(UTC))  # noqa: TID251 - a time stamp of the library's own record
    _usage_received: bool | None = field(default=False, init=False)
    _said: bool = field(default=False, init=False)
    _called: bool = field(default=False, init=False)

    @override
    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        keys = chunks.CallKeys()
        with connection_errors(self.asked_model):
            async for chunk in chunks.server_sent(self.reply.aiter_bytes(), self.asked_model):
                for event in self._events(chunk, keys):
                    yield event
        for event in self._rest():
            yield event
        self.provider_details = self.measured(self._usage)
        if self.whole is not None and not self._parts_manager.get_parts():
            for event in self._replayed(await self.whole()):
                yield event

    def _events(self, chunk: Json, keys: chunks.CallKeys) -> Iterator[ModelResponseStreamEvent]:
        if (usage := chunks.usage_of(chunk)) is not None:
            self._add_usage(usage, reported=True, cumulative=True)
        choices: list[Json] = chunk.get("choices") or []
        for choice in choices[:1]:
            if reason := choice.get("finish_reason"):
                self.finish_reason = chunks.FINISH_REASONS.get(str(reason))
            delta: Json = choice.get("delta") or {}
            if thinking := delta.get("reasoning_content") or delta.get("reasoning"):
                yield from self._thinking(str(thinking))
            if text := delta.get("content"):
                words = str(text)
                passes = self.holdback.passes(words)
                yield from self._text(words) if passes else self._content(words)
            pieces: list[Json] = delta.get("tool_calls") or []
            for piece in pieces:
                yield from self._piece(piece, keys)

    def _content(self, text: str) -> Iterator[ModelResponseStreamEvent]:
        shown = self.holdback.feed(text)
        if shown.thinking:
            yield from self._thinking(shown.thinking)
        if shown.text:
            yield from self._text(shown.text)

    def _piece(self, piece: Json, keys: chunks.CallKeys) -> Iterator[ModelResponseStreamEvent]:
        self._called = True
        function = cast("Json", piece.get("function") or {})
        return self._call(
            keys.key(piece),
            function.get("name") or None,
            chunks.arguments_text(function.get("arguments")) or None,
            piece.get("id") or None,
        )

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
