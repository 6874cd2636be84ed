import pytest
from tests.unit.models.local.scripted_engine import ScriptedEngine

from long_running_agents.models.chat_protocol import (
    ChatCall,
    ChatMessage,
    ChatRequest,
    ChatTool,
)
from long_running_agents.models.local.engine import Finished, Sampling, TextPiece
from long_running_agents.models.local.tool_prompt import LONGEST_ANSWER, answer

pytestmark = pytest.mark.anyio

LOOK = ChatTool("look", "Look around.", {"type": "object", "properties": {}})
CALL = '{"tool": "look", "args": {}}'
ANSWER = '{"tool": "answer", "args": {}}'
HI = (ChatMessage("user", "hi"),)
LOOKED = (
    *HI,
    ChatMessage("assistant", "", (ChatCall("c1", "look", {}),)),
    ChatMessage("tool", "a room", call_id="c1"),
)


def asked(messages=HI, tools=(LOOK,), **more):
    return ChatRequest(messages=messages, tools=tools, **more)


async def pieces(engine, request):
    return [piece async for piece in answer(engine, request)]


def text(found):
    return "".join(piece.text for piece in found if isinstance(piece, TextPiece))


async def test_without_tools_the_first_pass_is_the_answer():
    engine = ScriptedEngine("one two")
    found = await pieces(engine, asked(tools=()))

    assert text(found) == "one two"
    assert found[-1] == Finished(reason="stop", prompt_tokens=10, completion_tokens=2)
    assert engine.prompts[0].schema is None
    assert engine.prompts[0].sampling.max_tokens == LONGEST_ANSWER


async def test_tools_that_may_not_be_called_are_not_shown():
    engine = ScriptedEngine("words")

    assert text(await pieces(engine, asked(choice="none"))) == "words"
    assert engine.prompts[0].schema is None


async def test_a_chosen_tool_is_called_with_an_id_of_its_own():
    engine = ScriptedEngine(CALL, CALL)
    [first, ended] = await pieces(engine, asked())
    [second, _] = await pieces(engine, asked())

    assert (first.name, first.arguments) == ("look", {})
    assert first.id != second.id
    assert ended.reason == "tool_calls"
    assert engine.prompts[0].sampling.temperature == 0


async def test_a_plain_answer_is_asked_for_a_second_time_without_a_schema():
    engine = ScriptedEngine(ANSWER, "free words here")
    found = await pieces(engine, asked(sampling=Sampling(temperature=0.9, stop=("x",))))

    assert text(found) == "free words here"
    # Read twice, and still one prompt.
    assert found[-1].prompt_tokens == 10
    assert found[-1].completion_tokens == len(ANSWER.split(" ")) + 3
    assert engine.prompts[0].schema is not None
    assert engine.prompts[0].sampling.stop == ()
    assert engine.prompts[1].schema is None
    assert engine.prompts[1].sampling.temperature == 0.9
    assert engine.prompts[1].sampling.stop == ("x",)


async def test_a_call_whose_result_is_there_becomes_an_answer():
    found = await pieces(ScriptedEngine(CALL, "A room."), asked(LOOKED))

    assert text(found) == "A room."


async def test_a_required_call_may_be_made_again():
    found = await pieces(ScriptedEngine(CALL), asked(LOOKED, choice="required"))

    assert isinstance(found[0], ChatCall)


async def test_half_an_envelope_is_an_end_without_words():
    [ended] = await pieces(ScriptedEngine('{"tool": "lo'), asked())

    assert ended.reason == "length"
