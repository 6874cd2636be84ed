"""Requests of both protocols, read into one."""

import pytest
from pydantic import ValidationError

from long_running_agents.server.openai.history import HistoryEntry, SpeakerRole
from long_running_agents.server.openai.requests import CompletionRequest, ResponsesRequest


def text(words, kind="text"):
    return {"type": kind, "text": words}


def test_a_chat_request():
    body = {
        "model": "lra",
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [text("a"), text("b")]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "junk": 1}]},
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "description": "d"}}],
        "metadata": {"session_id": "from-metadata"},
        "conversation": "from-conversation",
        "stream": True,
    }
    request = CompletionRequest.model_validate(body).request(None)
    assert request.said[1:] == (
        HistoryEntry(role=SpeakerRole.USER, text="a\nb"),
        HistoryEntry(role=SpeakerRole.ASSISTANT, calls=("c1",)),
        HistoryEntry(role=SpeakerRole.TOOL, text="x", call_id="c1"),
    )
    assert (request.instructions, request.stream) == ("Be brief.", True)
    [tool] = request.tools
    assert (tool.name, dict(tool.schema)) == ("f", {"type": "object", "properties": {}})
    assert request.session == "from-conversation"
    assert CompletionRequest.model_validate(body).request("from-header").session == "from-header"


def test_a_responses_request_says_the_same():
    body = {
        "model": "lra",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "a"},
            {"type": "reasoning", "content": [text("?", "reasoning_text")]},
            {"type": "message", "role": "assistant", "content": [text("b", "output_text")]},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "x"},
        ],
        "tools": [{"type": "function", "name": "f"}, {"type": "web_search"}],
    }
    request = ResponsesRequest.model_validate(body).request(None)
    assert request.said == (
        HistoryEntry(role=SpeakerRole.USER, text="a"),
        HistoryEntry(role=SpeakerRole.ASSISTANT, text="b"),
        HistoryEntry(role=SpeakerRole.ASSISTANT, calls=("c1",)),
        HistoryEntry(role=SpeakerRole.TOOL, text="x", call_id="c1"),
    )
    assert request.instructions == "Be brief."
    assert [tool.name for tool in request.tools] == ["f"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"input": []},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_audio"}]}]},
        {"input": "x", "background": True},
        {"input": "x", "prompt": {"id": "p"}},
        {"input": "x", "text": {"format": {"type": "json_schema"}}},
        {"input": "x", "tools": [{"type": "function", "name": "a b"}]},
        {"input": "x", "tools": [{"type": "web_search"}] * 129},
    ],
)
def test_what_a_responses_request_may_not_ask(wrong):
    with pytest.raises(ValidationError):
        ResponsesRequest.model_validate({"model": "lra", **wrong})
