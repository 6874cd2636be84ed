"""The model in the box, with real weights. Shapes are checked, never wording."""

import asyncio
import urllib.error
import urllib.request

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelRequest,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from long_running_agents.errors import CorruptData
from long_running_agents.models.local.backends import LlamaEngine
from long_running_agents.models.local.engine import (
    ContextExceeded,
    Finished,
    LocalPrompt,
    PlainMessage,
    Sampling,
    TextPiece,
)
from long_running_agents.models.local.model import LocalModel
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio

GREEDY = ModelSettings(temperature=0.0, max_tokens=16)
GO = [ModelRequest.user_text_prompt("Say hi.")]
NO_TOOLS = ModelRequestParameters()
WEATHER = ToolDefinition(
    name="get_weather",
    description="Get the weather.",
    parameters_json_schema={
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 20},
            "unit": {"$ref": "#/$defs/Unit"},
            "days": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        },
        "required": ["city", "unit"],
        "$defs": {"Unit": {"enum": ["celsius", "fahrenheit"], "title": "Unit", "type": "string"}},
    },
)
MUST_CALL = ModelRequestParameters(
    function_tools=[WEATHER], allow_text_output=False, output_mode="tool"
)


def asked(text, **sampling):
    return LocalPrompt(
        messages=(PlainMessage("user", text),),
        sampling=Sampling(**{"max_tokens": 16, "temperature": 0.0, **sampling}),
    )


async def test_a_streamed_answer_is_the_answer(engine):
    model = LocalModel(engine)
    whole = await model.request(GO, GREEDY, NO_TOOLS)
    heard = []
    async with model.request_stream(GO, GREEDY, NO_TOOLS) as stream:
        async for event in stream:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    heard.append(text)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    heard.append(text)
    [part] = whole.parts

    assert len(heard) > 1
    assert "".join(heard) == part.content != ""
    assert whole.model_name == "local:smollm2-135m"
    assert whole.provider_name == "local"


async def test_an_answer_says_what_it_took_and_why_it_ended(engine):
    response = await LocalModel(engine).request(GO, {**GREEDY, "max_tokens": 3}, NO_TOOLS)

    assert response.finish_reason == "length"
    assert response.usage.output_tokens == 3
    assert response.usage.input_tokens > 5


async def test_a_prompt_that_was_read_before_is_not_read_again(engine):
    prompt = asked("Name three colours of the rainbow, please.", max_tokens=2)
    await anext(engine.stream(prompt))
    ends = [piece async for piece in engine.stream(prompt) if isinstance(piece, Finished)]

    assert 0 < ends[0].cached_tokens <= ends[0].prompt_tokens


async def test_a_forced_call_satisfies_its_schema(engine):
    response = await LocalModel(engine).request(
        GO, ModelSettings(temperature=0.0, max_tokens=120), MUST_CALL
    )
    [call] = response.parts

    assert isinstance(call, ToolCallPart)
    assert call.tool_name == "get_weather"
    arguments = call.args_as_dict()
    assert {"city", "unit"} <= set(arguments) <= {"city", "unit", "days"}
    assert isinstance(arguments["city"], str)
    assert len(arguments["city"]) <= 20
    assert arguments["unit"] in ("celsius", "fahrenheit")
    assert response.finish_reason == "tool_call"


async def test_a_choice_ends_in_words_or_in_a_whole_call(engine):
    parameters = ModelRequestParameters(function_tools=[WEATHER])
    response = await LocalModel(engine).request(
        GO, ModelSettings(temperature=0.0, max_tokens=120), parameters
    )

    for part in response.parts:
        assert isinstance(part, TextPart) or part.args_as_dict()["unit"]
    assert response.usage.output_tokens > 0


async def test_half_a_call_is_no_call(engine):
    response = await LocalModel(engine).request(
        GO, ModelSettings(temperature=0.0, max_tokens=4), MUST_CALL
    )

    assert response.parts == []
    assert response.finish_reason == "length"


async def test_a_conversation_that_does_not_fit_is_refused(engine):
    long = [ModelRequest.user_text_prompt("many words " * engine.context)]

    with pytest.raises(ModelHTTPError) as refused:
        await LocalModel(engine).request(long, GREEDY, NO_TOOLS)

    assert refused.value.status_code == 400
    assert refused.value.body["code"] == "context_length_exceeded"


class Watched:
    """A loaded model whose work can be watched from outside."""

    def __init__(self, server):
        self._server = server
        self._loop = asyncio.get_running_loop()
        self.listening_address = server.listening_address
        self.begun = asyncio.Event()
        self.words = []

    def handle_chat_completions(self, request, callback):
        words = 0

        def watch(chunk):
            nonlocal words
            words += any(choice["delta"].get("content") for choice in chunk["choices"])
            self._loop.call_soon_threadsafe(self.begun.set)
            return callback(chunk)

        self._server.handle_chat_completions(request, watch)
        self.words.append(words)


@pytest.fixture
async def watched(engine):
    assert [piece async for piece in engine.stream(asked("wake up", max_tokens=1))]
    server = engine._held
    engine._held = Watched(server)
    yield engine._held
    engine._held = server


async def test_a_stream_that_is_left_stops_the_work(engine, watched):
    stream = engine.stream(asked("Tell me a long story.", max_tokens=600))
    first = await anext(stream)
    await stream.aclose()
    after = [piece async for piece in engine.stream(asked("Hi.", max_tokens=2))]

    assert isinstance(first, TextPiece)
    assert isinstance(after[-1], Finished)
    assert 1 <= watched.words[0] < 300


async def test_a_prompt_can_be_left_while_it_is_still_being_read(engine, watched):
    stream = engine.stream(asked("once upon a time there was " * 120, max_tokens=2))
    task = asyncio.ensure_future(anext(stream))
    await watched.begun.wait()
    task.cancel()
    await asyncio.wait([task])
    after = [piece async for piece in engine.stream(asked("Hi.", max_tokens=2))]

    assert isinstance(after[-1], Finished)
    assert watched.words[0] == 0


async def test_the_librarys_own_listener_lets_nobody_in(engine):
    assert [piece async for piece in engine.stream(asked("wake up", max_tokens=1))]
    body = b'{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}'
    request = urllib.request.Request(f"{engine._held.listening_address}/v1/chat/completions", body)

    with pytest.raises(urllib.error.HTTPError, match="401"):
        await asyncio.to_thread(urllib.request.urlopen, request)


async def test_an_idle_engine_lets_go_of_its_memory_and_comes_back(smollm):
    clock = FrozenClock()
    engine = LlamaEngine(smollm, context=256, threads=1, idle_after=60, clock=clock)
    assert not engine.loaded
    before = [piece async for piece in engine.stream(asked("Hi.", max_tokens=2))]
    assert engine.loaded
    resting = engine._resting
    await clock.advance(61)
    await resting
    assert not engine.loaded
    after = [piece async for piece in engine.stream(asked("Hi.", max_tokens=2))]
    await engine.unload()

    assert isinstance(before[-1], Finished)
    assert isinstance(after[-1], Finished)


async def test_a_file_that_holds_no_weights_is_called_broken(tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF, or is it?" * 100)
    engine = LlamaEngine(tmp_path / "broken.gguf", idle_after=None)

    with pytest.raises(CorruptData, match=r"broken\.gguf"):
        await anext(engine.stream(asked("Hi.")))


async def test_a_context_too_small_is_an_error_of_the_engine_too(smollm):
    engine = LlamaEngine(smollm, context=256, threads=1, idle_after=None)

    with pytest.raises(ContextExceeded) as refused:
        await anext(engine.stream(asked("word " * 400)))
    await engine.unload()
    assert refused.value.context == 256
    assert refused.value.tokens > 256
