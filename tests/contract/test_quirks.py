import pytest
from tests.contract.chat_client import CALL, RESULT, ask, asking, serving, user

from long_running_agents.testing import Quirk, Reply, Rule, Script, ToolCall, say

pytestmark = pytest.mark.anyio

# For each quirk: a request, and what is true of the answer with the quirk and false without it.

THINKING_CALL = Reply(
    text="Let me look.", thinking="Hm.", calls=(ToolCall("look", {"at": "x"}), ToolCall("wait"))
)
ANSWERING = say('{"ok": true}', thinking="Hm.")
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
ASSISTANT_CALL = {"role": "assistant", "content": "", "tool_calls": [CALL]}


def hard_schema(parameters):
    return [{"type": "function", "function": {"name": "look", "parameters": parameters}}]


def history(*messages):
    return {"messages": list(messages)}


def functions(answer):
    return [call["function"] for call in answer.calls or answer.message.get("tool_calls", [])]


def refused(status, words):
    return lambda answer: answer.status == status and words in answer.error


CASES = {
    Quirk.EMPTY_CALL_ID: [
        (asking("call"), lambda a: [c["id"] for c in a.message["tool_calls"]] == ["", ""]),
        (
            history(
                user("call"),
                {"role": "assistant", "content": "", "tool_calls": [{**CALL, "id": ""}]},
            ),
            refused(500, "must be string"),
        ),
    ],
    Quirk.MISSING_CALL_ID: [
        (asking("call"), lambda a: all("id" not in c for c in a.message["tool_calls"])),
        (history(user("call"), {"role": "tool", "content": "x"}), refused(500, "must be string")),
    ],
    Quirk.EMPTY_TOOL_CALLS_LIST: [
        (asking("say"), lambda a: a.message.get("tool_calls") == []),
        (asking("say", stream=True), lambda a: all(d.get("tool_calls") == [] for d in a.deltas)),
    ],
    Quirk.BLANK_LATER_NAMES: [
        (
            asking("call", stream=True),
            lambda a: [f.get("name") for f in functions(a)][:3] == ["look", "", ""],
        ),
    ],
    Quirk.NAME_IN_PARTS: [
        (
            asking("call", stream=True),
            lambda a: [f.get("name") for f in functions(a)][:3] == ["lo", "ok", None],
        ),
    ],
    Quirk.NO_CALL_INDEX: [
        (asking("call", stream=True), lambda a: ["index" in c for c in a.calls] == [False, False]),
    ],
    Quirk.SAME_CALL_INDEX: [
        (asking("call", stream=True), lambda a: {c["index"] for c in a.calls} == {0}),
    ],
    Quirk.ARGUMENTS_AS_OBJECT: [
        (asking("call"), lambda a: [f["arguments"] for f in functions(a)] == [{"at": "x"}, {}]),
        (
            asking("call", stream=True),
            lambda a: [f["arguments"] for f in functions(a)] == [{"at": "x"}, {}],
        ),
    ],
    Quirk.ARGUMENTS_NULL: [
        (asking("call"), lambda a: functions(a)[-1]["arguments"] is None),
        (asking("call", stream=True), lambda a: functions(a)[-1]["arguments"] is None),
    ],
    Quirk.ARGUMENTS_ABSENT: [
        (asking("call"), lambda a: functions(a)[-1] == {"name": "wait"}),
        (asking("call", stream=True), lambda a: functions(a)[-1] == {"name": "wait"}),
    ],
    Quirk.STOP_WITH_CALLS: [
        (asking("call"), lambda a: functions(a) and a.finish == "stop"),
        (asking("call", stream=True), lambda a: functions(a) and a.finish == "stop"),
    ],
    Quirk.CHANGING_CHUNK_IDS: [
        (asking("say", stream=True), lambda a: len(a.ids) == len(a.deltas)),
    ],
    Quirk.CALLS_AS_TEXT_FENCE: [
        (asking("call"), lambda a: not functions(a) and '```json\n{"name": "look"' in a.text),
        (
            asking("call", stream=True),
            lambda a: not functions(a) and '```json\n{"name": "look"' in a.text,
        ),
    ],
    Quirk.CALLS_AS_TEXT_TAG: [
        (asking("call"), lambda a: not functions(a) and '<tool_call>\n{"name": "look"' in a.text),
    ],
    Quirk.CALLS_AS_TEXT_FUNCTION: [
        (
            asking("call"),
            lambda a: not functions(a) and '<function=look>{"at": "x"}</function>' in a.text,
        ),
    ],
    Quirk.THINK_IN_CONTENT: [
        (
            asking("say"),
            lambda a: a.text.startswith("<think>") and "reasoning_content" not in a.message,
        ),
        (asking("say", stream=True), lambda a: a.text.startswith("<think>\nHm.\n</think>")),
    ],
    Quirk.ANSWER_IN_REASONING: [
        (asking("say"), lambda a: not a.text and '{"ok": true}' in a.message["reasoning_content"]),
    ],
    Quirk.CONTENT_AND_THINKING_REFUSED: [
        (
            history(
                user("x"), {**ASSISTANT_CALL, "content": "a", "reasoning_content": "b"}, RESULT
            ),
            refused(500, "both content and thinking"),
        ),
    ],
    Quirk.CONTENT_NULL_REFUSED: [
        (history(user("x"), {**ASSISTANT_CALL, "content": None}, RESULT), refused(400, "<nil>")),
    ],
    Quirk.STRICT_ROLES: [
        (history(user("x"), user("y")), refused(400, "must alternate")),
        (history(user("x"), ASSISTANT_CALL, RESULT, user("y")), refused(400, "must alternate")),
        (history(user("x"), ASSISTANT_CALL), refused(400, "last role")),
    ],
    Quirk.NO_SYSTEM_ROLE: [
        (
            history({"role": "system", "content": "Be brief."}, user("x")),
            refused(400, "System role"),
        ),
    ],
    Quirk.ONE_SYSTEM_MESSAGE: [
        (
            history(*[{"role": "system", "content": "Be brief."}] * 2, user("x")),
            refused(400, "beginning"),
        ),
    ],
    Quirk.UNANSWERED_CALL_REFUSED: [
        (history(user("x"), ASSISTANT_CALL, user("y")), refused(400, "c1")),
        (history(user("x"), ASSISTANT_CALL), refused(400, "c1")),
    ],
    Quirk.EMPTY_ASSISTANT_REFUSED: [
        (history(user("x"), {"role": "assistant", "content": ""}), refused(400, "prefill")),
    ],
    Quirk.TOOLS_REFUSED: [(asking("x", tools=TOOLS), refused(400, "does not support tools"))],
    Quirk.TOOL_CHOICE_REFUSED: [
        (asking("x", tools=TOOLS, tool_choice="auto"), refused(400, "--enable-auto-tool-choice")),
    ],
    Quirk.AUTO_CHOICE_IMPLIED: [
        (asking("x", tools=TOOLS), refused(400, "--enable-auto-tool-choice")),
    ],
    Quirk.REQUIRED_CHOICE_REFUSED: [
        (asking("x", tools=TOOLS, tool_choice="required"), refused(400, "tool_choice")),
    ],
    Quirk.SCHEMA_NOT_ENFORCED: [
        (
            asking("say", response_format={"type": "json_schema"}),
            lambda a: a.text.startswith("Here is"),
        ),
    ],
    Quirk.SCHEMA_KEYWORDS_REFUSED: [
        (
            asking("x", tools=hard_schema({"properties": {"a": {"$ref": "#/$defs/A"}}})),
            refused(400, "conversion"),
        ),
        (
            asking("x", tools=hard_schema({"anyOf": [{"required": ["a"]}]})),
            refused(400, "conversion"),
        ),
    ],
    Quirk.SILENT_TRUNCATION: [
        (
            asking("x " * 20_000),
            lambda a: a.text == ANSWERING.text and a.usage["prompt_tokens"] == 4096,
        ),
        (
            history(user("say"), {"role": "tool", "content": "x" * 20_000}),
            lambda a: a.text == "I have no script for this.",
        ),
    ],
    Quirk.NO_STREAMED_CALLS: [
        (asking("call", stream=True), lambda a: not a.text and not a.calls and a.finish == "stop"),
    ],
    Quirk.STREAM_IGNORED: [
        (asking("call", stream=True), lambda a: a.message.get("tool_calls") and not a.deltas),
    ],
    Quirk.NO_USAGE: [
        (asking("say"), lambda a: a.usage is None),
        (
            asking("say", stream=True, stream_options={"include_usage": True}),
            lambda a: a.usage is None,
        ),
    ],
}
QUIRK_SCRIPT = Script((Rule("call", (THINKING_CALL,)), Rule("say|x|y", (ANSWERING,))))


@pytest.mark.parametrize("quirk", Quirk)
async def test_every_quirk_changes_what_is_served_or_refused(quirk):
    async with (
        serving(QUIRK_SCRIPT) as (_, plain),
        serving(QUIRK_SCRIPT, quirks={quirk}) as (_, quirky),
    ):
        for body, is_quirky in CASES[quirk]:
            assert is_quirky(await ask(quirky, body)), f"{quirk} did nothing to {body}"
            assert not is_quirky(await ask(plain, body)), f"{body} meets {quirk} without it"


async def test_a_well_formed_history_passes_all_that_refuse():
    good = history(
        {"role": "system", "content": "Be brief."}, user("x"), ASSISTANT_CALL, RESULT,
        {"role": "assistant", "content": "Seen."}, user("say"),
    )  # fmt: skip
    strict = {
        quirk
        for quirk in Quirk
        if quirk.endswith("_refused") or quirk in {Quirk.STRICT_ROLES, Quirk.ONE_SYSTEM_MESSAGE}
    }
    async with serving(QUIRK_SCRIPT, quirks=strict) as (_, client):
        assert (await ask(client, good)).status == 200
        assert (await ask(client, asking("say"))).status == 200


async def test_quirks_can_be_combined():
    quirks = {Quirk.CALLS_AS_TEXT_TAG, Quirk.THINK_IN_CONTENT, Quirk.NO_USAGE}
    async with serving(QUIRK_SCRIPT, quirks=quirks) as (_, client):
        answer = await ask(client, asking("call"))

    assert answer.text.startswith("<think>")
    assert answer.text.count("<tool_call>") == 2
    assert (answer.usage, answer.finish) == (None, "stop")
