"""OpenAI's own client talks to the agent."""

from contextlib import asynccontextmanager

import openai
import pytest
from tests.integration.server.serving import served

from long_running_agents.testing import ScriptedModel, ToolCall, call, calls, cut, fail, say

pytestmark = pytest.mark.anyio

TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look out of the window.",
        "parameters": {"type": "object", "properties": {"where": {"type": "string"}}},
    },
}


@asynccontextmanager
async def talking(home, *replies, **options):
    """A served home, its model, and OpenAI's client for it."""
    model = options.pop("model", None) or ScriptedModel(list(replies))
    async with (
        served(home, model=model, **options) as (app, http),
        openai.AsyncOpenAI(base_url=str(http.base_url.join("/v1")), api_key="none") as client,
    ):
        yield app, model, client


def user(text):
    return {"role": "user", "content": text}


async def test_a_completion(tmp_path):
    async with talking(tmp_path, say("Good day.", input_tokens=7, output_tokens=3)) as (
        app,
        _,
        client,
    ):
        done = await client.chat.completions.create(model="lra", messages=[user("Hello")])
        [choice] = done.choices
        assert (choice.message.content, choice.finish_reason) == ("Good day.", "stop")
        assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (7, 3)
        assert (done.model, done.object) == ("lra", "chat.completion")
        [preview] = await app.sessions.previews()
        assert preview.session.title == "Hello"


async def test_a_stream_word_by_word_with_usage(tmp_path):
    async with talking(tmp_path, say("One two three.", output_tokens=5)) as (_, _, client):
        stream = await client.chat.completions.create(
            model="lra",
            messages=[user("Count")],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    words = [each.choices[0].delta.content or "" for each in chunks if each.choices]
    assert "".join(words) == "One two three."
    assert len([word for word in words if word]) == 3
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.completion_tokens == 5


async def test_tools_go_round(tmp_path):
    replies = calls(ToolCall("look", {"where": "out"}, id="c1")), say("It rains.")
    async with talking(tmp_path, *replies) as (app, model, client):
        messages = [user("How is it outside?")]
        first = await client.chat.completions.create(model="lra", messages=messages, tools=[TOOL])
        [choice] = first.choices
        assert choice.finish_reason == "tool_calls"
        [made] = choice.message.tool_calls
        assert (made.id, made.function.name, made.function.arguments) == (
            "c1", "look", '{"where":"out"}',
        )  # fmt: skip
        messages += [
            choice.message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": "c1", "content": "drops"},
        ]
        second = await client.chat.completions.create(model="lra", messages=messages, tools=[TOOL])
        assert second.choices[0].message.content == "It rains."
        [preview] = await app.sessions.previews()
        assert preview.turns == 1
    assert model.requests[1][-1].parts[0].content == "drops"


async def test_streamed_tools_go_round(tmp_path):
    replies = say("Let me see.", calls=(ToolCall("look", {}, id="c1"),)), say("It rains.")
    async with (
        talking(tmp_path, *replies) as (_, _, client),
        client.chat.completions.stream(
            model="lra", messages=[user("Weather?")], tools=[TOOL]
        ) as stream,
    ):
        done = await stream.get_final_completion()
    assert done.choices[0].finish_reason == "tool_calls"
    assert done.choices[0].message.content == "Let me see."
    assert done.choices[0].message.tool_calls[0].function.name == "look"


async def test_models(tmp_path):
    async with talking(tmp_path, agent__name="Ada", agent__model__model_id="openai:gpt-5") as (
        _,
        _,
        client,
    ):
        listed = await client.models.list()
        agents = ["agent:coder", "agent:researcher", "agent:reviewer"]
        assert [model.id for model in listed.data] == ["Ada", "lra", "openai:gpt-5", *agents]
        assert (await client.models.retrieve("openai:gpt-5")).id == "openai:gpt-5"


async def test_errors_are_the_ones_the_client_knows(tmp_path):
    async with talking(tmp_path, fail(400, times=None)) as (_, _, client):
        create = client.chat.completions.create
        with pytest.raises(openai.NotFoundError) as missing:
            await create(model="gpt-99", messages=[user("x")])
        assert missing.value.code == "not_found"
        with pytest.raises(openai.BadRequestError) as wrong:
            await create(model="lra", messages=[user("x")], n=2)
        assert wrong.value.param == "n"
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,xx"}}
        with pytest.raises(openai.BadRequestError, match="not valid base64"):
            await create(model="lra", messages=[{"role": "user", "content": [picture]}])
        for stream in (False, True):
            with pytest.raises(openai.InternalServerError) as down:
                await create(model="lra", messages=[user("x")], stream=stream)
            assert (down.value.status_code, down.value.code) == (503, "model_unavailable")
            assert down.value.type == "server_error"


async def test_a_failure_inside_a_stream_is_raised(tmp_path):
    replies = cut(2, "Some words arrive."), fail(400, times=None)
    async with talking(tmp_path, *replies, agent__model__retries=1) as (_, _, client):
        stream = await client.chat.completions.create(
            model="lra", messages=[user("x")], stream=True
        )
        heard = [await anext(stream) for _ in range(3)]
        with pytest.raises(openai.APIError, match="No model answered"):
            await anext(stream)
    assert "".join(chunk.choices[0].delta.content for chunk in heard) == "Some words "


async def test_a_limit_is_length(tmp_path):
    replies = [call("create_task", title="x")] * 3
    async with talking(tmp_path, *replies, agent__max_loop_iterations=2) as (_, _, client):
        done = await client.chat.completions.create(model="lra", messages=[user("Go")])
    assert done.choices[0].finish_reason == "length"
    assert "I had to stop here" in done.choices[0].message.content
