"""A local engine as a model that agents can ask, opened by the name of its weights."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage
from typing_extensions import override

from long_running_agents.errors import NotConfigured, UsageError
from long_running_agents.models import chat_messages
from long_running_agents.models.chat_protocol import ChatCall, ChatRequest, read_request
from long_running_agents.models.local.backends import LlamaEngine, TransformersEngine
from long_running_agents.models.local.catalog import CATALOG, WeightsFile, pulled
from long_running_agents.models.local.engine import (
    ContextExceeded,
    Finished,
    Piece,
    PromptRefused,
    ResidentEngine,
    TextEngine,
    TextPiece,
)
from long_running_agents.models.local.tool_prompt import answer
from long_running_agents.models.quirks import Capabilities

SYSTEM = "local"


class LocalModel(Model[TextEngine]):
    """Asks an engine in this process, which may be shared, and is unloaded by whoever made it."""

    ability = Capabilities(pictures=False, structured=False)

    def __init__(self, engine: TextEngine) -> None:
        super().__init__()
        self._engine = engine

    @property
    @override
    def model_name(self) -> str:
        return f"{SYSTEM}:{self._engine.name}"

    @property
    @override
    def system(self) -> str:
        return SYSTEM

    @override
    def _instance_profile_defaults(self, profile: ModelProfile) -> ModelProfile:
        own = ModelProfile(context_window=self._engine.context, supports_inline_system_prompts=True)
        return merge_profile(profile, own)

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
                system=SYSTEM,
                pieces=pieces,
            )

    def _request(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ChatRequest:
        settings, parameters = self.prepare_request(settings, parameters)
        body = chat_messages.request_body(
            self._engine.name,
            messages,
            self._get_instruction_parts(messages, parameters) or (),
            settings or ModelSettings(),
            parameters,
            stream=True,
        )
        try:
            return read_request(body)
        except UsageError as error:
            raise ModelHTTPError(400, self.model_name, error.message) from error


@dataclass(kw_only=True)
class LocalStream(chat_messages.NamedStream):
    """An answer as it is made."""

    pieces: AsyncGenerator[Piece | ChatCall, None]

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

    def _events(self, piece: Piece | ChatCall) -> list[ModelResponseStreamEvent]:
        match piece:
            case TextPiece(text=text):
                handled = self._parts_manager.handle_text_delta(vendor_part_id="text", content=text)
                return list(handled)
            case ChatCall():
                event = self._parts_manager.handle_tool_call_part(
                    vendor_part_id=piece.id,
                    tool_name=piece.name,
                    args=piece.arguments_text(),
                    tool_call_id=piece.id,
                )
                return [event]
            case Finished():
                self.finish_reason = chat_messages.FINISH_REASONS[piece.reason]
                self._usage = RequestUsage(
                    input_tokens=piece.prompt_tokens,
                    output_tokens=piece.completion_tokens,
                    cache_read_tokens=piece.cached_tokens,
                )
                return []

    @override
    async def close_stream(self) -> None:
        await self.pieces.aclose()


LLAMA, TRANSFORMERS = "llama", "transformers"


def open_engine(name: str, folder: Path, *, kind: str | None = None) -> ResidentEngine[Any]:
    """An engine for weights of the catalogue, or for weights of the person's own.

    A file is taken for GGUF, a folder for what ``save_pretrained`` has written. The name is one of
    the catalogue, that of a file in the folder, or a path. Nothing is loaded before the first
    prompt.

    Raises:
        NotConfigured: The weights are not here, or what runs them is not installed.
        UsageError: The engine that is wanted reads no such weights.
    """
    weights = CATALOG.get(name)
    path = _own(name, folder) if weights is None else _pulled(weights, folder)
    fitting = TRANSFORMERS if path.is_dir() else LLAMA
    if kind not in (None, fitting):
        what = "a folder" if path.is_dir() else "a file"
        raise UsageError(
            f"{path} is {what}, which the engine {kind!r} cannot run.",
            hint=f"Take the engine {fitting!r}, or other weights.",
        )
    if fitting == TRANSFORMERS:
        TransformersEngine.require()
        return TransformersEngine(path)
    LlamaEngine.require()
    if weights is None:
        return LlamaEngine(path)
    return LlamaEngine(path, name=name, context=weights.context)


def open_model(name: str, folder: Path) -> LocalModel:
    """The model ``local:<name>``."""
    return LocalModel(open_engine(name, folder))


def _pulled(weights: WeightsFile, folder: Path) -> Path:
    found = pulled(weights, folder)
    if found is None:
        raise NotConfigured(
            f"The weights of {weights.name} are not here ({weights.size / 1e6:.0f} MB,"
            f" {weights.licence}).",
            hint=f"lra models pull {weights.name}",
        )
    return found


def _own(name: str, folder: Path) -> Path:
    for path in (folder / name, folder / f"{name}.gguf", Path(name).expanduser()):
        if path.is_file() or (path / "config.json").is_file():
            return path
    raise NotConfigured(
        f"There are no local weights called {name!r}.",
        hint=f"Pull one of {', '.join(CATALOG)}, or give the path of a GGUF file or of a folder"
        " with config.json and safetensors.",
    )
