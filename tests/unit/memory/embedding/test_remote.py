import numpy as np
import pytest
from pydantic_ai.embeddings import TestEmbeddingModel
from pydantic_ai.exceptions import ModelHTTPError, UserError

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.provider import ProviderSource, library_model
from long_running_agents.memory.embedding.remote import LONGEST, RemoteEmbedder

pytestmark = pytest.mark.anyio


class Answers:
    """A source that gives these rows, one answer after the other."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.asked = []

    async def embed(self, texts, purpose):
        self.asked.append((list(texts), purpose))
        return np.array(self._answers.pop(0), np.float32)


def embedder(*answers):
    return RemoteEmbedder("server:x@y", Answers(*answers), advice="Check the setting.")


async def test_the_length_of_vectors_is_known_after_the_first():
    asked = embedder([[3, 4]])
    assert asked.dimensions is None
    assert (await asked.documents([])).shape == (0, 0)
    assert np.allclose(await asked.query("a"), [0.6, 0.8])
    assert asked.dimensions == 2


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([[[1, 0]], [[1, 0, 0]]], "vectors of 3 numbers, and of 2 before"),
        ([[[1, 0]], [[1, 0], [0, 1]]], "2 vectors for 1 texts"),
        ([[[1, 0]], [[]]], "1 vectors for 1 texts"),
        ([[[1, 0]], [[1, np.nan]]], "numbers that are none"),
    ],
)
async def test_nonsense_is_refused(answers, message):
    asked = embedder(*answers)
    await asked.query("a")
    with pytest.raises(EmbedderFailed, match=rf"{message}\. Check the setting"):
        await asked.query("b")


async def test_only_the_start_of_a_long_text_is_sent():
    source = Answers([[1, 0]])
    await RemoteEmbedder("s:x", source, advice="").documents(["x" * 100_000])

    assert source.asked == [(["x" * LONGEST], "document")]


async def test_a_provider_is_told_what_a_text_is_for():
    model = TestEmbeddingModel(dimensions=3)
    rows = await ProviderSource("test:test", lambda: model).embed(["a", "b"], "query")

    assert rows.tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    "error",
    [
        ImportError("Please install cohere"),
        UserError("Set the CO_API_KEY"),
        ModelHTTPError(429, "x", "slow down"),
        ConnectionResetError("reset by peer"),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_provider_raises_is_one_kind_of_failure(error):
    def make():
        raise error

    with pytest.raises(EmbedderFailed, match="cohere:embed failed") as caught:
        await ProviderSource("cohere:embed", make).embed(["a"], "document")
    assert "memory.embedding_model" in caught.value.hint
    assert caught.value.__cause__ is error


async def test_a_missing_package_is_named_at_the_first_text(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cohere", None)
    source = ProviderSource("cohere:x", lambda: library_model("cohere:x", {"CO_API_KEY": "k"}))
    with pytest.raises(EmbedderFailed, match=r"pydantic-ai-slim\[cohere\]"):
        await source.embed(["a"], "document")
