import json

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from long_running_agents.agent.history import (
    cut_down,
    forms_of,
    put_aside,
    role_of,
    shown,
    weigh,
    with_note,
)
from long_running_agents.domain.context_window import HistoryCut, MessageRole

IMAGE = BinaryContent(b"x" * 9000, media_type="image/png")
LONG = "abcdefghij" * 300


def asked(text="Do it."):
    return ModelRequest(parts=[UserPromptPart(text)])


def called(call_id="c1", **args):
    return ModelResponse(parts=[ToolCallPart("look", args, tool_call_id=call_id)])


def returned(content, call_id="c1", **options):
    return ModelRequest(parts=[ToolReturnPart("look", content, tool_call_id=call_id, **options)])


def said(text="Done."):
    return ModelResponse(parts=[TextPart(text)])


def seen(messages, cut, longest=1000, digest=1200):
    return shown([forms_of(message, longest) for message in messages], cut, digest)


def test_a_turn_begins_with_the_users_words():
    assert role_of(asked()) is MessageRole.START
    assert role_of(called()) is MessageRole.ANSWER
    assert role_of(returned("x")) is MessageRole.RESULTS
    between = ModelRequest(parts=[*returned("x").parts, UserPromptPart("Hurry.")])
    assert role_of(between) is MessageRole.RESULTS


def test_what_is_short_is_the_very_same_message():
    for message in (asked(), called(at="x"), returned("short"), returned({"a": 1}), said(LONG)):
        assert cut_down(message, 1000) is message
        assert put_aside(message) is message


def test_a_long_result_is_shown_in_part_with_a_way_to_read_on():
    [part] = cut_down(returned(LONG), 1000).parts
    handle = "read_result(call_id='c1', offset=1000)"
    assert part.content == f"{LONG[:1000]}\n[2000 characters not shown: {handle}]"
    [table] = cut_down(returned({"rows": LONG}), 1000).parts
    assert table.content.startswith('{"rows":"abc')


def test_an_old_result_is_only_named_and_still_a_failure():
    [part] = put_aside(returned(LONG, outcome="failed")).parts
    assert part.content == "[3000 characters not shown: read_result(call_id='c1')]"
    assert part.outcome == "failed"


def test_files_in_a_result_stay():
    message = returned([IMAGE, LONG])
    assert cut_down(message, 100) is put_aside(message) is message


def test_long_arguments_are_cut_and_stay_json():
    [part] = put_aside(called(path="a.txt", text=LONG, lines=list(range(900)))).parts
    arguments = json.loads(part.args_as_json_str())
    assert arguments["path"] == "a.txt"
    assert arguments["text"] == f"{LONG[:200]} [2800 characters not shown]"
    assert len(part.args_as_json_str()) < 700


def test_the_log_is_not_touched():
    messages = [asked(), called(text=LONG), returned(LONG), called("c2"), returned("x", "c2")]
    before = repr(messages)
    seen(messages, HistoryCut(folded=3, aside=5))
    assert repr(messages) == before


def test_folded_steps_are_lines_in_the_users_message():
    messages = [asked(), called(at="sea"), returned("blue"), called("c2"), returned("x", "c2")]
    view = seen(messages, HistoryCut(folded=3))
    assert view[0].parts[0].content.splitlines() == [
        "Do it.",
        "",
        "[Your work on this so far, a line for each step:]",
        '- look({"at":"sea"}) → blue',
        "[The latest steps follow in full.]",
    ]
    assert view[1:] == messages[3:]


def test_of_too_many_lines_the_newest_are_shown():
    steps = [m for n in range(50) for m in (called(f"c{n}", number=n), returned("ok", f"c{n}"))]
    messages = [asked(), *steps, called("last"), returned("x", "last")]
    text = seen(messages, HistoryCut(folded=101), digest=600)[0].parts[0].content
    assert "earlier ones are left out" in text
    assert '"number":49' in text
    assert '"number":1}' not in text
    assert len(text) <= 600


def test_turns_that_are_left_out_are_not_shown():
    messages = [asked("first"), said(), asked("second"), said(), asked("third")]
    assert seen(messages, HistoryCut(first=2)) == messages[2:]


def test_a_note_stands_after_the_words_in_the_same_part():
    assert with_note(asked("second"), "[note]").parts[0].content == "second\n\n[note]"
    assert with_note(asked(["look", IMAGE]), "[note]").parts[0].content[-1] == "[note]"


@pytest.mark.parametrize(
    ("message", "least", "most"),
    [
        (asked("x" * 300), 300, 400),
        (returned("x" * 300), 300, 400),
        (called(text="x" * 300), 300, 450),
        (asked(["hi", IMAGE]), 3000, 3100),
        (ModelResponse(parts=[ThinkingPart("x" * 300)]), 0, 0),
        (ModelResponse(parts=[ThinkingPart("x" * 300, signature="s")]), 300, 400),
    ],
)
def test_what_a_message_weighs(message, least, most):
    assert least <= weigh(message) <= most
