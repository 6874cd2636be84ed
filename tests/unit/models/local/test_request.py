import pytest

from long_running_agents.errors import UsageError
from long_running_agents.models.chat_protocol import ChatCall, ChatMessage, ChatTool, read_request
from long_running_agents.models.local.engine import Sampling

HI = {"role": "user", "content": "hi"}
LOOK = {"type": "function", "function": {"name": "look"}}


def test_a_whole_conversation_is_read():
    request = read_request(
        {
            "model": "m",
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                },
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "1", "function": {"name": "look", "arguments": '{"at": 1}'}},
                        {"id": "2", "function": {"name": "look", "arguments": {"at": 2}}},
                        {"id": "3", "function": {"name": "look", "arguments": "{oops"}},
                        {"function": {"name": "look"}},
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "a room"},
            ],
            "tools": [LOOK],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_completion_tokens": 5,
            "max_tokens": 9,
            "stop": "x",
            "unknown": "is left alone",
        }
    )

    assert request.messages == (
        ChatMessage("system", "Be brief."),
        ChatMessage("user", "a\nb"),
        ChatMessage(
            "assistant",
            "",
            (
                ChatCall("1", "look", {"at": 1}),
                ChatCall("2", "look", {"at": 2}),
                ChatCall("3", "look", {"arguments": "{oops"}),
                ChatCall("", "look", {}),
            ),
        ),
        ChatMessage("tool", "a room", call_id="1"),
    )
    assert request.tools == (ChatTool("look", "", {}),)
    assert request.choice == "auto"
    assert request.sampling == Sampling(max_tokens=5, stop=("x",))
    assert (request.stream, request.include_usage) == (True, True)


def test_a_named_tool_is_the_only_one_and_required():
    other = {"type": "function", "function": {"name": "other"}}
    choice = {"type": "function", "function": {"name": "look"}}
    request = read_request({"messages": [HI], "tools": [LOOK, other], "tool_choice": choice})

    assert [tool.name for tool in request.tools] == ["look"]
    assert request.choice == "required"


@pytest.mark.parametrize(
    ("wanted", "schema"),
    [
        (None, None),
        ({"type": "text"}, None),
        ({"type": "json_object"}, {"type": "object"}),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {"enum": [1]}}},
            {"enum": [1]},
        ),
    ],
)
def test_the_form_of_an_answer_can_be_asked_for(wanted, schema):
    assert read_request({"messages": [HI], "response_format": wanted}).schema == schema


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "body"),
        ({}, "messages"),
        ({"messages": []}, "no messages"),
        ({"messages": [{"role": "wizard"}]}, r"messages\.0\.role"),
        ({"messages": [HI], "n": 2}, "one answer"),
        ({"messages": [HI], "tool_choice": "required"}, "none is offered"),
        ({"messages": [HI], "tools": [LOOK], "tool_choice": {"function": {"name": "x"}}}, "'x'"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "image_url"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(body, said):
    with pytest.raises(UsageError, match=said):
        read_request(body)
