"""OpenAI's own client asks for answers in a form: `parse()`, JSON mode, a tool to be called."""

import asyncio
import json

import openai
import pytest
from pydantic import BaseModel
from tests.contract.serving import serving
from tests.contract.test_openai_client import TOOL, talking, user
from tests.integration.stories import SESSION

from long_running_agents.agent import transcript
from long_running_agents.domain.turn import AnswerForm, ClientRequest, Terms, TurnStatus
from long_running_agents.testing import Rule, ScriptedModel, ToolCall, calls, hang, make_app, say

pytestmark = pytest.mark.anyio


class Place(BaseModel):
    name: str
    format: str


class Trip(BaseModel):
    title: str
    days: int
    places: list[Place]


GOOD = json.dumps({"title": "Wales", "days": 2, "places": [{"name": "Bangor", "format": "town"}]})
WRONG = json.dumps({"title": "Wales", "days": "two", "places": [{"name": "Bangor"}]})


async def parsed(client, *, stream=False):
    asked = {"model": "lra", "messages": [user("Plan a trip")], "response_format": Trip}
    if not stream:
        return await client.chat.completions.parse(**asked)
    async with client.chat.completions.stream(**asked) as events:
        return await events.get_final_completion()


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_fits_the_schema(tmp_path, stream):
    async with talking(tmp_path, say(f"```json\n{GOOD}\n```")) as (_, model, client):
        done = await parsed(client, stream=stream)
        told = model.requests[0][-1].instructions
    [choice] = done.choices
    assert choice.message.parsed == Trip.model_validate_json(GOOD)
    assert (choice.message.content, choice.finish_reason) == (GOOD, "stop")
    assert '"days"' in told


@pytest.mark.parametrize("stream", [False, True])
async def test_a_wrong_answer_is_asked_for_once_more(tmp_path, stream):
    async with talking(tmp_path, say(WRONG), say(GOOD)) as (_, model, client):
        done = await parsed(client, stream=stream)
        feedback = model.requests[1][-1].parts[-1].content
    assert done.choices[0].message.parsed.days == 2
    assert done.choices[0].message.content == GOOD
    assert "days: 'two' is not of type 'integer'" in feedback
    assert "'format' is a required property" in feedback
    assert model.tools_offered[1] == []


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_stays_wrong_is_an_error(tmp_path, stream):
    async with talking(tmp_path, say("Gladly! Where to?"), say(WRONG)) as (_, model, client):
        with pytest.raises(openai.APIStatusError) as refused:
            await parsed(client, stream=stream)
    assert (refused.value.status_code, refused.value.code) == (502, "bad_answer")
    assert "days" in refused.value.message
    assert len(model.requests) == 2


async def test_words_beside_the_work_are_not_in_the_answer(tmp_path):
    replies = (
        say("Let me note that.", calls=(ToolCall("create_task", {"title": "x"}),)),
        say(GOOD),
    )
    async with talking(tmp_path, *replies) as (_, _, client):
        done = await parsed(client)
    assert done.choices[0].message.content == GOOD


@pytest.mark.parametrize("stream", [False, True])
async def test_json_mode(tmp_path, stream):
    async with talking(tmp_path, say("[1]"), say('{"answer": 42}')) as (_, _, client):
        done = await client.chat.completions.create(
            model="lra",
            messages=[user("Say it in JSON")],
            response_format={"type": "json_object"},
            stream=stream,
        )
        if stream:
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in done])
        else:
            text = done.choices[0].message.content
    assert json.loads(text) == {"answer": 42}


@pytest.mark.parametrize("stream", [False, True])
async def test_responses_are_parsed_too(tmp_path, stream):
    async with talking(tmp_path, say(WRONG), say(GOOD)) as (_, _, client):
        asked = {"model": "lra", "input": "Plan a trip", "text_format": Trip}
        if stream:
            async with client.responses.stream(**asked) as events:
                done = await events.get_final_response()
        else:
            done = await client.responses.parse(**asked)
        again = await client.responses.retrieve(done.id)
    assert done.output_parsed == Trip.model_validate_json(GOOD)
    assert done.text.format.type == "json_schema"
    assert again.output_text == GOOD


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"type": "yaml"}, "not 'yaml'"),
        ({"type": "json_schema"}, "valid dictionary"),
        ({"type": "json_schema", "json_schema": {"schema": {"type": 7}}}, "no JSON Schema"),
        ({"type": "json_schema", "json_schema": {"schema": {"$ref": "http://x/y"}}}, "http://x/y"),
        ({"type": "json_schema", "json_schema": {"schema": {"title": "x" * 70_000}}}, "too long"),
    ],
)
async def test_a_form_that_nobody_can_check_is_refused(tmp_path, form, said):
    async with talking(tmp_path) as (_, model, client):
        with pytest.raises(openai.BadRequestError, match=said):
            await client.chat.completions.create(
                model="lra", messages=[user("x")], response_format=form
            )
    assert model.requests == []


async def test_a_tool_that_must_be_called_is_called(tmp_path):
    replies = say("It rains."), calls(ToolCall("look", {"where": "out"}, id="c1")), say("Done.")
    choice = {"type": "function", "function": {"name": "look"}}
    messages = [user("How is it outside?")]
    async with talking(tmp_path, *replies) as (_, model, client):
        create = client.chat.completions.create
        first = await create(model="lra", messages=messages, tools=[TOOL], tool_choice=choice)
        [made] = first.choices[0].message.tool_calls
        messages += [
            first.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": "c1", "content": "drops"},
        ]
        second = await create(model="lra", messages=messages, tools=[TOOL])
    assert made.function.name == "look"
    assert model.tools_offered[1] == ["look"]
    assert second.choices[0].message.content == "Done."


@pytest.mark.usefixtures("model_requests")
async def test_the_servers_own_check_is_asked_for_when_only_the_form_is_left_to_do(tmp_path):
    script = Rule("not in the form", (say(GOOD),)), Rule("", (say(WRONG),))
    async with serving(*script) as (server, model):
        async with talking(tmp_path, model=model) as (_, _, client):
            done = await parsed(client)
        first, second = server.requests
    assert done.choices[0].message.content == GOOD
    assert "tools" in first
    assert "response_format" not in first
    assert second["response_format"]["json_schema"]["schema"]["title"] == "Trip"
    assert "tools" not in second


async def test_a_wrong_answer_is_mended_after_a_restart(tmp_path):
    form = AnswerForm(json=True, schema=Trip.model_json_schema())
    terms = Terms(client_tools=ClientRequest(form=form).to_json())
    model = ScriptedModel([say(WRONG), hang()])
    async with make_app(tmp_path, model=model) as app:
        turn = await app.turns.start(SESSION, "Plan a trip", terms=terms)
        while len(model.requests) < 2:  # noqa: ASYNC110 - the model has no bell
            await asyncio.sleep(0.001)
    async with make_app(tmp_path, model=ScriptedModel([say(GOOD)])) as app:
        ended = await app.turns.settled(turn.id)
        said = transcript.said(await app.sessions.log(SESSION))
    assert (ended.status, ended.answer) == (TurnStatus.DONE, GOOD)
    assert [each.role for each in said] == ["user", "assistant", "system", "assistant"]
