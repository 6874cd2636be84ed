"""The step loop: what the model hears of its calls, and what its tools are told."""

import asyncio
from dataclasses import dataclass
from typing import ClassVar

import pytest
from pydantic_ai import FunctionToolset
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry
from pydantic_ai.messages import ToolReturn, ToolReturnPart, UserPromptPart
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import WrapperToolset
from tests.integration.stories import ended, hands, told

from long_running_agents.domain.events import ToolReturned
from long_running_agents.domain.tool import Effect
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.testing import ScriptedModel, call, calls, make_app, say
from long_running_agents.tools.deps import effect

pytestmark = pytest.mark.anyio

READ = effect(Effect.READ)


def results(request):
    return {part.tool_name: part for part in request[-1].parts if isinstance(part, ToolReturnPart)}


async def test_a_tool_that_asks_for_another_try_is_told_how_often_it_did(tmp_path):
    tries = []

    def guess(ctx: RunContext, number: int) -> str:
        tries.append((ctx.retry, ctx.tool_name, bool(ctx.tool_call_id), len(ctx.messages)))
        if number < 3:
            raise ModelRetry("Higher!")
        return "That is it."

    again = [call("guess", number=number) for number in (1, 2, 3, 4)]
    model = ScriptedModel([*again, say("Four.")])
    async with make_app(tmp_path, model=model, toolsets=[hands(guess, Effect.READ)]) as app:
        turn = await ended(app, "Guess")
        outcomes = [event.success for event in await told(app, ToolReturned)]

    assert turn.answer == "Four."
    assert [each[0] for each in tries] == [0, 1, 2, 0]
    assert tries[-1][1:] == ("guess", True, 8)
    assert outcomes == [False, False, True, True]
    [first, *_] = results(model.requests[1]).values()
    assert (first.content, first.outcome) == ("Higher!", "retried")


async def test_calls_that_make_no_sense_are_turned_down_and_the_others_run(tmp_path):
    def look(where: str) -> str:
        return f"a chair at {where}"

    bad = calls(call("look", place=7), call("fly"))
    model = ScriptedModel([bad, calls(call("fly"), call("look", where="home")), say("Done.")])
    async with make_app(tmp_path, model=model, toolsets=[hands(look, Effect.READ)]) as app:
        turn = await ended(app, "Look")

    assert turn.answer == "Done."
    first = results(model.requests[1])
    assert [part.outcome for part in first.values()] == ["retried", "retried"]
    assert "where" in first["look"].model_response_str()
    assert "Unknown tool name: 'fly'. Available tools: " in first["fly"].model_response_str()
    second = results(model.requests[2])
    assert second["look"].content == "a chair at home"
    assert list(second) == ["fly", "look"]


async def test_calls_run_side_by_side_but_a_sequential_one_alone(tmp_path):
    log, both = [], asyncio.Event()

    async def meet(name: str) -> None:
        log.append(name)
        if len(log) == 2:
            both.set()
        await both.wait()

    async def alone() -> None:
        log.append("alone")

    tools = FunctionToolset()
    tools.add_function(meet, metadata=READ)
    tools.add_function(alone, metadata=READ, sequential=True)
    meeting = [call("meet", name=name) for name in "abc"]
    model = ScriptedModel([calls(*meeting[:2], call("alone"), meeting[2]), say("Met.")])
    async with make_app(tmp_path, model=model, toolsets=[tools]) as app:
        assert (await ended(app, "Meet")).answer == "Met."

    assert sorted(log[:2]) == ["a", "b"]
    assert log[2:] == ["alone", "c"]


async def test_a_tool_that_is_added_is_there_at_the_next_step_and_nobody_says_so(tmp_path):
    tools = FunctionToolset()

    def learn() -> str:
        tools.add_function(lambda: "I fly", name="fly", metadata=READ)
        return "learned"

    tools.add_function(learn, metadata=READ)
    model = ScriptedModel([call("learn"), call("fly"), say("High.")])
    async with make_app(tmp_path, model=model, toolsets=[tools]) as app:
        assert (await ended(app, "Fly")).answer == "High."

    assert ["fly" in offered for offered in model.tools_offered] == [False, True, True]
    assert results(model.requests[2])["fly"].content == "I fly"
    users = [
        part.content
        for message in model.requests[-1]
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    assert users == ["Fly"]


async def test_a_model_with_nothing_to_say_is_asked_again_three_times(tmp_path):
    model = ScriptedModel([say("")] * 3 + [say("Sorry.")] + [say("")] * 4)
    async with make_app(tmp_path, model=model) as app:
        assert (await ended(app, "Hello?")).answer == "Sorry."
        turn = await ended(app, "And now?")

    [asked] = model.requests[1][-1].parts
    assert asked.content == "<system>Please return text or call a tool.</system>"
    assert turn.status is TurnStatus.FAILED
    assert "no use" in turn.error


class Entered(WrapperToolset):
    """Notes that it is opened and closed, and calls its tools by another way."""

    log: ClassVar = []

    async def __aenter__(self):
        self.log.append("in")
        return self

    async def __aexit__(self, *_):
        self.log.append("out")

    async def call_tool(self, name, tool_args, ctx, tool):
        return f"<{await super().call_tool(name, tool_args, ctx, tool)}>"

    async def get_instructions(self, ctx):
        return "Knock first."


async def test_a_programs_own_toolset_keeps_what_toolsets_promise(tmp_path):
    inner = hands(lambda: "a chair", Effect.READ)
    tools = Entered(inner).prefixed("my")
    tool = next(iter(inner.tools))
    model = ScriptedModel([call(f"my_{tool}"), say("Seen.")])
    async with make_app(tmp_path, model=model, toolsets=[tools]) as app:
        assert (await ended(app, "Look")).answer == "Seen."

    assert Entered.log == ["in", "out"]
    assert results(model.requests[1])[f"my_{tool}"].content == "<a chair>"
    assert model.requests[0][-1].instructions.endswith("Knock first.")


async def test_a_tool_that_asks_a_question_nobody_hears_fails(tmp_path):
    runs = []

    def ask() -> str:
        runs.append(1)
        raise ApprovalRequired

    def wait() -> str:
        return "never"

    tools = FunctionToolset()
    tools.add_function(ask, metadata=READ)
    tools.add_function(wait, metadata=READ, requires_approval=True)
    model = ScriptedModel([calls(call("ask"), call("wait")), say("No.")])
    async with make_app(tmp_path, model=model, toolsets=[tools]) as app:
        assert (await ended(app, "Ask")).answer == "No."

    assert runs == [1]
    assert {part.outcome for part in results(model.requests[1]).values()} == {"failed"}


@dataclass
class Mine(FunctionToolset):
    """A toolset of a program's own that cannot be a key."""

    def __post_init__(self):
        super().__init__()
        self.add_function(look, metadata=READ)


def look() -> str:
    return "a chair"


async def test_toolsets_that_cannot_be_keys_are_used(tmp_path):
    model = ScriptedModel([call("look"), say("Seen.")])
    async with make_app(tmp_path, model=model, toolsets=[Mine()]) as app:
        assert (await ended(app, "Look")).answer == "Seen."


async def test_what_a_tool_shows_beside_its_result_follows_all_results(tmp_path):
    def draw() -> ToolReturn:
        return ToolReturn("drawn", content="A picture of a chair.")

    def look() -> str:
        return "seen"

    tools = FunctionToolset()
    for function in (draw, look):
        tools.add_function(function, metadata=READ)
    model = ScriptedModel([calls(call("draw"), call("look")), say("Nice.")])
    async with make_app(tmp_path, model=model, toolsets=[tools]) as app:
        assert (await ended(app, "Draw")).answer == "Nice."

    assert [part.content for part in model.requests[1][-1].parts] == [
        "drawn", "seen", "A picture of a chair.",
    ]  # fmt: skip
