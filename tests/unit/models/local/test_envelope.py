import json

import pytest

from long_running_agents.models.chat_protocol import (
    ChatCall,
    ChatMessage,
    ChatRequest,
    ChatTool,
)
from long_running_agents.models.local import tool_prompt
from long_running_agents.models.local.engine import PlainMessage
from long_running_agents.models.local.tool_prompt import (
    EXAMPLES,
    LONGEST_TEXT,
    NoCall,
    arguments_schema,
)

LIST = ChatTool(
    "list_files",
    "List the files in a folder.\nMore about it.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
WEATHER = ChatTool(
    "get_weather",
    "Get the weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
NOW = ChatTool("now", "Tell the time.", {"type": "object", "properties": {}})


def user(text):
    return ChatMessage("user", text)


def asked(*messages, tools=(LIST,), choice="auto"):
    return ChatRequest(messages=messages, tools=tools, choice=choice)


def names(schema):
    return [branch["properties"]["tool"]["const"] for branch in schema["anyOf"]]


def test_a_free_choice_has_one_more_branch_than_tools():
    assert names(tool_prompt.envelope_schema(asked(user("hi"), tools=(LIST, NOW)))) == [
        "list_files",
        "now",
        "answer",
    ]


def test_a_required_tool_leaves_no_plain_answer():
    assert names(tool_prompt.envelope_schema(asked(user("hi"), choice="required"))) == [
        "list_files"
    ]


def test_a_tool_may_be_called_answer():
    tools = (
        ChatTool("answer", "Answer the phone.", {}),
        ChatTool("reply", "Reply to a letter.", {}),
    )

    assert tool_prompt.answer_name(tools) == "no_tool"
    assert tool_prompt.read('{"tool": "answer", "args": {}}', tools) == ChatCall("", "answer", {})
    assert tool_prompt.read('{"tool": "no_tool", "args": {}}', tools) == NoCall.ANSWER


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        (
            '{"tool": "list_files", "args": {"path": "."}}',
            ChatCall("", "list_files", {"path": "."}),
        ),
        ('{"tool": "list_files"}', ChatCall("", "list_files", {})),
        ('{"tool": "answer", "args": {}}', NoCall.ANSWER),
        (
            '{"tool": "list_files", "args": {"path": "a\nb"}}',
            ChatCall("", "list_files", {"path": "a\nb"}),
        ),
        ('{"tool": "list_fi', NoCall.BROKEN),
        ('{"tool": "rm", "args": {}}', NoCall.BROKEN),
        ('{"tool": "list_files", "args": 3}', NoCall.BROKEN),
        ("[1]", NoCall.BROKEN),
        ("", NoCall.BROKEN),
    ],
)
def test_what_was_written_is_read_back_or_refused(text, choice):
    assert tool_prompt.read(text, (LIST,)) == choice


def test_the_beginning_of_a_prompt_stays_the_same_from_turn_to_turn():
    first = tool_prompt.choosing(asked(user("hi")))
    later = tool_prompt.choosing(
        asked(
            ChatMessage("system", "It is noon."),
            user("hi"),
            ChatMessage("assistant", "Hello."),
            user("x"),
        )
    )

    assert later[: len(first) - 1] == first[:-1]
    assert later[len(first) - 1].role == "system"
    assert "It is noon." in later[len(first) - 1].text


def test_tools_are_shown_with_their_arguments_and_one_line_of_description():
    [system, *_] = tool_prompt.choosing(asked(user("hi"), tools=(LIST, NOW)))

    assert "- list_files(path): List the files in a folder.\n- now(): Tell the time." in system.text
    assert "More about it" not in system.text


def test_every_example_is_an_envelope_that_its_schema_allows():
    request = asked(user("hi"), tools=(LIST, WEATHER, NOW))
    shown = tool_prompt.choosing(request)[1:-1]
    chosen = [tool_prompt.read(said.text, request.tools) for said in shown[1::2]]

    assert [said.role for said in shown] == ["user", "assistant"] * (len(shown) // 2)
    assert {choice.name for choice in chosen if isinstance(choice, ChatCall)} == {
        "list_files",
        "get_weather",
        "now",
    }
    assert NoCall.ANSWER in chosen
    assert not any(choice is NoCall.BROKEN for choice in chosen)


def test_examples_that_do_not_fit_a_tool_of_the_same_name_are_not_shown():
    other = ChatTool(
        "list_files",
        "List the files of a branch.",
        {"type": "object", "properties": {"branch": {"type": "string"}}, "required": ["branch"]},
    )

    [example] = tool_prompt.examples_of(other)
    assert set(example.arguments) == {"branch"}


def test_a_made_up_example_keeps_to_the_choices_of_an_argument():
    colour = {"type": "string", "enum": ["red", "green"]}
    shape = {"type": "object", "properties": {"colour": colour}, "required": ["colour"]}

    [example] = tool_prompt.examples_of(ChatTool("paint", "Paint the wall.", shape))
    assert example.arguments == {"colour": "red"}


def test_a_tool_whose_arguments_cannot_be_made_up_gets_no_example():
    number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    assert tool_prompt.examples_of(ChatTool("double", "Double a number.", number)) == ()
    assert tool_prompt.examples_of(ChatTool("mystery", "", {})) == ()


def test_what_happened_before_is_told_in_the_form_of_the_choice():
    call = ChatCall("c1", "list_files", {"path": "."})
    history = (
        user("what is here?"),
        ChatMessage("assistant", "Let me look.", (call,)),
        ChatMessage("tool", "a.txt", call_id="c1"),
    )
    told = tool_prompt.choosing(asked(*history))[-4:]

    assert [said.role for said in told] == ["user", "assistant", "assistant", "user"]
    assert told[1].text == '{"tool": "answer", "args": {}}\nLet me look.'
    assert json.loads(told[2].text) == {"tool": "list_files", "args": {"path": "."}}
    assert told[3].text.startswith("Result of list_files:\na.txt")


def test_an_answer_in_words_is_asked_for_without_envelopes_or_examples():
    told = tool_prompt.talking(
        asked(ChatMessage("system", "Be kind."), user("hi"), ChatMessage("system", "And short."))
    )

    assert told == (PlainMessage("system", "Be kind.\n\nAnd short."), PlainMessage("user", "hi"))


def test_an_answer_in_words_sees_results_and_no_envelopes():
    call = ChatCall("c1", "list_files", {"path": "."})
    looked = (
        user("what is here?"),
        ChatMessage("assistant", "", (call,)),
        ChatMessage("tool", "a.txt", call_id="c1"),
        ChatMessage("tool", "b.txt", call_id="lost"),
    )

    assert tool_prompt.talking(asked(*looked)) == (
        PlainMessage("user", "what is here?"),
        PlainMessage(
            "assistant",
            "I used list_files. It gave this result:\na.txt\n\n"
            "I used a tool. It gave this result:\nb.txt",
        ),
        PlainMessage("user", "Tell me that result in plain words."),
    )


def test_an_older_result_is_a_note_and_not_the_models_own_words():
    call = ChatCall("c1", "list_files", {"path": "."})
    told = tool_prompt.talking(
        asked(
            user("what is here?"),
            ChatMessage("assistant", "", (call,)),
            ChatMessage("tool", "a.txt", call_id="c1"),
            ChatMessage("assistant", "One file."),
            user("thanks"),
        )
    )

    assert told == (
        PlainMessage("user", "what is here?\n\n[list_files gave: a.txt]"),
        PlainMessage("assistant", "One file."),
        PlainMessage("user", "thanks"),
    )


def test_a_call_that_was_just_made_is_a_repetition():
    call = ChatCall("c1", "list_files", {"path": "."})
    made = (
        user("look"),
        ChatMessage("assistant", "", (call,)),
        ChatMessage("tool", "a", call_id="c1"),
    )

    assert tool_prompt.repeats(ChatCall("", "list_files", {"path": "."}), made)
    assert not tool_prompt.repeats(ChatCall("", "list_files", {"path": "src"}), made)
    assert not tool_prompt.repeats(
        ChatCall("", "list_files", {"path": "."}), (*made, user("again"))
    )


def test_references_are_put_in_place_and_unknown_keywords_left_out():
    reduced = arguments_schema(
        {
            "type": "object",
            "title": "Arguments",
            "properties": {
                "kind": {"$ref": "#/$defs/Kind"},
                "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                "at": {"type": "string", "format": "date-time", "pattern": "x"},
                "lost": {"$ref": "#/$defs/Lost"},
                "extra": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "required": ["kind", "absent"],
            "$defs": {"Kind": {"enum": ["a", "b"], "type": "string"}},
        }
    )
    text = {"type": "string", "maxLength": LONGEST_TEXT}

    assert reduced == {
        "type": "object",
        "properties": {
            "kind": {"enum": ["a", "b"], "type": "string"},
            "tags": {"type": "array", "items": text},
            "note": {"anyOf": [text, {"type": "null"}]},
            "at": text,
            "lost": text,
            "extra": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "required": ["kind"],
        "additionalProperties": False,
    }


def test_a_schema_that_holds_itself_comes_to_an_end():
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}

    child = arguments_schema({**tree, "$defs": {"Tree": tree}})["properties"]["child"]

    # A child has children before everything ends: whoever is bound by it can say so.
    assert child["properties"]["child"]["properties"]["child"]


def test_a_schema_that_refers_to_itself_in_many_places_stays_small():
    names = [f"T{number}" for number in range(10)]
    every = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    definitions = {name: {"type": "object", "properties": every} for name in names}

    schema = arguments_schema({"type": "object", "properties": every, "$defs": definitions})

    assert len(json.dumps(schema)) < 2_000_000


def test_no_two_tools_are_asked_for_with_the_same_words():
    said = [example.said for examples in EXAMPLES.values() for example in examples]

    assert len(said) == len(set(said))
