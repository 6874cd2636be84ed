import asyncio
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from long_running_agents.errors import EmbedderFailed
from long_running_agents.memory.embedding.bundled import BundledEmbedder

pytestmark = pytest.mark.anyio

PROGRAM = """
import asyncio, sys
from long_running_agents.memory.embedding.bundled import BundledEmbedder
embedder = BundledEmbedder()
assert not {"tokenizers", "safetensors"} & set(sys.modules)
asyncio.run(embedder.documents(["hello"]))
assert "tokenizers" in sys.modules
assert not [name for name in sys.modules if name.split(".")[0] in ("wordllama", "huggingface_hub")]
"""


def test_nothing_is_loaded_before_the_first_text_and_no_foreign_code_ever():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


async def test_missing_files_are_reported_with_the_command_that_mends_it(tmp_path):
    with pytest.raises(EmbedderFailed, match=r"weights.*No such file.*pip install"):
        await BundledEmbedder(tmp_path).query("hello")


async def test_other_weights_are_refused(tmp_path):
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(b"others")

    with pytest.raises(EmbedderFailed, match="is not the one"):
        await BundledEmbedder(tmp_path).query("hello")


async def test_a_failure_is_not_for_ever(tmp_path):
    embedder = BundledEmbedder(tmp_path / "data")
    with pytest.raises(EmbedderFailed):
        await embedder.query("hello")
    (tmp_path / "data").symlink_to(Path(find_spec("wordllama").origin).parent)

    assert np.linalg.norm(await embedder.query("hello")) == pytest.approx(1)


async def test_the_first_texts_of_many_are_loaded_once_and_off_the_loop(monkeypatch):
    seen = []
    read = Path.open

    def watched(path, *mode):
        seen.append((path.suffix, threading.current_thread() is threading.main_thread()))
        return read(path, *mode)

    monkeypatch.setattr(Path, "open", watched)
    embedder = BundledEmbedder()
    rows = await asyncio.gather(*(embedder.query(f"text {number}") for number in range(5)))

    assert len(rows) == 5
    assert sorted(seen) == [(".json", False), (".safetensors", False)]


async def test_texts_that_were_embedded_are_not_kept():
    """In a process of its own, whose memory is nobody else's."""
    code = """
import asyncio
from pathlib import Path
from long_running_agents.memory.embedding.bundled import BundledEmbedder

def private():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

async def main():
    embedder = BundledEmbedder()
    await embedder.documents(["word " * 40])
    before = private()
    for number in range(8000):
        await embedder.documents([f"text {number} of {number * 7919} that nobody wrote " * 4])
    print(private() - before)

asyncio.run(main())
"""
    run = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    # With a cache these 8,000 texts take 57 MB.
    assert int(run.stdout) < 8_000


async def test_a_long_text_is_where_its_words_are():
    embedder = BundledEmbedder()
    short = "the harbour master keeps the boats in the harbour"
    rows = await embedder.documents([short, " ".join([short] * 2000)])

    assert rows[0] @ rows[1] > 0.99


async def test_a_question_in_other_words_finds_its_note():
    embedder = BundledEmbedder()
    notes = [
        "The cat gets half a tablet with breakfast.",
        "The staging database is refreshed every Sunday night.",
        "Tomatoes should be watered in the morning.",
    ]
    rows = await embedder.documents(notes)
    asked = ["What medicine does the pet take?", "When is the test data updated?"]

    assert [int(np.argmax(rows @ await embedder.query(text))) for text in asked] == [0, 1]


async def test_after_closing_it_loads_again():
    embedder = BundledEmbedder()
    before = await embedder.query("hello")
    await embedder.close()

    assert np.array_equal(before, await embedder.query("hello"))


async def test_a_short_question_needs_no_waiting_once_everything_is_loaded():
    embedder = BundledEmbedder()
    assert embedder.query_at_once("Where is the heron?") is None

    waited = await embedder.query("Where is the heron?")

    assert np.array_equal(embedder.query_at_once("Where is the heron?"), waited)
    assert embedder.query_at_once("heron " * 1000) is None
