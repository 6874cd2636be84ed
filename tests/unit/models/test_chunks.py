import json
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.exceptions import ModelAPIError

from long_running_agents.models.chat_messages import CallKeys, server_sent, usage_of

pytestmark = pytest.mark.anyio

NAMES = st.sampled_from(["look", "wait", "shell"])
ARGUMENTS = st.dictionaries(st.text(max_size=3), st.integers(), max_size=2).map(json.dumps)
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=5)


def pieces_of(position, call, *, index, ids, pieces):
    """How a server of some kind streams one call."""
    name, arguments = call
    label = {} if index is None else {"index": 0 if index == "same" else position}
    identity = {"id": f"call_{position}"} if ids == "ids" else {"id": ""} if ids == "empty" else {}
    if pieces == 1:
        return [{**label, **identity, "function": {"name": name, "arguments": arguments}}]
    first = {**label, **identity, "function": {"name": name, "arguments": ""}}
    half = len(arguments) // 2
    rest = [arguments[:half], arguments[half:]]
    return [first, *({**label, "function": {"arguments": part}} for part in rest)]


def assembled(stream):
    """The calls that the keys put together."""
    keys = CallKeys()
    marked = [(keys.key(piece), piece["function"]) for piece in stream]
    grouped = groupby(sorted(marked, key=lambda item: item[0]), key=lambda item: item[0])
    return [
        (
            "".join(function.get("name") or "" for _, function in group),
            "".join(function.get("arguments") or "" for _, function in group),
        )
        for group in (list(members) for _, members in grouped)
    ]


@given(
    CALLS,
    st.sampled_from([None, "own", "same"]),
    st.sampled_from(["ids", "empty", "none"]),
    st.sampled_from([1, 3]),
)
def test_parallel_calls_are_told_apart_however_a_server_marks_them(calls, index, ids, pieces):
    stream = [
        piece
        for position, call in enumerate(calls)
        for piece in pieces_of(position, call, index=index, ids=ids, pieces=pieces)
    ]

    assert assembled(stream) == calls


@given(CALLS)
def test_pieces_of_parallel_calls_may_come_interleaved(calls):
    streams = [
        pieces_of(position, call, index="own", ids="ids", pieces=3)
        for position, call in enumerate(calls)
    ]

    assert assembled([piece for row in zip(*streams, strict=True) for piece in row]) == calls


@pytest.mark.parametrize("index", [{}, {"index": 0}])
def test_ids_that_come_again_or_late_do_not_split_a_call(index):
    again = [
        {**index, "id": "a", "function": {"name": "look", "arguments": "{"}},
        {**index, "id": "a", "function": {"arguments": "}"}},
    ]
    late = [
        {**index, "function": {"name": "look", "arguments": "{"}},
        {**index, "id": "a", "function": {"arguments": "}"}},
    ]

    assert assembled(again) == assembled(late) == [("look", "{}")]


def test_a_name_in_two_parts_is_one_name():
    stream = [
        {"index": 0, "id": "a", "function": {"name": "lo", "arguments": ""}},
        {"index": 0, "function": {"name": "ok", "arguments": ""}},
        {"index": 0, "function": {"arguments": "{}"}},
    ]

    assert assembled(stream) == [("look", "{}")]


def test_whole_calls_without_arguments_index_or_id_are_told_apart_by_their_names():
    stream = [{"function": {"name": "look"}}, {"function": {"name": "wait"}}]

    assert assembled(stream) == [("look", ""), ("wait", "")]


def test_blank_names_begin_nothing():
    stream = [
        {"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}},
        {"index": 0, "id": "", "function": {"name": "", "arguments": ""}},
    ]

    assert assembled(stream) == [("look", "{}")]


async def in_pieces(data, size):
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def read(data, size=7):
    return [chunk async for chunk in server_sent(in_pieces(data, size), "m")]


def event(data):
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


END = {"choices": [{"finish_reason": "stop"}]}


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("text", ["plain", "ä€🙂", "a\u2028b\u2029c\x85d\x0be", "\r\n"])
async def test_text_survives_wherever_the_bytes_are_cut(text, size):
    said = {"choices": [{"delta": {"content": text}}]}

    assert await read(event(said) + event(END) + b"data: [DONE]\n\n", size) == [said, END]


async def test_comments_blank_lines_and_carriage_returns_are_skipped():
    data = b": keep-alive\r\n\r\nevent: x\r\n" + event(END).replace(b"\n", b"\r\n")

    assert await read(data + b"data: [DONE]") == [END]


async def test_an_end_mark_or_a_reason_ends_a_stream():
    said = {"choices": [{"delta": {"content": "x"}}]}

    assert await read(event(said) + b"data: [DONE]\n\n") == [said]
    assert await read(event(said) + event(END)) == [said, END]


async def test_a_stream_without_either_was_cut():
    with pytest.raises(ModelAPIError, match="broke off before its end"):
        await read(event({"choices": [{"delta": {"content": "x"}, "finish_reason": None}]}))
    with pytest.raises(ModelAPIError, match="broke off before its end"):
        await read(b"")


async def test_an_error_in_a_stream_is_an_error_and_a_null_is_none():
    with pytest.raises(ModelAPIError, match="the server broke off: overloaded"):
        await read(event({"error": {"message": "overloaded"}}))
    with pytest.raises(ModelAPIError, match="the server broke off: oh no"):
        await read(event({"error": "oh no"}))

    assert len(await read(event({**END, "error": None}))) == 1


@pytest.mark.parametrize("data", ["{broken", "[1]", "3"])
async def test_what_is_no_object_is_refused(data):
    with pytest.raises(ModelAPIError, match="the server sent"):
        await read(f"data: {data}\n\n".encode())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, None),
        ({"usage": None}, None),
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 2}}, (5, 2, 0)),
        ({"usage": {"prompt_tokens": None, "prompt_tokens_details": None}}, (0, 0, 0)),
        (
            {"usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}},
            (5, 0, 4),
        ),
    ],
)
def test_usage_is_what_the_server_says(body, expected):
    usage = usage_of(body)

    assert (
        usage and (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    ) == expected
