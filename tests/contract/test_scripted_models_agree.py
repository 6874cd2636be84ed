import asyncio
import json

import httpx2
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelHTTPError,
    ModelRateLimitError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
)

from long_running_agents.testing import (
    FrozenClock,
    Reply,
    Rule,
    Script,
    ScriptedModel,
    ScriptedServer,
    ScriptUsedUpError,
    ToolCall,
    call,
    calls,
    cut,
    fail,
    garbage,
    hang,
    say,
)

pytestmark = pytest.mark.anyio

SCRIPTS = {
    "a text": (say("Hello, wörld."),),
    "a call": (call("look", where="up"), say("Stars.")),
    "parallel calls": (calls(call("look", where="up"), call("look", where="down")), say("Both.")),
    "text and thinking with a call": (
        Reply(
            text="Let me see.",
            thinking="Hm, up?",
            calls=(ToolCall("look", {"where": "up"}, "id-7"),),
        ),
        say("Stars.", thinking="Aha."),
    ),
    "several steps": (call("look", where="a"), call("look", where="b"), say("Done.")),
}


def look(where: str) -> str:
    return f"I see {where}."


async def through_agent(script, *, stream):
    """What the model said and asked for, step by step, in an agent."""
    agent = Agent(ScriptedModel(script), tools=[look])
    if stream:
        async with agent.run_stream_events("go") as events:
            async for _ in events:
                pass
        messages = events.all_messages()
    else:
        messages = (await agent.run("go")).all_messages()
    return [
        (
            "".join(part.content for part in message.parts if isinstance(part, ThinkingPart)),
            message.text or "",
            [
                (part.tool_name, part.args_as_dict())
                for part in message.parts
                if isinstance(part, ToolCallPart)
            ],
        )
        for message in messages
        if isinstance(message, ModelResponse)
    ]


async def through_http(script):
    """The same over HTTP, with a loop in place of the agent."""
    steps = []
    messages = [{"role": "user", "content": "go"}]
    async with (
        ScriptedServer(script) as server,
        httpx2.AsyncClient(base_url=server.url, trust_env=False, timeout=300) as client,
    ):
        while True:
            response = await client.post("/chat/completions", json={"messages": messages})
            message = response.json()["choices"][0]["message"]
            asked = [
                (item["function"]["name"], json.loads(item["function"]["arguments"]))
                for item in message.get("tool_calls", [])
            ]
            steps.append((message.get("reasoning_content", ""), message["content"] or "", asked))
            if not asked:
                return steps
            messages.append(message)
            messages += [
                {"role": "tool", "tool_call_id": item["id"], "content": "…"}
                for item in message["tool_calls"]
            ]


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("stream", [False, True])
async def test_both_models_play_a_script_alike(name, stream):
    script = Script((Rule("^other$", (say("Wrong rule."),)), Rule("go", SCRIPTS[name])))
    expected = [
        (reply.thinking, reply.text, [(item.tool, item.args) for item in reply.calls])
        for reply in SCRIPTS[name]
    ]

    assert await through_agent(script, stream=stream) == expected
    assert await through_http(script) == expected


async def test_a_list_of_replies_is_used_up_over_all_requests():
    model = ScriptedModel(
        [call("look", where="up"), say("Stars."), lambda messages: say(f"{len(messages)} messages")]
    )
    agent = Agent(model, tools=[look], instructions="Be brief.")

    first = await agent.run("one")
    second = await agent.run("two", message_history=first.all_messages())

    assert (first.output, second.output) == ("Stars.", "5 messages")
    assert [len(request) for request in model.requests] == [1, 3, 5]
    assert model.tools_offered == [["look"]] * 3
    with pytest.raises(ScriptUsedUpError, match="has 3 replies and was asked for another"):
        await agent.run("three")


@pytest.mark.parametrize("stream", [False, True])
async def test_usage_is_what_the_reply_says_or_an_estimate(stream):
    agent = Agent(ScriptedModel([say("Hi.", input_tokens=70, output_tokens=3), say("x" * 400)]))

    async def usage(prompt):
        if not stream:
            return (await agent.run(prompt)).usage
        async with agent.run_stream_events(prompt) as events:
            async for _ in events:
                pass
        return events.usage

    given, guessed = await usage("one"), await usage("y" * 4000)

    assert (given.input_tokens, given.output_tokens) == (70, 3)
    assert (guessed.input_tokens, guessed.output_tokens) == (1000, 100)


async def run_both_ways(agent, *, stream, seen=None):
    if not stream:
        return (await agent.run("go")).output
    async with agent.run_stream_events("go") as events:
        async for event in events:
            if (
                seen is not None
                and isinstance(event, PartDeltaEvent)
                and isinstance(event.delta, TextPartDelta)
            ):
                seen.append(event.delta.content_delta)
    return events.result.output


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("scripted", [False, True])
async def test_failures_raise_what_real_models_raise_and_then_end(stream, scripted):
    replies = (fail(429, 7.0, times=2), fail(418), cut(2, "one two three"), garbage(), say("ok"))
    agent = Agent(ScriptedModel(Script((Rule("go", replies),)) if scripted else replies))

    for _ in range(2):
        with pytest.raises(ModelRateLimitError) as limited:
            await run_both_ways(agent, stream=stream)
        assert (limited.value.status_code, limited.value.retry_after) == (429, 7.0)
    with pytest.raises(ModelHTTPError, match="418"):
        await run_both_ways(agent, stream=stream)
    seen = []
    with pytest.raises(ModelAPIError, match="closed before"):
        await run_both_ways(agent, stream=stream, seen=seen)
    assert seen == (["two "] if stream else [])
    with pytest.raises(UnexpectedModelBehavior, match="not JSON"):
        await run_both_ways(agent, stream=stream)
    assert await run_both_ways(agent, stream=stream) == "ok"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_hanging_model_waits_until_it_is_cancelled(stream):
    asked = asyncio.Event()

    def hang_when_asked(_):
        asked.set()
        return hang()

    agent = Agent(ScriptedModel([hang_when_asked, say("ok")]))
    task = asyncio.create_task(run_both_ways(agent, stream=stream))
    await asked.wait()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await run_both_ways(agent, stream=stream) == "ok"


async def test_delays_pass_on_the_clock_it_is_given():
    clock = FrozenClock()
    agent = Agent(ScriptedModel([say("one two three", delay=3600, chunk_delay=60)], clock=clock))
    task = asyncio.create_task(run_both_ways(agent, stream=True))

    await clock.advance(3600 + 119)
    assert not task.done()
    assert clock.sleepers == 1
    await clock.advance(1)

    async with asyncio.timeout(200):
        assert await task == "one two three"
    assert clock.monotonic() == 3720


async def test_a_restarted_model_gives_the_same_reply_to_the_same_history():
    script = Script((Rule("go", (call("look", where="up"), say("Stars."))),))
    history = (await Agent(ScriptedModel(script), tools=[look]).run("go")).all_messages()

    resumed = await Agent(ScriptedModel(script), tools=[look]).run(message_history=history[:3])

    assert resumed.output == "Stars."
