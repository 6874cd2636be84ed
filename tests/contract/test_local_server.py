"""The native model server, asked by the official client."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2
import openai
import pytest
from tests.unit.models.local.scripted_engine import ScriptedEngine

from long_running_agents.errors import Unavailable, UsageError
from long_running_agents.models.local import server

pytestmark = pytest.mark.anyio

HI = [{"role": "user", "content": "Say hi."}]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 20}},
            "required": ["city"],
        },
    },
}


@asynccontextmanager
async def serving(engine, key=None):
    """The server at a free port, and a client for it."""
    address = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(server.serve(engine, "127.0.0.1", 0, key, ready=address.set_result))
    done, _ = await asyncio.wait({task, address}, return_when=asyncio.FIRST_COMPLETED)
    assert address in done, task.result()
    async with openai.AsyncOpenAI(
        base_url=address.result(), api_key=key or "none", max_retries=0, timeout=60
    ) as client:
        yield client
    task.cancel()
    await asyncio.wait([task])


@pytest.fixture
async def client(engine):
    async with serving(engine) as client:
        yield client


async def test_the_model_is_listed(client, engine):
    models = [model async for model in client.models.list()]

    assert [model.id for model in models] == [engine.name]


async def test_chat_streams_what_it_would_have_said_at_once(client, engine):
    asked = {"model": engine.name, "messages": HI, "max_tokens": 12, "temperature": 0}
    whole = await client.chat.completions.create(**asked)
    stream = await client.chat.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    words = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]

    assert len([word for word in words if word]) > 1
    assert "".join(words) == whole.choices[0].message.content != ""
    assert whole.choices[0].finish_reason in ("stop", "length")
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens > 0
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens


async def test_a_required_tool_is_called(client, engine):
    asked = {
        "model": engine.name,
        "messages": HI,
        "tools": [TOOL],
        "tool_choice": "required",
        "temperature": 0,
    }
    whole = await client.chat.completions.create(**asked)
    [call] = whole.choices[0].message.tool_calls
    stream = await client.chat.completions.create(**asked, stream=True)
    chunks = [chunk async for chunk in stream]
    [piece] = [p for c in chunks for p in c.choices[0].delta.tool_calls or []]

    assert whole.choices[0].finish_reason == "tool_calls"
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert call.function.name == piece.function.name == "get_weather"
    assert call.id
    assert piece.id
    assert call.id != piece.id
    assert piece.index == 0
    assert json.loads(call.function.arguments) == json.loads(piece.function.arguments)
    assert set(json.loads(call.function.arguments)) == {"city"}


async def test_a_schema_for_the_answer_is_kept_to(client, engine):
    schema = {
        "type": "object",
        "properties": {"mood": {"enum": ["good", "bad"]}},
        "required": ["mood"],
        "additionalProperties": False,
    }
    answer = await client.chat.completions.create(
        model=engine.name,
        messages=HI,
        temperature=0,
        response_format={"type": "json_schema", "json_schema": {"name": "m", "schema": schema}},
    )

    assert json.loads(answer.choices[0].message.content)["mood"] in ("good", "bad")


@pytest.mark.parametrize("stream", [False, True])
async def test_too_long_a_conversation_has_the_code_that_clients_look_for(client, engine, stream):
    with pytest.raises(openai.BadRequestError) as refused:
        await client.chat.completions.create(
            model=engine.name,
            messages=[{"role": "user", "content": "many words " * engine.context}],
            stream=stream,
        )

    assert refused.value.code == "context_length_exceeded"
    assert refused.value.type == "invalid_request_error"


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": []},
        {"messages": [{"role": "wizard", "content": "?"}]},
        {"messages": HI, "tool_choice": "required"},
        {"messages": HI, "tools": [TOOL], "tool_choice": {"function": {"name": "other"}}},
        {"messages": HI, "n": 3},
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(wrong):
    async with serving(ScriptedEngine()) as client:
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(model="m", **wrong)


async def test_a_key_is_asked_for():
    async with serving(ScriptedEngine("one two"), key="secret") as client:
        answer = await client.chat.completions.create(model="m", messages=HI)
        with pytest.raises(openai.AuthenticationError):
            await client.with_options(api_key="guess").chat.completions.create(
                model="m", messages=HI
            )
        with pytest.raises(openai.AuthenticationError):
            await client.with_options(api_key="guess").models.list()

    assert answer.choices[0].message.content == "one two"


@pytest.mark.parametrize("headers", [{"Origin": "https://example.com"}, {"Host": "example.com"}])
async def test_a_page_in_a_browser_cannot_use_a_server_without_a_key(headers):
    async with serving(ScriptedEngine("secret")) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.chat.completions.create(model="m", messages=HI, extra_headers=headers)


async def test_a_full_queue_says_when_to_come_back():
    gate = asyncio.Event()
    engine = ScriptedEngine(*["yes"] * (server.QUEUE + 1), gate=gate)
    async with serving(engine) as client, httpx2.AsyncClient(timeout=300) as raw:
        waiting = [
            asyncio.ensure_future(client.chat.completions.create(model="m", messages=HI))
            for _ in range(server.QUEUE + 1)
        ]
        health = str(client.base_url).replace("/v1/", "/health")
        async with asyncio.timeout(200):
            while (await raw.get(health)).json()["waiting"] < server.QUEUE:
                pass
        with pytest.raises(openai.RateLimitError) as full:
            await client.chat.completions.create(model="m", messages=HI)
        gate.set()
        answers = await asyncio.gather(*waiting)

    assert int(full.value.response.headers["Retry-After"]) > 0
    assert full.value.code == "rate_limit_exceeded"
    assert {answer.choices[0].message.content for answer in answers} == {"yes"}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_stops_the_work(stream):
    gate = asyncio.Event()
    engine = ScriptedEngine("never heard", "heard", gate=gate)
    async with serving(engine) as client:
        asking = asyncio.ensure_future(
            client.chat.completions.create(model="m", messages=HI, stream=stream)
        )
        await engine.asked.wait()
        asking.cancel()
        async with asyncio.timeout(200):
            await engine.stopped.wait()
        gate.set()
        engine._texts.pop(0)
        after = await client.chat.completions.create(model="m", messages=HI)

    assert after.choices[0].message.content == "heard"
    assert engine.unloaded


async def test_an_engine_that_is_not_set_up_says_what_to_do():
    missing = Unavailable("No weights.", hint="Pull them.")
    async with serving(ScriptedEngine(missing)) as client:
        with pytest.raises(openai.InternalServerError) as failed:
            await client.chat.completions.create(model="m", messages=HI)

    assert failed.value.status_code == 503
    assert "Pull them." in str(failed.value)


async def test_what_is_not_there_is_said_in_the_words_of_the_protocol():
    async with serving(ScriptedEngine()) as client:
        with pytest.raises(openai.NotFoundError):
            await client.embeddings.create(model="m", input="x")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
async def test_nothing_listens_beyond_loopback_without_a_key(host):
    with pytest.raises(UsageError, match="no key"):
        await server.serve(ScriptedEngine(), host, 0, None)


async def test_a_port_in_use_is_an_error_for_people():
    async with serving(ScriptedEngine()) as client:
        port = client.base_url.port
        with pytest.raises(Unavailable, match=str(port)):
            await server.serve(ScriptedEngine(), "127.0.0.1", port, None)
