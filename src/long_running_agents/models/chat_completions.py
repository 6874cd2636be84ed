"""A model behind any chat-completions server.

It posts a body it has prepared itself. The official SDK walks every parameter of every message
in Python before each request, which is most of the CPU of a long conversation; servers also
differ from the protocol in ways that need handling at this level.
"""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx2
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
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
from long_running_agents.models import chunks, wire
from long_running_agents.models.ability import ALL, Ability, Learned, taught
from long_running_agents.models.chat_stream import ChatStream, connection_errors
from long_running_agents.models.holdback import Holdback
from long_running_agents.models.truncation import Truncation

Json = dict[str, Any]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Question:
    """A request as it is posted."""

    body: Json
    content: bytes
    ability: Ability
    """What was known of the model when it was written."""
    names: frozenset[str]
    """The tools that can be called."""

    def holdback(self) -> Holdback:
        native = self.ability.native_tools
        sought = self.ability.text_calls or not native
        return Holdback(self.names if sought else frozenset(), anywhere=not native)


class ChatCompletionsModel(Model[httpx2.AsyncClient]):
    """Speaks the chat-completions protocol to one server.

    It takes the server for a perfect one until it is refused something; then it remembers, and
    asks in a way that the server understands.

    Args:
        model_name: The model's name at the server.
        base_url: The server's address, ending in ``/v1``.
        client: The HTTP client, shared and closed by whoever made it.
        api_key: Sent as a bearer token when not empty.
        system: The provider's name, for usage and prices.
        ability: What is already known of the model.
        learned: Hears what it turns out to lack besides.
    """

    def __init__(
        self,
        model_name: str,
        *,
        base_url: str,
        client: httpx2.AsyncClient,
        api_key: str = "",
        system: str = "openai",
        ability: Ability = ALL,
        learned: Learned | None = None,
    ) -> None:
        super().__init__()
        self._model_name = model_name
        self._base_url = base_url.rstrip("/")
        # Parsed once: a request would parse it anew.
        self._url = httpx2.URL(f"{self._base_url}/chat/completions")
        self._client = client
        self._system = system
        self._headers = {"Content-Type": "application/json"}
        self._ability = ability
        self._learned = learned
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"

    @property
    def ability(self) -> Ability:
        """What is known of the model by now."""
        return self._ability

    def known(self, ability: Ability) -> "ChatCompletionsModel":
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

    @property
    @override
    def provider(self) -> None:
        return None

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
        while True:
            question = self._question(
                messages, model_settings, model_request_parameters, stream=False
            )
            with connection_errors(self._model_name):
                reply = await self._client.post(
                    self._url, content=question.content, headers=self._headers
                )
            if not reply.is_error:
                return self._read(chunks.parse(reply.text, self._model_name), question)
            self._heed(question, reply, reply.text)

    @override
    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        asked = (messages, model_settings, model_request_parameters)
        tools = bool(
            model_request_parameters.function_tools or model_request_parameters.output_tools
        )
        opened = None if self._whole_only(tools) else await self._open(*asked)
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
                whole=partial(self._unstreamed, *asked) if tools else None,
                measured=partial(self._measure, question),
            )
        finally:
            await reply.aclose()

    async def _open(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> tuple[_Question, httpx2.Response] | None:
        """Begin a stream; None when the server has just said that it streams no such thing."""
        while True:
            question = self._question(messages, settings, parameters, stream=True)
            request = self._client.build_request(
                "POST", self._url, content=question.content, headers=self._headers
            )
            with connection_errors(self._model_name):
                reply = await self._client.send(request, stream=True)
                if not reply.is_error:
                    return question, reply
                try:
                    text = (await reply.aread()).decode(errors="replace")
                finally:
                    await reply.aclose()
            self._heed(question, reply, text)
            if self._whole_only(bool(question.names)):
                return None

    def _whole_only(self, tools: bool) -> bool:
        return not self._ability.streaming or (tools and not self._ability.streamed_calls)

    async def _unstreamed(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Ask again, after a stream with nothing in it."""
        response = await self.request(messages, settings, parameters)
        if any(isinstance(part, ToolCallPart) for part in response.parts):
            self._learn(Ability(streamed_calls=False))
        return response

    def _question(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
        *,
        stream: bool,
    ) -> _Question:
        check_allow_model_requests()
        settings, parameters = self.prepare_request(settings, parameters)
        body = wire.request_body(
            self._model_name,
            messages,
            self._get_instruction_parts(messages, parameters) or (),
            settings or ModelSettings(),
            parameters,
            stream=stream,
            ability=self._ability,
        )
        return _Question(
            body, to_json(body), self._ability, frozenset(parameters.declared_tool_defs)
        )

    def _heed(self, question: _Question, reply: httpx2.Response, text: str) -> None:
        """Learn from a refusal, or raise it when there is nothing to learn."""
        refusal = self._refusal(reply.status_code, text, reply.headers)
        lesson = taught(question.ability, reply.status_code, str(refusal.body), question.body)
        if lesson is None:
            raise refusal
        self._learn(lesson)

    def _learn(self, lesson: Ability) -> None:
        new = lesson.lacks - self._ability.lacks
        if new:
            self._ability = self._ability.without(lesson)
            log.info("%s does not understand %s", self._model_name, ", ".join(sorted(new)))
            if self._learned is not None:
                self._learned(new)

    def _measure(self, question: _Question, usage: RequestUsage | None) -> Json | None:
        """Notice a server that reads only part of what it is sent."""
        sent = estimate_tokens(len(question.content))
        if usage is None or not chunks.cut_short(sent, usage.input_tokens):
            return None
        if b'"image_url"' in question.content:
            # Pictures are long in letters and short in tokens.
            return None
        return Truncation(sent, usage.input_tokens).details()

    def _refusal(self, status: int, text: str, headers: Mapping[str, str]) -> ModelHTTPError:
        code = None
        try:
            said = chunks.parse(text, self._model_name)
            body: object = chunks.error_text(said)
            code = chunks.error_code(said)
        except ModelAPIError:
            body = text[:500]
        return ModelHTTPError(
            status, self._model_name, body, headers=headers, provider_error_code=code
        )

    def _read(self, body: Json, question: _Question) -> ModelResponse:
        if body.get("error"):
            raise ModelAPIError(self._model_name, chunks.error_text(body))
        choices: list[Json] = body.get("choices") or []
        if not choices:
            raise ModelAPIError(self._model_name, "the server sent no answer")
        message: Json = choices[0].get("message") or {}
        reason = chunks.FINISH_REASONS.get(str(choices[0].get("finish_reason") or "stop"))
        parts = chunks.parts_of(message, question.holdback(), stopped=reason == "stop")
        usage = chunks.usage_of(body)
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
