"""Our chat-completions model against a server that behaves, misbehaves and fails."""

import json
from contextlib import asynccontextmanager

import httpx2
import pytest
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import ModelResponse
from tests.contract.serving import BOTH_WAYS, GO, PARAMETERS, ask, serving, told

from long_running_agents.models.chat_completions import ChatCompletionsModel
from long_running_agents.testing import (
    Quirk,
    Reply,
    ToolCall,
    call,
    calls,
    cut,
    fail,
    garbage,
    hang,
    say,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

TWO_CALLS = calls(ToolCall("look", {"at": "ä", "n": [1]}, "c-1"), ToolCall("wait", {}, "c-2"))


REPLIES = {
    "text": say("Hello, wörld 🙂."),
    "thinking": say("Four.", thinking="Two and two."),
    "a call": call("look", at="x"),
    "parallel calls": TWO_CALLS,
    "the same call twice": calls(call("look"), call("look")),
    "all at once": Reply(text="Let me see.", thinking="Hm.", calls=TWO_CALLS.calls),
    "nothing": Reply(),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
@BOTH_WAYS
async def test_an_answer_arrives_as_it_was_given(reply, stream):
    async with serving(reply) as (_, model):
        response = await ask(model, stream=stream)

    assert told(response) == (
        reply.thinking,
        reply.text,
        [(item.tool, item.args) for item in reply.calls],
    )
    assert response.finish_reason == ("tool_call" if reply.calls else "stop")
    assert (response.model_name, response.provider_name) == ("scripted", "openai")


@BOTH_WAYS
async def test_call_ids_are_kept(stream):
    async with serving(TWO_CALLS) as (_, model):
        response = await ask(model, stream=stream)

    assert [part.tool_call_id for part in response.parts] == ["c-1", "c-2"]


@BOTH_WAYS
async def test_usage_is_what_the_server_reports(stream):
    async with serving(say("Hi.", input_tokens=70, output_tokens=3)) as (_, model):
        usage = (await ask(model, stream=stream)).usage

    assert (usage.input_tokens, usage.output_tokens) == (70, 3)
    assert usage.unmeasured_requests == 0


@BOTH_WAYS
async def test_usage_that_is_not_reported_is_missing_and_not_zero(stream):
    async with serving(say("Hi."), quirks={Quirk.NO_USAGE}) as (_, model):
        usage = (await ask(model, stream=stream)).usage

    assert (usage.input_tokens, usage.unmeasured_requests) == (0, 1)


async def test_words_are_heard_as_they_arrive():
    async with (
        serving(say("one two three")) as (_, model),
        model.request_stream(GO, None, PARAMETERS) as response,
    ):
        seen = [event async for event in response]

    assert len(seen) >= 3


@BOTH_WAYS
async def test_a_key_is_shown_and_a_wrong_one_refused(stream):
    async with serving(say("Hi."), require_key="secret", key="secret") as (_, model):
        assert told(await ask(model, stream=stream))[1] == "Hi."
    async with serving(say("Hi."), require_key="secret", key="wrong") as (_, model):
        with pytest.raises(ModelHTTPError, match="Incorrect API key") as refused:
            await ask(model, stream=stream)
        assert refused.value.status_code == 401


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
@BOTH_WAYS
async def test_an_http_error_says_status_words_and_when_to_come_back(status, stream):
    async with serving(fail(status, 7.0, "Too busy."), say("ok")) as (_, model):
        with pytest.raises(ModelHTTPError) as failed:
            await ask(model, stream=stream)

        assert (failed.value.status_code, failed.value.body) == (status, "Too busy.")
        assert failed.value.retry_after == 7.0
        assert told(await ask(model, stream=stream))[1] == "ok"


@pytest.mark.parametrize("after", [0, 1, 3])
@BOTH_WAYS
async def test_an_answer_that_breaks_off_is_no_answer(after, stream):
    async with serving(cut(after, "one two three"), say("ok")) as (_, model):
        with pytest.raises(ModelAPIError):
            await ask(model, stream=stream)

        assert told(await ask(model, stream=stream))[1] == "ok"


@BOTH_WAYS
async def test_an_answer_that_is_no_json_is_no_answer(stream):
    async with serving(garbage(), say("ok")) as (_, model):
        with pytest.raises(ModelAPIError, match="broken JSON"):
            await ask(model, stream=stream)

        assert told(await ask(model, stream=stream))[1] == "ok"


@BOTH_WAYS
async def test_a_server_that_says_nothing_is_given_up_in_time(stream):
    async with serving(hang(), say("ok"), patience=0.2) as (_, model):
        with pytest.raises(ModelAPIError, match="did not answer in time"):
            await ask(model, stream=stream)

        assert told(await ask(model, stream=stream))[1] == "ok"


@BOTH_WAYS
async def test_a_server_that_is_not_there_is_a_failed_connection(stream):
    async with serving(say("never heard")) as (server, model):
        await server.__aexit__(None, None, None)
        with pytest.raises(ModelAPIError, match="the connection failed"):
            await ask(model, stream=stream)


ODD_BODIES = {
    "no choices": ({"choices": []}, "instead of an answer"),
    "an error in a good status": ({"error": {"message": "overloaded"}}, "overloaded"),
    "an error that is text": ({"error": "overloaded"}, "overloaded"),
    "a list": ([1], "instead of an object"),
}


@asynccontextmanager
async def answering(respond):
    """A model whose network is a function."""
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond)) as client:
        yield ChatCompletionsModel("m", base_url="http://model.test/v1", client=client)


@pytest.mark.parametrize(("body", "words"), ODD_BODIES.values(), ids=ODD_BODIES.keys())
async def test_an_odd_body_is_a_failure(body, words):
    async with answering(lambda _: httpx2.Response(200, json=body)) as model:
        with pytest.raises(ModelAPIError, match=words):
            await ask(model, stream=False)


async def test_an_error_of_null_is_no_error():
    body = {"error": None, "choices": [{"message": {"content": "ok"}, "finish_reason": None}]}
    async with answering(lambda _: httpx2.Response(200, json=body)) as model:
        assert told(await ask(model, stream=False))[1] == "ok"


async def test_an_error_page_of_a_proxy_is_shown_shortened():
    page = "<html>" + "x" * 10_000
    async with answering(lambda _: httpx2.Response(502, text=page)) as model:
        with pytest.raises(ModelHTTPError) as failed:
            await ask(model, stream=True)

    assert failed.value.status_code == 502
    assert len(str(failed.value)) < 1000


async def test_the_name_of_the_answering_model_is_the_servers():
    body = {"model": "m-2026-01", "choices": [{"message": {"content": "ok"}}]}
    async with answering(lambda _: httpx2.Response(200, json=body)) as model:
        assert (await ask(model, stream=False)).model_name == "m-2026-01"


async def test_an_empty_answer_in_the_history_is_not_sent_back():
    history = [*GO, ModelResponse(parts=[]), *GO]
    async with serving(say("ok"), quirks={Quirk.EMPTY_ASSISTANT_REFUSED}) as (server, model):
        await ask(model, stream=True, messages=[*GO, ModelResponse(parts=[])])
        await ask(model, stream=True, messages=history)

    assert [[m["role"] for m in sent["messages"]] for sent in server.requests] == [
        ["user"], ["user", "user"],
    ]  # fmt: skip


async def test_a_request_body_is_what_the_protocol_says():
    async with serving(say("ok"), name="m-1") as (server, model):
        await ask(model, stream=True)

    [sent] = server.requests
    assert json.dumps(sent)
    assert (sent["model"], sent["stream"]) == ("m-1", True)
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["look", "wait"]
