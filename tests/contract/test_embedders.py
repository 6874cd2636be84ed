"""The same stories for every embedder, the fake included."""

import hashlib
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import numpy as np
import pytest
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult
from pydantic_ai.exceptions import ModelHTTPError
from tests.embedder import EmbeddingServer, FakeEmbedder, hashed

from long_running_agents.config.settings import MemorySettings
from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.bundled import BundledEmbedder
from long_running_agents.memory.embedding.provider import ProviderSource
from long_running_agents.memory.embedding.remote import RemoteEmbedder
from long_running_agents.memory.factory import choose_embedder
from long_running_agents.testing import FrozenClock, Script

pytestmark = pytest.mark.anyio

TEXTS = (
    "The boat lies in the harbour.",
    "Le bateau est au port, près du café.",
    "船在港口里。猫はどこですか。",
    "🚢⚓️ 👩‍👩‍👧",
    "line\nbreaks\tand \x00 control \u202e signs",
    "half a pair: \ud83d",
    "?!",
)

PROGRAM = """
import asyncio, hashlib, sys
from tests.contract.test_embedders import TEXTS, opened

async def main():
    async with opened(sys.argv[1]) as embedder:
        rows = await embedder.documents(TEXTS)
    print(rows.shape, hashlib.sha256(rows.tobytes()).hexdigest())

asyncio.run(main())
"""


class WordModel(EmbeddingModel):
    """A provider's model, as Pydantic AI sees it."""

    def __init__(self, failure=None):
        super().__init__()
        self._failure = failure

    model_name = "words"
    system = "scripted"

    async def embed(self, inputs, *, input_type, settings=None):
        inputs, settings = self.prepare_embed(inputs, settings)
        if self._failure is not None:
            raise self._failure
        return EmbeddingResult(
            (3 * hashed(inputs)).tolist(),
            inputs=inputs,
            input_type=input_type,
            model_name=self.model_name,
            provider_name=self.system,
        )


class PassingClock(FrozenClock):
    """Time passes by itself, and at once."""

    async def sleep(self, seconds):
        del seconds


def at_server(url, client, model="text-embedding-nomic-embed-text-v1.5"):
    settings = MemorySettings(embedding_base_url=url, embedding_model=model)
    return choose_embedder(settings, {}, client, clock=PassingClock())


def at_provider(failure=None):
    source = ProviderSource("scripted:words", lambda: WordModel(failure))
    return RemoteEmbedder("scripted:words", source, advice="")


@asynccontextmanager
async def opened(kind):
    """An embedder of a kind."""
    async with (
        EmbeddingServer(Script(())) as server,
        httpx2.AsyncClient(trust_env=False, timeout=300) as client,
    ):
        match kind:
            case "bundled":
                embedder = BundledEmbedder()
            case "server":
                embedder = at_server(server.url, client)
            case "provider":
                embedder = at_provider()
            case _:
                embedder = FakeEmbedder()
        yield embedder
        await embedder.close()


def broken(kind, client):
    match kind:
        case "bundled":
            return BundledEmbedder(Path("nowhere"))
        case "server":
            return at_server("http://127.0.0.1:9/v1", client)
        case "provider":
            return at_provider(ModelHTTPError(401, "words", "no key"))
        case _:
            return FakeEmbedder(failures=None)


@pytest.fixture(params=["bundled", "server", "provider", "fake"])
def kind(request):
    return request.param


@pytest.fixture
async def embedder(kind):
    async with opened(kind) as embedder:
        yield embedder


def close_to(one, other):
    return np.allclose(one, other, atol=1e-6)


async def test_every_text_has_a_vector_of_length_one(embedder):
    rows = await embedder.documents(TEXTS)

    assert rows.shape == (len(TEXTS), embedder.dimensions)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    assert close_to(np.linalg.norm(rows, axis=1), 1)


async def test_a_question_is_one_vector_of_the_same_space(embedder):
    vector = await embedder.query("Where is the boat?")

    assert vector.shape == (embedder.dimensions,)
    assert vector.dtype == np.float32
    assert close_to(np.linalg.norm(vector), 1)


async def test_rows_are_in_the_order_of_the_texts_and_the_company_does_not_matter(embedder):
    texts = [f"{text} {number}" for number in range(30) for text in TEXTS]
    rows = await embedder.documents(texts)

    for place in (0, 5, 63, 64, 65, 128, len(texts) - 1):
        assert close_to(rows[place], (await embedder.documents([texts[place]]))[0])
    assert close_to(rows[::-1], await embedder.documents(texts[::-1]))


@pytest.mark.parametrize("empty", ["", " ", "\n\t  "])
async def test_an_empty_text_is_a_zero_vector_and_harms_no_other(embedder, empty):
    rows = await embedder.documents([TEXTS[0], empty, TEXTS[1]])

    assert not rows[1].any()
    assert close_to(rows[[0, 2]], await embedder.documents(TEXTS[:2]))
    assert not (await embedder.query(empty)).any()


async def test_no_texts_are_no_rows(embedder):
    await embedder.query("known by now")
    rows = await embedder.documents([])

    assert rows.shape == (0, embedder.dimensions)


async def test_a_very_long_text_has_a_vector_like_any_other(embedder):
    text = " ".join(f"{word} {number}" for number in range(5000) for word in TEXTS[0].split())
    assert len(text) > 100_000
    rows = await embedder.documents([text, TEXTS[0]])

    assert close_to(np.linalg.norm(rows, axis=1), 1)


async def test_the_same_text_has_the_same_vector_in_another_process(kind, embedder):
    rows = await embedder.documents(TEXTS)
    arguments = ["-W", "error", "-c", PROGRAM, kind]
    process = await create_subprocess_exec(sys.executable, *arguments, stdout=PIPE)
    said, _ = await process.communicate()

    assert process.returncode == 0
    assert said.decode().strip() == f"{rows.shape} {hashlib.sha256(rows.tobytes()).hexdigest()}"


async def test_shared_words_bring_texts_together(embedder):
    rows = await embedder.documents(
        ["the boat lies in the harbour", "my salary is paid on Friday morning"]
    )
    question = await embedder.query("in which harbour lies the boat")

    assert rows[0] @ question > rows[1] @ question + 0.1


async def test_its_space_has_a_name_and_no_spaces_in_it(embedder):
    assert embedder.space == embedder.space.strip()
    assert ":" in embedder.space
    assert not any(letter.isspace() for letter in embedder.space)


async def test_blank_texts_alone_have_zero_vectors_of_the_right_length(embedder):
    rows = await embedder.documents(["", "  "])

    assert rows.shape == (2, (await embedder.query("harbour")).size)
    assert not rows.any()


async def test_a_failure_says_what_to_do(kind):
    async with httpx2.AsyncClient(trust_env=False, timeout=300) as client:
        embedder = broken(kind, client)
        for asked in (embedder.documents(["one", "two"]), embedder.query("three")):
            with pytest.raises(EmbedderFailed) as caught:
                await asked
            assert caught.value.message
            assert caught.value.hint
