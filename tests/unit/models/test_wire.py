import pytest
from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    InstructionPart,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from long_running_agents.models.chat_messages import chat_messages, request_body

LOOK = ToolDefinition(name="look", description=None, parameters_json_schema={"type": "object"})


def user(content):
    return ModelRequest(parts=[UserPromptPart(content)])


def body(messages=(), *, stream=False, settings=None, **parameters):
    return request_body(
        "m",
        list(messages),
        [],
        ModelSettings(**(settings or {})),
        ModelRequestParameters(**parameters),
        stream=stream,
    )


def test_instructions_are_one_leading_system_message():
    instructions = [InstructionPart(content="Be brief."), InstructionPart(content="Be kind.")]

    assert chat_messages([user("hi")], instructions) == [
        {"role": "system", "content": "Be brief.\n\nBe kind."},
        {"role": "user", "content": "hi"},
    ]


def test_leading_system_prompts_join_the_instructions_and_later_ones_stay_in_their_place():
    history = [
        ModelRequest(parts=[SystemPromptPart("You are."), UserPromptPart("hi")]),
        ModelRequest(parts=[SystemPromptPart("Hurry."), UserPromptPart("well?")]),
    ]

    for instructions, first in (
        ([], "You are."),
        ([InstructionPart(content="Be.")], "Be.\n\nYou are."),
    ):
        sent = chat_messages(history, instructions)
        assert [message["content"] for message in sent] == [first, "hi", "Hurry.", "well?"]
        assert [message["role"] for message in sent] == ["system", "user"] * 2


def test_calls_and_results_belong_together():
    history = [
        user("go"),
        ModelResponse(
            parts=[
                ThinkingPart("hm"),
                TextPart("Looking."),
                ToolCallPart("look", {"at": "ä"}, tool_call_id="c1"),
                ToolCallPart("wait", None, tool_call_id="c2"),
            ]
        ),
        ModelRequest(
            parts=[
                ToolReturnPart("look", {"seen": 1}, tool_call_id="c1"),
                ToolReturnPart("wait", "done", tool_call_id="c2"),
            ]
        ),
    ]

    _, answer, first, second = chat_messages(history, [])

    assert (answer["role"], answer["content"]) == ("assistant", "Looking.")
    assert [(call["id"], call["function"]) for call in answer["tool_calls"]] == [
        ("c1", {"name": "look", "arguments": '{"at":"ä"}'}),
        ("c2", {"name": "wait", "arguments": "{}"}),
    ]
    assert first == {"role": "tool", "tool_call_id": "c1", "content": '{"seen":1}'}
    assert second == {"role": "tool", "tool_call_id": "c2", "content": "done"}


def test_content_is_never_null():
    history = [
        user("go"),
        ModelResponse(parts=[ToolCallPart("look", "{}", tool_call_id="c1")]),
        ModelRequest(parts=[ToolReturnPart("look", None, tool_call_id="c1")]),
    ]

    assert [type(message["content"]) for message in chat_messages(history, [])] == [str] * 3


@pytest.mark.parametrize("parts", [[], [TextPart("")], [ThinkingPart("only thoughts")]])
def test_an_empty_answer_is_left_out(parts):
    history = [user("a"), ModelResponse(parts=parts), user("b")]

    assert [message["content"] for message in chat_messages(history, [])] == ["a", "b"]


def test_pieces_of_text_are_one_answer():
    answer = ModelResponse(parts=[TextPart("a"), ThinkingPart("hm"), TextPart("b")])

    assert chat_messages([answer], []) == [{"role": "assistant", "content": "a\n\nb"}]


def test_images_are_sent_and_what_cannot_be_is_named():
    content = [
        "Look:",
        ImageUrl(url="https://example.com/a.png"),
        BinaryContent(data=b"png", media_type="image/png"),
        DocumentUrl(url="https://example.com/a.pdf"),
        BinaryContent(data=b"zip", media_type="application/zip"),
    ]

    [message] = chat_messages([user(content)], [])

    assert message["content"] == [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
        {"type": "text", "text": "[DocumentUrl left out: this model reads no such]"},
        {"type": "text", "text": "[BinaryContent left out: this model reads no such]"},
    ]


def test_a_plain_request_has_only_what_it_needs():
    assert body([user("hi")]) == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_a_stream_asks_for_its_usage():
    asked = body(stream=True)

    assert (asked["stream"], asked["stream_options"]) == (True, {"include_usage": True})


def test_tools_are_offered_and_never_forced_while_text_will_do():
    asked = body(function_tools=[LOOK])

    assert asked["tools"] == [
        {
            "type": "function",
            "function": {"name": "look", "description": "", "parameters": {"type": "object"}},
        }
    ]
    assert "tool_choice" not in asked
    assert body(function_tools=[LOOK], allow_text_output=False)["tool_choice"] == "required"


def test_settings_have_the_protocols_names():
    asked = body(
        settings={
            "max_tokens": 5, "temperature": 0.0, "stop_sequences": ["x"], "seed": 7,
            "extra_body": {"think": False},
        }
    )  # fmt: skip

    assert asked["max_tokens"] == 5
    assert asked["temperature"] == 0.0
    assert (asked["stop"], asked["seed"], asked["think"]) == (["x"], 7, False)
