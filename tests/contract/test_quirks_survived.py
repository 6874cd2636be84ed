"""A whole conversation with tools comes through, whatever the quirks of the server."""

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolReturnPart
from tests.contract.serving import BOTH_WAYS, run, serving, told

from long_running_agents.testing import Quirk, Reply, Rule, ToolCall, call, calls, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

TWO_CALLS = calls(ToolCall("look", {"at": "ä", "n": [1]}, "c-1"), ToolCall("wait", {}, "c-2"))
TALK = (
    Reply(text="Let me see.", thinking="Hm.", calls=TWO_CALLS.calls),
    call("look", at="again"),
    say("All seen.", thinking="Aha."),
)
SAID = [
    ("Hm.", "Let me see.", [("look", {"at": "ä", "n": [1]}), ("wait", {})]),
    ("", "", [("look", {"at": "again"})]),
    ("Aha.", "All seen.", []),
]
# To a model without tools, results are words of the user: the rules go by those.
IN_WORDS = (
    Rule("seen again", (say("All seen.", thinking="Aha."),)),
    Rule("seen ä", (say('<tool name="look">{"at": "again"}</tool>'),)),
    Rule(
        "go",
        (
            say(
                'Let me see.\n<tool name="look">{"at": "ä", "n": [1]}</tool>\n'
                '<tool name="wait"></tool>\n<tool_result name="look">made up',
                thinking="Hm.",
            ),
        ),
    ),
)

WITHOUT_TOOLS = {Quirk.TOOLS_REFUSED, Quirk.AUTO_CHOICE_IMPLIED}
MISFILED = {
    Quirk.ANSWER_IN_REASONING: [*SAID[:2], ("Aha.All seen.", "Aha.All seen.", [])],
}
TOGETHER = [
    {Quirk.NO_CALL_INDEX, Quirk.MISSING_CALL_ID},
    {Quirk.NO_CALL_INDEX, Quirk.MISSING_CALL_ID, Quirk.ARGUMENTS_ABSENT},
    {Quirk.SAME_CALL_INDEX, Quirk.EMPTY_CALL_ID},
    {Quirk.SAME_CALL_INDEX, Quirk.MISSING_CALL_ID, Quirk.BLANK_LATER_NAMES},
    {Quirk.ARGUMENTS_AS_OBJECT, Quirk.SAME_CALL_INDEX, Quirk.MISSING_CALL_ID},
    {Quirk.CALLS_AS_TEXT_TAG, Quirk.THINK_IN_CONTENT, Quirk.NO_USAGE},
    {Quirk.CALLS_AS_TEXT_FENCE, Quirk.THINK_IN_CONTENT, Quirk.STRICT_ROLES},
    {Quirk.TOOLS_REFUSED, Quirk.NO_SYSTEM_ROLE, Quirk.STRICT_ROLES, Quirk.THINK_IN_CONTENT},
    {Quirk.NO_STREAMED_CALLS, Quirk.MISSING_CALL_ID, Quirk.SCHEMA_KEYWORDS_REFUSED},
]


async def talk(model, *, stream):
    """A whole conversation with tools: what the model said, and the ids of the results."""
    agent = Agent(model, instructions="Be brief.")

    @agent.tool_plain
    def look(at: str = "", n: list[int] | None = None) -> str:
        return f"seen {at}"

    @agent.tool_plain
    def wait() -> None:
        return None

    messages = (await run(agent, stream=stream)).all_messages()
    answers = [told(message) for message in messages if isinstance(message, ModelResponse)]
    results = [
        part.tool_call_id
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    return answers, results


@pytest.mark.parametrize("quirks", [*({quirk} for quirk in Quirk), *TOGETHER], ids=sorted)
@BOTH_WAYS
async def test_a_conversation_comes_through(quirks, stream):
    script = IN_WORDS if quirks & WITHOUT_TOOLS else TALK
    async with serving(*script, quirks=quirks) as (_, model):
        answers, results = await talk(model, stream=stream)

    [said] = [MISFILED[quirk] for quirk in quirks & MISFILED.keys()] or [SAID]
    assert answers == said
    assert len(set(results)) == 3
    assert all(results)
