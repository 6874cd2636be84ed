from datetime import UTC, datetime

import pytest

from long_running_agents.domain.model_card import ModelCard
from long_running_agents.models.quirks import ALL, Capabilities, examined, lacking, taught

BODY = {
    "messages": [
        {"role": "system", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "system", "content": "c"},
    ],
    "tools": [{}],
    "tool_choice": "required",
    "response_format": {"type": "json_schema"},
    "stream": True,
    "stream_options": {"include_usage": True},
}

# The words of real servers.
REFUSALS = [
    (400, "registry.ollama.ai/library/gemma3:4b does not support tools", "native_tools"),
    (404, "No endpoints found that support tool use.", "native_tools"),
    (500, "tools param requires --jinja flag", "native_tools"),
    (400, "Tool calling is not supported for this model", "native_tools"),
    (400, 'Invalid value for `tool_choice`: "required" is not supported', "tool_choice"),
    (400, "`tool_choice` must either be a named tool, or 'auto'", "tool_choice"),
    (400, "stream_options: Extra inputs are not permitted", "stream_usage"),
    (500, "Cannot use tools with stream", "streamed_calls"),
    (400, "Streaming tool calls are not supported", "streamed_calls"),
    (400, "tools are not supported in streaming mode", "streamed_calls"),
    (400, "Streaming is not supported by this model", "streaming"),
    (501, "This backend does not support streaming.", "streaming"),
    (400, "JSON schema conversion failed: Unrecognized schema: {}", "hard_schemas"),
    (400, "Failed to parse grammar", "hard_schemas"),
    (400, "response_format is not supported", "structured"),
    (400, "System role not supported", "system_role"),
    (400, "System message must be at the beginning.", "later_system"),
    (500, "Conversation roles must alternate user/assistant/user/assistant/...", "free_roles"),
    (400, "Expected last role User or Tool for serving but got assistant", "free_roles"),
    (400, "Unexpected role 'user' after role 'tool'", "free_roles"),
]


@pytest.mark.parametrize(("status", "message", "lacking"), REFUSALS)
def test_the_words_of_real_servers_are_understood(status, message, lacking):
    assert taught(ALL, status, message, BODY) == Capabilities(**{lacking: False})


@pytest.mark.parametrize(("status", "message", "lacking"), REFUSALS)
def test_the_same_lesson_is_not_learned_twice(status, message, lacking):
    known = Capabilities(**{lacking: False})

    assert taught(known, status, message, BODY) != known


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}


@pytest.mark.parametrize(
    "message",
    [
        "image input is not supported - hint: you may need to provide the mmproj",
        "Invalid content type. image_url is only supported by certain models.",
        "google/gemma-2-9b is not a multimodal model",
        "This model does not support image inputs.",
        "Failed to process: this model is missing data required for image input",
        "No endpoints found that support image input",
        "messages.0.content must be a string",
    ],
)
def test_a_server_that_sees_nothing_is_understood(message):
    shown = {"messages": [{"role": "user", "content": [PICTURE]}]}
    assert taught(ALL, 400, message, shown) == Capabilities(pictures=False)
    assert taught(ALL, 400, message, BODY) is None


@pytest.mark.parametrize(
    "message", ["Invalid image data", "You uploaded an unsupported image.", "image is too large"]
)
def test_a_bad_picture_teaches_nothing(message):
    shown = {"messages": [{"role": "user", "content": [PICTURE]}]}
    assert taught(ALL, 400, message, shown) is None


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_other_trouble_teaches_nothing(status):
    assert taught(ALL, status, "this model does not support tools", BODY) is None


def test_a_refusal_of_what_was_not_asked_for_teaches_nothing():
    body = {"messages": [{"role": "user", "content": "b"}]}

    for status, message, lack in REFUSALS:
        if lack != "free_roles":
            assert taught(ALL, status, message, body) is None


def test_without_a_flag_for_tools_words_are_used():
    message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'
    body = {key: value for key, value in BODY.items() if key != "tool_choice"}

    assert taught(ALL, 400, message, body) == Capabilities(native_tools=False)


def test_lacks_add_up():
    assert Capabilities(native_tools=False).without(
        Capabilities(system_role=False)
    ) == Capabilities(native_tools=False, system_role=False)


def card(**findings):
    usual = {
        "native_tools": True,
        "text_tools": False,
        "streaming": True,
        "streamed_calls": True,
        "usage": True,
        "cuts_silently": False,
    }
    return ModelCard(
        endpoint="http://127.0.0.1:1/v1",
        model="m",
        context_window=None,
        checked_at=datetime(2026, 1, 5, tzinfo=UTC),
        **{**usual, **findings},
    )


@pytest.mark.parametrize(
    ("findings", "lacks"),
    [
        ({}, set()),
        ({"native_tools": False, "text_tools": True, "streamed_calls": False}, {"native_tools"}),
        # Neither way was of use, so nothing speaks for describing tools in words.
        ({"native_tools": False, "streamed_calls": False}, set()),
        ({"streamed_calls": False}, {"streamed_calls"}),
        ({"streaming": False}, {"streaming"}),
        ({"usage": False}, {"stream_usage"}),
    ],
)
def test_a_card_says_what_need_not_be_tried(findings, lacks):
    assert examined(card(**findings)).lacks == lacks


def test_a_lack_that_an_older_version_knew_is_passed_over():
    assert lacking(["native_tools", "telepathy"]) == Capabilities(native_tools=False)
