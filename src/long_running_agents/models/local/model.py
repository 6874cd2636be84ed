"""A local engine as a model that agents can ask."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage
from typing_extensions import override

from long_running_agents.errors import UsageError
from long_running_agents.models import chunks, wire
from long_running_agents.models.local.answering import answer, arguments_text
from long_running_agents.models.local.engine import (
    ContextExceeded,
    Finished,
    Piece,
    PromptRefused,
    TextEngine,
    Words,
)
from long_running_agents.models.local.request import Call, ChatRequest, read

SYSTEM = "local"


class LocalModel(Model[TextEngine]):
    """Asks an engine in this process.

    Args:
        engine: Runs the weights. It may be shared, and is unloaded by whoever made it.
        profile: What the model can do, where it differs from the usual.
    """

    def __init__(self, engine: TextEngine, *, profile: ModelProfile | None = None) -> None:
        super().__init__(profile=profile)
        self._engine = engine

    @property
    @override
    def model_name(self) -> str:
        return f"{SYSTEM}:{self._engine.name}"

    @property
    @override
    def system(self) -> str:
        return SYSTEM

    @property
    @override
    def provider(self) -> None:
        return None

    @override
    def _instance_profile_defaults(self, profile: ModelProfile) -> ModelProfile:
        return merge_profile(profile, ModelProfile(context_window=self._engine.context))

    @property
    def engine(self) -> TextEngine:
        """What runs the weights."""
        return self._engine

    @override
    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        streaming = self.request_stream(messages, model_settings, model_request_parameters)
        async with streaming as stream:
            async for _ in stream:
                pass
            return stream.get()

    @override
    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        request = self._request(messages, model_settings, model_request_parameters)
        async with aclosing(answer(self._engine, request)) as pieces:
            yield LocalStream(
                model_request_parameters=model_request_parameters,
                asked_model=self.model_name,
                pieces=pieces,
            )

    def _request(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ChatRequest:
        settings, parameters = self.prepare_request(settings, parameters)
        body = wire.request_body(
            self._engine.name,
            messages,
            self._get_instruction_parts(messages, parameters) or (),
            settings or ModelSettings(),
            parameters,
            stream=True,
        )
        try:
            return read(body)
        except UsageError as error:
            raise ModelHTTPError(400, self.model_name, error.message) from error


@dataclass
class LocalStream(StreamedResponse):
    """An answer as it is made."""

    asked_model: str
    pieces: AsyncGenerator[Piece | Call, None]
    began: datetime = field(default_factory=lambda: datetime.now(UTC))  # noqa: TID251 - a time stamp of the library's own record

    @override
    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        try:
            async for piece in self.pieces:
                for event in self._events(piece):
                    yield event
        except ContextExceeded as error:
            body = {"code": "context_length_exceeded", "message": str(error)}
            raise ModelHTTPError(400, self.asked_model, body) from error
        except PromptRefused as error:
            raise ModelHTTPError(400, self.asked_model, str(error)) from error

    def _events(self, piece: Piece | Call) -> list[ModelResponseStreamEvent]:
        match piece:
            case Words(text=text):
                handled = self._parts_manager.handle_text_delta(vendor_part_id="text", content=text)
                return list(handled)
            case Call():
                event = self._parts_manager.handle_tool_call_part(
                    vendor_part_id=piece.id,
                    tool_name=piece.name,
                    args=arguments_text(piece),
                    tool_call_id=piece.id,
                )
                return [event]
            case Finished():
                self.finish_reason = chunks.FINISH_REASONS[piece.reason]
                self._usage = RequestUsage(
                    input_tokens=piece.prompt_tokens,
                    output_tokens=piece.completion_tokens,
                    cache_read_tokens=piece.cached_tokens,
                )
                return []

    @override
    async def close_stream(self) -> None:
        await self.pieces.aclose()

    @property
    @override
    def model_name(self) -> str:
        return self.asked_model

    @property
    @override
    def provider_name(self) -> str:
        return SYSTEM

    @property
    @override
    def provider_url(self) -> None:
        return None

    @property
    @override
    def timestamp(self) -> datetime:
        return self.began
