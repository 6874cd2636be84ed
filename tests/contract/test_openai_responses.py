"""OpenAI's own client talks to the agent by the newer of its protocols."""

import openai
import pytest
from tests.contract.test_openai_client import talking

from long_running_agents.testing import ToolCall, calls, cut, fail, say

pytestmark = pytest.mark.anyio

TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {"where": {"type": "string"}}},
    "strict": False,
}


async def test_a_response_and_the_one_that_goes_on_from_it(tmp_path):
    async with talking(tmp_path, say("Good day.", output_tokens=4), say("As I said.")) as (
        app,
        model,
        client,
    ):
        first = await client.responses.create(model="lra", input="Hello", instructions="Be formal.")
        assert (first.output_text, first.status) == ("Good day.", "completed")
        assert first.usage.output_tokens == 4
        second = await client.responses.create(
            model="lra", input="What?", previous_response_id=first.id
        )
        assert second.output_text == "As I said."
        [preview] = await app.sessions.previews()
        assert preview.turns == 2
    assert model.requests[0][-1].instructions.endswith("Be formal.")
    assert "Be formal." not in model.requests[1][-1].instructions


async def test_going_on_from_an_older_response_begins_a_branch(tmp_path):
    async with talking(tmp_path, say("One."), say("Two."), say("Other.")) as (app, model, client):
        first = await client.responses.create(model="lra", input="1")
        await client.responses.create(model="lra", input="2", previous_response_id=first.id)
        await client.responses.create(model="lra", input="3", previous_response_id=first.id)
        assert len(await app.sessions.previews()) == 2
    assert "Two." not in str(model.requests[2])
    assert "One." in str(model.requests[2])


async def test_a_stream_of_events_in_order(tmp_path):
    async with talking(
        tmp_path, say("Let me see.", calls=(ToolCall("look", {"where": "out"}, id="c1"),), chunks=2)
    ) as (_, _, client):
        stream = await client.responses.create(
            model="lra", input="Weather?", tools=[TOOL], stream=True
        )
        events = [event async for event in stream]
    assert [event.type.removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    message, made = events[-1].response.output
    assert message.content[0].text == "Let me see."
    assert (made.name, made.arguments, made.call_id) == ("look", '{"where":"out"}', "c1")


@pytest.mark.parametrize("whole", [True, False], ids=["all-again", "by-id"])
async def test_tools_go_round(tmp_path, whole):
    replies = calls(ToolCall("look", {}, id="c1")), say("It rains.")
    async with talking(tmp_path, *replies) as (app, model, client):
        asked = [{"role": "user", "content": "Weather?"}]
        first = await client.responses.create(model="lra", input=asked, tools=[TOOL])
        [made] = first.output
        result = {"type": "function_call_output", "call_id": made.call_id, "output": "drops"}
        if whole:
            told = [made.model_dump(exclude_none=True), result]
            second = await client.responses.create(
                model="lra", input=[*asked, *told], tools=[TOOL], store=False
            )
        else:
            second = await client.responses.create(
                model="lra", input=[result], previous_response_id=first.id
            )
        assert second.output_text == "It rains."
        assert second.id != first.id
        [preview] = await app.sessions.previews()
        assert preview.turns == 1
    assert model.requests[1][-1].parts[0].content == "drops"


async def test_a_response_is_found_again(tmp_path):
    replies = say("I look.", calls=(ToolCall("look", {}, id="c1"),)), say("It rains.")
    async with talking(tmp_path, *replies) as (_, _, client):
        first = await client.responses.create(model="lra", input="Weather?", tools=[TOOL])
        result = {"type": "function_call_output", "call_id": "c1", "output": "drops"}
        second = await client.responses.create(
            model="lra", input=[result], previous_response_id=first.id
        )
        again = [await client.responses.retrieve(each.id) for each in (first, second)]
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve("resp_turn_0_0")
    assert [each.output for each in again] == [first.output, second.output]
    assert [each.status for each in again] == ["completed", "completed"]


async def test_a_failure_inside_a_stream_is_an_event(tmp_path):
    replies = cut(2, "Some words arrive."), fail(400, times=None)
    async with talking(tmp_path, *replies, agent__model__retries=1) as (_, _, client):
        stream = await client.responses.create(model="lra", input="x", stream=True)
        events = [event async for event in stream]
    assert events[-1].type == "response.failed"
    assert "No model answered" in events[-1].response.error.message


async def test_what_is_not_there_or_not_possible_is_said(tmp_path):
    async with talking(tmp_path) as (_, _, client):
        with pytest.raises(openai.NotFoundError):
            await client.responses.create(
                model="lra", input="x", previous_response_id="resp_turn_0_0"
            )
        with pytest.raises(openai.BadRequestError) as wrong:
            await client.responses.create(model="lra", input="x", background=True)
        assert wrong.value.param == "background"
        forged = {"type": "function_call_output", "call_id": "c1", "output": "x"}
        with pytest.raises(openai.BadRequestError, match="No turn waits"):
            await client.responses.create(model="lra", input=[forged])
