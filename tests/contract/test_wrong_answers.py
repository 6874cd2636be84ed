"""What model servers send that is no answer, too much of one, or one in another form."""

import itertools
import json
from contextlib import asynccontextmanager

import httpx2
import pytest
from pydantic_ai.exceptions import ModelAPIError
from tests.contract.listening import Listening
from tests.contract.raw_server import END, calls, event, raw_server
from tests.contract.serving import BOTH_WAYS, ask, told

from long_running_agents.errors import ModelUnavailable
from long_running_agents.models import chat_messages
from long_running_agents.models.chat_completions import ChatCompletionsModel
from long_running_agents.models.retry import UnreadableAnswer

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>"


@asynccontextmanager
async def model_at(*pieces, repeated=None, **options):
    """A model at a server that sends these bytes, and then one piece for ever if it is given."""

    def sent():
        return itertools.chain(pieces, itertools.repeat(repeated) if repeated else ())

    async with (
        raw_server(sent, **options) as (url, asked),
        httpx2.AsyncClient(trust_env=False, timeout=60) as client,
    ):
        yield ChatCompletionsModel("m", base_url=url, client=client), asked


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "text/event-stream", "application/octet-stream"]
)
@pytest.mark.parametrize("indent", [None, 2], ids=["one line", "many lines"])
async def test_a_stream_that_comes_in_one_piece_is_taken_whatever_it_is_called(kind, indent):
    function = {"name": "look", "arguments": '{"at": "x"}'}
    message = {"content": "Let me see.", "tool_calls": [{"id": "c1", "function": function}]}
    body = {
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 70, "completion_tokens": 3},
    }
    whole = json.dumps(body, indent=indent).encode()
    async with model_at(whole[:30], whole[30:], kind=kind) as (model, asked):
        response = await ask(model, stream=True)

    assert told(response) == ("", "Let me see.", [("look", {"at": "x"})])
    assert (response.usage.input_tokens, response.usage.output_tokens) == (70, 3)
    assert response.finish_reason == "tool_call"
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (PAGE, "text/html; charset=utf-8", "text/html.* begins with '<!DOCTYPE html> <html>"),
        (b"\x00\x01garbage", "application/json", "application/json that begins with .*garbage"),
        (b"what?\n" * 9, "text/event-stream", "text/event-stream that begins with 'what"),
        (b"", "application/json", "application/json that is empty"),
        (b'{"detail": "Not Found"}', "application/json", 'begins with \'{"detail": "Not Found'),
    ],
    ids=["a page", "garbage", "lines", "nothing", "another object"],
)
@BOTH_WAYS
async def test_what_is_no_answer_is_named_and_not_asked_for_again(body, kind, words, stream):
    async with model_at(body, kind=kind) as (model, asked):
        with pytest.raises(UnreadableAnswer, match=words):
            await ask(model, stream=stream)
        with pytest.raises(ModelUnavailable, match="instead of an answer"):
            await Listening(("m", model)).ask()

    assert len(asked) == 2


WORD = event({"content": "word " * 2000})
ENDLESS = {
    "a text": ([], WORD, "an answer of more than 2000000 letters"),
    "a thought": ([], event({"reasoning": "hm " * 3000}), "an answer of more than 2000000 letters"),
    "arguments": (
        [event(calls("look", arguments='{"at": "'))],
        event({"tool_calls": [{"index": 0, "function": {"arguments": "x" * 9000}}]}),
        "an answer of more than 2000000 letters",
    ),
    "a line": ([b"data: "], b"x" * 65536, "a line of more than 8388608 bytes"),
    "something else": ([], b"<p>Words.</p>\n" * 4000, "begins with '<p>Words"),
}


@pytest.mark.parametrize(("first", "more", "words"), ENDLESS.values(), ids=ENDLESS.keys())
async def test_what_has_no_end_is_cut_off(first, more, words):
    async with model_at(*first, repeated=more) as (model, asked):
        with pytest.raises(UnreadableAnswer, match=words):
            await ask(model, stream=True)
        with pytest.raises(ModelAPIError):
            # Without a stream everything is one body.
            await ask(model, stream=False)

    assert len(asked) == 2


async def test_a_stream_of_frames_without_words_is_cut_off(monkeypatch):
    monkeypatch.setattr(chat_messages, "STREAMED", 1 << 20)
    async with model_at(repeated=event({"content": ""}) * 100) as (model, _):
        with pytest.raises(UnreadableAnswer, match="more than 1048576 bytes"):
            await ask(model, stream=True)


async def test_a_refusal_without_end_is_cut_off():
    transport = httpx2.MockTransport(lambda _: httpx2.Response(500, content=b"no " * 4_000_000))
    async with httpx2.AsyncClient(transport=transport) as client:
        model = ChatCompletionsModel("m", base_url="http://model.test/v1", client=client)
        with pytest.raises(UnreadableAnswer, match="more than 8388608 bytes"):
            await ask(model, stream=True)


async def test_an_answer_that_is_packed_is_not_unpacked():
    headers = b"Content-Encoding: gzip\r\n"
    async with model_at(b"\x1f\x8b", headers=headers) as (model, _):
        with pytest.raises(UnreadableAnswer, match="packs its answer as 'gzip'"):
            await ask(model, stream=True)


@pytest.mark.parametrize("count", [chat_messages.CALLS, chat_messages.CALLS + 1])
@BOTH_WAYS
async def test_a_step_has_a_bounded_number_of_calls(count, stream):
    asked = calls(*["look"] * count)
    message = json.dumps({"choices": [{"message": asked}]}).encode()
    sent = event(asked) + END if stream else message
    async with model_at(sent) as (model, _):
        if count <= chat_messages.CALLS:
            assert len((await Listening(("m", model)).ask()).parts) == count
            return
        with pytest.raises(ModelUnavailable, match="more than 128 tool calls at once"):
            await Listening(("m", model)).ask()


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("a\ud800b", "a\ufffdb"), ("\udc00", "\ufffd"), ("🙂\ude42", "🙂\ufffd"), ("🙂", "🙂")],
)
async def test_half_a_letter_becomes_a_mark(sent, kept):
    async with model_at(event({"content": sent}), END) as (model, _):
        assert told(await ask(model, stream=True))[1] == kept


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": 10**30, "prompt_tokens_details": []},
        {"prompt_tokens": "many", "completion_tokens": float("inf")},
        {"prompt_tokens": None, "completion_tokens": {}, "prompt_tokens_details": "x"},
    ],
)
async def test_figures_that_cannot_be_count_as_none(usage):
    last = b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
    async with model_at(event({"content": "Hi"}), last, END) as (model, _):
        response = await ask(model, stream=True)

    assert told(response)[1] == "Hi"
    assert (response.usage.input_tokens, response.usage.output_tokens) == (0, 0)


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": {"delta": {"content": "no"}}},
        {"choices": ["no"]},
        {"choices": [{"delta": "no"}]},
        {"choices": [{"delta": {"tool_calls": "no"}}]},
        {"choices": [{"delta": {"tool_calls": [None, {"function": "no"}]}}]},
    ],
)
async def test_shapes_that_nobody_knows_are_passed_over(chunk):
    odd = b"data: " + json.dumps(chunk).encode() + b"\n\n"
    async with model_at(odd, event({"content": "Hi"}), END) as (model, _):
        assert told(await ask(model, stream=True))[1] == "Hi"
