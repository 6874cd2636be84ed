import json
from datetime import UTC, datetime

import numpy as np
import pytest

from long_running_agents.domain.retry_policy import RetryPolicy
from long_running_agents.memory.embedding.remote import (
    EmbedRefusal,
    Prefixes,
    Shorter,
    prefixes_of,
    remedy,
    rows_of,
    seconds_asked,
)

PATIENCE = RetryPolicy(timeout=1, retries=2, longest_wait=10)
NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def answer(*items):
    return json.dumps({"data": list(items)}).encode()


def item(number, **more):
    return {"embedding": [number, 0], **more}


@pytest.mark.parametrize(
    ("model", "prefixes"),
    [
        (
            "text-embedding-nomic-embed-text-v1.5",
            Prefixes("search_document: ", "search_query: "),
        ),
        ("nomic-embed-text:latest", Prefixes("search_document: ", "search_query: ")),
        ("intfloat/multilingual-e5-large", Prefixes("passage: ", "query: ")),
        ("e5-small-v2", Prefixes("passage: ", "query: ")),
        ("text-embedding-3-small", Prefixes()),
        ("bge-m3", Prefixes()),
    ],
)
def test_a_models_name_tells_what_it_wants_to_read_first(model, prefixes):
    assert prefixes_of(model) == prefixes


@pytest.mark.parametrize(
    ("refusal", "attempt", "expected"),
    [
        (EmbedRefusal("no connection"), 1, 0.5),
        (EmbedRefusal("no connection"), 2, 1.0),
        (EmbedRefusal("no connection"), 3, None),
        (EmbedRefusal("busy", 429, 3.0), 2, 3.0),
        (EmbedRefusal("busy", 429, 11.0), 1, None),
        (EmbedRefusal("broken", 500), 1, 0.5),
        (EmbedRefusal("no key", 401), 1, None),
        (EmbedRefusal("no such model", 404), 1, None),
        (EmbedRefusal("input is too long", 400), 9, Shorter()),
        (EmbedRefusal("input is larger than the batch size", 500), 1, Shorter()),
        (EmbedRefusal("the context was lost", 503), 1, 0.5),
    ],
)
def test_what_is_done_depends_on_what_went_wrong(refusal, attempt, expected):
    assert remedy(refusal, attempt, PATIENCE) == expected


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("2.5", 2.5),
        ("-1", 0),
        ("Mon, 05 Jan 2026 09:00:20 GMT", 20),
        ("Mon, 05 Jan 2026 08:00:00 -0000", 0),
        ("soon", None),
    ],
)
def test_the_wait_a_server_asks_for_is_seconds_or_a_moment(header, seconds):
    assert seconds_asked(header, NOW) == seconds


def test_vectors_are_put_in_the_order_of_their_places():
    rows = rows_of(answer(item(2, index=1), item(3, index=2), item(1, index=0)))

    assert rows[:, 0].tolist() == [1, 2, 3]
    assert rows.dtype == np.float32


def test_without_places_the_order_is_that_of_the_answer():
    assert rows_of(answer(item(2), item(1)))[:, 0].tolist() == [2, 1]


@pytest.mark.parametrize(
    "content",
    [
        b"<html>",
        b"[]",
        b'{"error": "no"}',
        b'{"data": 1}',
        b'{"data": [1]}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"embedding": "AAAA"}]}',
        answer(item(1, index=0), item(1, index=0)),
        answer(item(1, index=0), item(1)),
        answer({"embedding": [1]}, {"embedding": [1, 2]}),
        b"\xff\xfe",
    ],
)
def test_what_is_no_such_answer_is_a_value_error(content):
    with pytest.raises(ValueError, match=r"."):
        rows_of(content)


def test_an_error_in_an_answer_of_success_is_repeated():
    with pytest.raises(ValueError, match="model not loaded"):
        rows_of(b'{"error": {"message": "model not loaded"}}')
