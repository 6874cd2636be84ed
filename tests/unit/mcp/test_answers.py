import pytest
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from long_running_agents.mcp.base import CallFailed, CallSucceeded
from long_running_agents.mcp.session import answer

DATA = "AAAA" * 100


def said(*content, **more):
    return answer(CallToolResult(content=list(content), **more))


def words(text):
    return TextContent(type="text", text=text)


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (words("hello"), "hello"),
        (
            ImageContent(type="image", data=DATA, mime_type="image/png"),
            "[image, image/png, about 300 bytes: not shown]",
        ),
        (
            AudioContent(type="audio", data=DATA, mime_type="audio/wav"),
            "[audio, audio/wav, about 300 bytes: not shown]",
        ),
        (ResourceLink(type="resource_link", name="a", uri="file:///a"), "[resource a: file:///a]"),
        (
            EmbeddedResource(
                type="resource", resource=TextResourceContents(uri="file:///a", text="inside")
            ),
            "[resource file:///a]\ninside",
        ),
        (
            EmbeddedResource(
                type="resource", resource=BlobResourceContents(uri="file:///b", blob=DATA)
            ),
            "[resource file:///b, unknown type, about 300 bytes: not shown]",
        ),
    ],
)
def test_words_are_shown_and_the_rest_is_named(block, shown):
    assert said(block) == CallSucceeded(shown)


def test_structured_content_is_told_where_no_text_tells_it():
    assert said(structured_content={"a": 1}) == CallSucceeded('{"a": 1}')
    assert said(words("see"), structured_content={"a": 1}) == CallSucceeded('see\n\n{"a": 1}')
    assert said(words('{ "a": 1 }'), structured_content={"a": 1}) == CallSucceeded('{ "a": 1 }')
    assert said(words("5"), structured_content={"result": 5}) == CallSucceeded("5")
    assert said(words("x"), structured_content={"result": "x"}) == CallSucceeded("x")


def test_nothing_is_said_to_be_nothing():
    assert said() == CallSucceeded("(no content)")
    assert said(is_error=True) == CallFailed("The tool failed and does not say why.")


def test_an_error_is_a_failure_in_the_servers_words():
    assert said(words("no such file"), is_error=True) == CallFailed("no such file")
