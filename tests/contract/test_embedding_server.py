"""The embedder of a server, against real HTTP."""

from contextlib import asynccontextmanager

import httpx2
import numpy as np
import pytest
from tests.embedder import EmbeddingServer

from long_running_agents.domain.retry_policy import RetryPolicy
from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.remote import (
    PATIENCE,
    RemoteEmbedder,
    ServerSource,
)
from long_running_agents.testing import (
    FrozenClock,
    Rule,
    Script,
    cut,
    fail,
    garbage,
    hang,
    say,
)

pytestmark = pytest.mark.anyio

HURRIED = dict.fromkeys(("document", "query"), RetryPolicy(timeout=0.2, retries=1, longest_wait=9))


class NotingClock(FrozenClock):
    """Notes how long it was asked to wait, and does not."""

    def __init__(self):
        super().__init__()
        self.naps = []

    async def sleep(self, seconds):
        self.naps.append(seconds)


@asynccontextmanager
async def serving(*replies, model="words", key="", patience=PATIENCE, require_key=None):
    clock = NotingClock()
    rules = (Rule("trouble", replies),) if replies else ()
    async with (
        EmbeddingServer(Script(rules), require_key=require_key) as server,
        httpx2.AsyncClient(trust_env=False, timeout=300) as client,
    ):
        source = ServerSource(
            model,
            base_url=f"{server.url}/",
            place="here",
            client=client,
            clock=clock,
            api_key=key,
            advice="Mend it.",
            patience=patience,
        )
        yield server, RemoteEmbedder("server:words@here", source, advice="Mend it."), clock


async def test_many_texts_are_sent_in_batches():
    async with serving() as (server, embedder, _):
        rows = await embedder.documents([f"text {number}" for number in range(130)])

    assert rows.shape == (130, 64)
    assert [len(sent["input"]) for sent in server.embedding_requests] == [64, 64, 2]
    assert server.embedding_requests[0]["model"] == "words"
    assert server.requests == []


async def test_a_model_that_wants_prefixes_gets_them():
    async with serving(model="text-embedding-nomic-embed-text-v1.5") as (server, embedder, _):
        await embedder.documents(["a boat"])
        await embedder.query("which boat?")

    sent = [request["input"] for request in server.embedding_requests]
    assert sent == [["search_document: a boat"], ["search_query: which boat?"]]


async def test_blank_texts_are_not_sent():
    async with serving() as (server, embedder, _):
        rows = await embedder.documents(["", "boat", " "])

    assert [sent["input"] for sent in server.embedding_requests] == [["boat"]]
    assert rows.any(axis=1).tolist() == [False, True, False]


@pytest.mark.parametrize("trouble", [fail(503), fail(429), garbage(), cut(0)])
async def test_passing_trouble_of_the_server_is_survived_unless_its_answer_is_no_json(trouble):
    async with serving(trouble, say("")) as (_, embedder, clock):
        if trouble == garbage():
            with pytest.raises(EmbedderFailed, match="not understood"):
                await embedder.documents(["trouble"])
        else:
            rows = await embedder.documents(["trouble"])
            assert np.linalg.norm(rows) == pytest.approx(1)
            assert clock.naps == [0.5]


async def test_the_wait_is_the_one_the_server_asks_for():
    async with serving(fail(429, 7, times=2), say("")) as (_, embedder, clock):
        await embedder.documents(["trouble"])

    assert clock.naps == [7, 7]


async def test_repetition_ends():
    async with serving(fail(500, message="on fire", times=None)) as (server, embedder, clock):
        with pytest.raises(EmbedderFailed, match=r"words at here failed: HTTP 500: on fire\."):
            await embedder.documents(["trouble"])

    assert len(server.embedding_requests) == 4
    assert clock.naps == [0.5, 1, 2]


async def test_whoever_asks_a_question_is_not_kept_waiting():
    async with serving(fail(429, 7, times=None)) as (server, embedder, clock):
        with pytest.raises(EmbedderFailed):
            await embedder.query("trouble")

    assert len(server.embedding_requests) == 1
    assert clock.naps == []


async def test_a_server_that_hangs_is_given_up():
    async with serving(hang(times=None), patience=HURRIED) as (server, embedder, _):
        with pytest.raises(EmbedderFailed, match=r"no answer within 0\.2 seconds"):
            await embedder.documents(["trouble"])

    assert len(server.embedding_requests) == 2


async def test_a_request_that_is_wrong_is_not_repeated():
    async with serving(fail(404, message="no such model", times=None)) as (server, embedder, _):
        with pytest.raises(EmbedderFailed, match="no such model"):
            await embedder.documents(["trouble"])

    assert len(server.embedding_requests) == 1


async def test_a_text_too_long_for_the_model_is_shortened_and_the_others_are_not():
    long, other = "harbour " * 990, "boat " * 700
    async with serving() as (server, embedder, _):
        rows = await embedder.documents([long, other, "boat"])
        lengths = [[len(text) for text in sent["input"]] for sent in server.embedding_requests]
        alone = await embedder.documents([other])

    assert lengths == [[7919, 3499, 4], [7919], [3959], [3499], [4]]
    assert np.allclose(rows[1], alone[0])
    assert rows[0] @ (rows[1] - rows[2]) == pytest.approx(0)


async def test_a_server_that_finds_everything_too_long_is_given_up():
    refusing = fail(400, message="maximum context length exceeded", times=None)
    async with serving(refusing) as (server, embedder, _):
        with pytest.raises(EmbedderFailed, match="maximum context"):
            await embedder.documents(["trouble " * 1000])

    assert len(server.embedding_requests) == 6


async def test_the_key_is_shown_to_the_server_and_to_nobody_else():
    async with serving(key="sk-secret", require_key="sk-secret") as (_, embedder, _):
        assert (await embedder.query("boat")).any()
    echoing = fail(401, message="bad key sk-secret", times=None)
    async with serving(echoing, key="sk-secret") as (_, embedder, _):
        with pytest.raises(EmbedderFailed) as caught:
            await embedder.query("trouble")

    assert "bad key" in str(caught.value)
    assert "sk-secret" not in str(caught.value)
