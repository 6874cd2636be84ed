"""A model learns from refusals what its server can do, once, and says so."""

import asyncio
from dataclasses import replace

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ImageUrl,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from tests.contract.serving import BOTH_WAYS, GO, ask, run, serving, told

from long_running_agents.models.factory import PriceList
from long_running_agents.models.quirks import ALL, Capabilities
from long_running_agents.models.retry import taken
from long_running_agents.testing import Quirk, Rule, call, fail, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]


class Size(BaseModel):
    n: int


class Box(BaseModel):
    inner: Size
    outer: Size | None = None


def user(text):
    return ModelRequest(parts=[UserPromptPart(text)])


def said(text):
    return ModelResponse(parts=[TextPart(text)])


LOOKED = ModelResponse(parts=[ToolCallPart("look", "{}", tool_call_id="c1")])
SEEN = ToolReturnPart("look", "seen", tool_call_id="c1")
SYSTEM = ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("go")])
HURRY = ModelRequest(parts=[SystemPromptPart("Hurry."), UserPromptPart("go")])

LESSONS = {
    Quirk.TOOLS_REFUSED: ("native_tools", GO),
    Quirk.AUTO_CHOICE_IMPLIED: ("native_tools", GO),
    Quirk.NO_SYSTEM_ROLE: ("system_role", [SYSTEM]),
    Quirk.ONE_SYSTEM_MESSAGE: ("later_system", [SYSTEM, said("Yes?"), HURRY]),
    Quirk.STRICT_ROLES: ("free_roles", [*GO, *GO]),
}


@pytest.mark.parametrize(("quirk", "lesson"), LESSONS.items(), ids=LESSONS.keys())
@BOTH_WAYS
async def test_a_refusal_is_learned_from_once(quirk, lesson, stream):
    lacking, messages = lesson
    learned = []
    async with serving(say("ok"), quirks={quirk}, learned=learned.append) as (server, model):
        first = await ask(model, stream=stream, messages=messages)
        second = await ask(model, stream=stream, messages=messages)

    assert told(first)[1] == told(second)[1] == "ok"
    assert learned == [frozenset({lacking})]
    assert model.ability == replace(ALL, **{lacking: False})
    assert len(server.requests) == 3


@pytest.mark.parametrize(("quirk", "lesson"), LESSONS.items(), ids=LESSONS.keys())
@BOTH_WAYS
async def test_what_is_known_beforehand_is_not_tried(quirk, lesson, stream):
    lacking, messages = lesson
    known = Capabilities(**{lacking: False})
    async with serving(say("ok"), quirks={quirk}, ability=known) as (server, model):
        await ask(model, stream=stream, messages=messages)

    assert len(server.requests) == 1


async def test_requests_under_way_together_all_come_through():
    async with serving(say("ok"), quirks={Quirk.TOOLS_REFUSED}) as (server, model):
        answers = await asyncio.gather(*(ask(model, stream=True) for _ in range(5)))

    assert [told(answer)[1] for answer in answers] == ["ok"] * 5
    assert len(server.requests) <= 10


@BOTH_WAYS
async def test_a_refusal_that_teaches_nothing_is_raised(stream):
    async with serving(fail(400, message="Unknown field.", times=None)) as (server, model):
        with pytest.raises(ModelHTTPError, match="Unknown field"):
            await ask(model, stream=stream)

    assert len(server.requests) == 1
    assert model.ability == ALL


@BOTH_WAYS
async def test_a_server_that_refuses_for_ever_is_given_up(stream):
    refusing = fail(400, message="This model does not support tools.", times=None)
    async with serving(refusing) as (server, model):
        with pytest.raises(ModelHTTPError):
            await ask(model, stream=stream)

    assert len(server.requests) == 2


HISTORIES = {
    "two questions": [user("a"), user("b")],
    "an answer first": [said("Hello."), user("a")],
    "an answer last": [user("a"), said("So.")],
    "two answers": [user("a"), said("b"), said("c"), user("d")],
    "words after a result": [user("a"), LOOKED, ModelRequest(parts=[SEEN, UserPromptPart("b")])],
    "a call without a result": [user("a"), LOOKED, user("b")],
    "a call at the end": [user("a"), LOOKED],
    "an empty answer at the end": [user("a"), said("")],
    "a blank answer at the end": [user("a"), said(" \n")],
    "a picture": [user("a"), user(["b", ImageUrl(url="https://example.com/x.png")])],
    "late instructions": [user("a"), said("b"), HURRY],
}
STRICT = [
    {Quirk.STRICT_ROLES},
    {Quirk.UNANSWERED_CALL_REFUSED},
    {Quirk.EMPTY_ASSISTANT_REFUSED},
    {Quirk.STRICT_ROLES, Quirk.UNANSWERED_CALL_REFUSED, Quirk.ONE_SYSTEM_MESSAGE},
    {Quirk.STRICT_ROLES, Quirk.NO_SYSTEM_ROLE, Quirk.EMPTY_ASSISTANT_REFUSED},
    {Quirk.TOOLS_REFUSED, Quirk.STRICT_ROLES, Quirk.UNANSWERED_CALL_REFUSED},
]


@pytest.mark.parametrize("quirks", STRICT, ids=sorted)
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES.keys())
@BOTH_WAYS
async def test_every_history_is_put_into_an_order_that_is_accepted(history, quirks, stream):
    async with serving(say("ok"), quirks=quirks) as (_, model):
        assert told(await ask(model, stream=stream, messages=history))[1] == "ok"


async def test_nothing_that_was_said_is_lost_on_the_way():
    quirks = {Quirk.STRICT_ROLES, Quirk.NO_SYSTEM_ROLE, Quirk.TOOLS_REFUSED}
    history = [SYSTEM, LOOKED, ModelRequest(parts=[SEEN, UserPromptPart("why?")]), HURRY]
    async with serving(say("ok"), quirks=quirks) as (server, model):
        await ask(model, stream=False, messages=history)

    sent = str(server.requests[-1]["messages"])
    words = ("Be brief.", "look", "seen", "why?", "Hurry.")
    assert [word for word in words if word not in sent] == []


@BOTH_WAYS
async def test_a_choice_that_cannot_be_forced_is_asked_for(stream):
    quirks = {Quirk.REQUIRED_CHOICE_REFUSED}
    async with serving(call("final_result", n=4), quirks=quirks) as (server, model):
        result = await run(Agent(model, output_type=Size), stream=stream)

    assert result.output == Size(n=4)
    assert ["tool_choice" in sent for sent in server.requests] == [True, False]
    assert model.ability == Capabilities(tool_choice=False)


@BOTH_WAYS
async def test_schemas_are_simplified_where_they_are_not_understood(stream):
    quirks = {Quirk.SCHEMA_KEYWORDS_REFUSED}
    async with serving(call("final_result", inner={"n": 4}), quirks=quirks) as (server, model):
        result = await run(Agent(model, output_type=Box), stream=stream)

    assert result.output == Box(inner=Size(n=4))
    assert "$ref" in str(server.requests[0]["tools"])
    assert "$ref" not in str(server.requests[-1]["tools"])
    assert model.ability == Capabilities(hard_schemas=False)


@BOTH_WAYS
async def test_a_schema_that_is_not_enforced_is_read_and_checked_all_the_same(stream):
    script = (Rule("go", (say('{"n": "many"}'),)), Rule("", (say('{"n": 4}'),)))
    async with serving(*script, quirks={Quirk.SCHEMA_NOT_ENFORCED}) as (server, model):
        result = await run(Agent(model, output_type=NativeOutput(Size)), stream=stream)

    assert result.output == Size(n=4)
    assert len(server.requests) == 2
    assert server.requests[0]["response_format"]["json_schema"]["name"] == "Size"


@BOTH_WAYS
async def test_a_schema_that_is_refused_is_told_in_words(stream):
    refusing = fail(400, message="response_format is not supported")
    async with serving(refusing, say('{"n": 4}')) as (server, model):
        result = await run(Agent(model, output_type=NativeOutput(Size)), stream=stream)

    assert result.output == Size(n=4)
    assert "response_format" not in server.requests[-1]
    assert '"n"' in server.requests[-1]["messages"][0]["content"]


@BOTH_WAYS
async def test_a_server_that_cuts_off_the_start_is_noticed(stream):
    long = [user("x " * 20_000)]
    async with serving(say("ok"), quirks={Quirk.SILENT_TRUNCATION}) as (_, model):
        short = await ask(model, stream=stream, messages=GO)
        cut = await ask(model, stream=stream, messages=long)

    assert taken(short) == (short, None)
    response, truncation = taken(cut)
    assert (truncation.sent > 10_000, truncation.read) == (True, 4096)
    assert response.provider_details is None
    assert taken(response) == (response, None)


@BOTH_WAYS
async def test_a_long_history_that_is_read_whole_is_not_suspected(stream):
    async with serving(say("ok")) as (_, model):
        response = await ask(model, stream=stream, messages=[user("x " * 20_000)])

    assert taken(response) == (response, None)


async def test_calls_that_a_stream_leaves_out_are_asked_for_without_one():
    learned = []
    quirks = {Quirk.NO_STREAMED_CALLS}
    async with serving(call("look", at="x"), quirks=quirks, learned=learned.append) as (
        server,
        model,
    ):
        first = await ask(model, stream=True)
        second = await ask(model, stream=True)

    assert told(first)[2] == told(second)[2] == [("look", {"at": "x"})]
    assert [sent.get("stream", False) for sent in server.requests] == [True, False, False]
    assert learned == [frozenset({"streamed_calls"})]
    assert first.usage.output_tokens > 0


REFUSED_STREAMS = {
    "Cannot use tools with stream": "streamed_calls",
    "Streaming is not supported by this model.": "streaming",
}


@pytest.mark.parametrize(("words", "lacking"), REFUSED_STREAMS.items())
async def test_a_stream_that_is_refused_is_asked_for_as_a_whole(words, lacking):
    async with serving(fail(400, message=words), say("ok")) as (server, model):
        first, second = [await ask(model, stream=True) for _ in range(2)]

    assert told(first)[1] == told(second)[1] == "ok"
    assert [sent.get("stream", False) for sent in server.requests] == [True, False, False]
    assert model.ability.lacks == {lacking}


async def test_a_server_that_does_not_know_how_to_ask_for_usage_is_not_asked():
    refusing = fail(400, message="stream_options: Extra inputs are not permitted")
    async with serving(refusing, say("ok")) as (server, model):
        assert told(await ask(model, stream=True))[1] == "ok"

    assert ["stream_options" in sent for sent in server.requests] == [True, False]
    assert server.requests[-1]["stream"] is True


@BOTH_WAYS
async def test_usage_that_is_not_reported_is_estimated_and_marked(stream):
    async with serving(say("One two three."), quirks={Quirk.NO_USAGE}) as (_, model):
        response = await ask(model, stream=stream)
    usage = PriceList().usage_of(response, GO)

    assert usage.estimated
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0
