"""The same stories for every vector index: the built-in one, and the real ChromaDB."""

import os
import subprocess
import sys
from contextlib import asynccontextmanager

import numpy as np
import pytest
from tests.embedder import FakeEmbedder
from tests.unit.memory.shelter import ME, NOON, correct, fact, forget, found, turns
from tests.unit.store.house import house

from long_running_agents.app import open_memories
from long_running_agents.config import load
from long_running_agents.domain.memory import MemoryDraft, MemoryKind, MemoryScope, Query, Viewer
from long_running_agents.errors import ConfigError
from long_running_agents.memory import chroma
from long_running_agents.memory.chroma import ChromaIndex
from long_running_agents.memory.embedding.base import unit
from long_running_agents.memory.service import MemoryService
from long_running_agents.memory.vectors import VectorIndex
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


class Watched:
    """An index that remembers what it answered."""

    def __init__(self, index):
        self.index = index
        self.near = None
        self.shelf = None

    def nearest(self, tx, shelf, space, question, eligible):
        self.shelf = shelf
        self.near = self.index.nearest(tx, shelf, space, question, eligible)
        return self.near

    async def follow(self, database, space):
        await self.index.follow(database, space)

    @property
    def numbers(self):
        return self.shelf.ids[self.near.slots].tolist()


@asynccontextmanager
async def opened(kind, folder, *, home="home", embedder=None):
    """Memories with an index of a kind."""
    index = Watched(ChromaIndex(folder / "chroma") if kind == "chroma" else VectorIndex())
    async with house(folder / home) as database:
        yield MemoryService(database, embedder or FakeEmbedder(), FrozenClock(NOON), index)


@pytest.fixture(params=["built-in", "chroma"])
def kind(request):
    return request.param


@pytest.fixture
async def memories(kind, tmp_path):
    async with opened(kind, tmp_path) as memories:
        yield memories


async def near(memories, text, owner=ME, **query):
    """The numbers of the memories that an index finds nearest."""
    memories._index.near = None
    await memories.find(Viewer(owner=owner), Query(text=text, **query))
    return [] if memories._index.near is None else memories._index.numbers


WORDS = ("boat", "harbour", "sail", "mast", "rope", "anchor", "deck", "crew", "storm", "tide")


def sentences(count, seed=1):
    chance = np.random.default_rng(seed)
    return [f"{' '.join(chance.choice(WORDS, 6))} {number}" for number in range(count)]


class Turned(FakeEmbedder):
    """Shared words bring texts together, and numbers are as often below zero as above it."""

    async def documents(self, texts):
        chance = np.random.default_rng(7)
        rows = await super().documents(texts)
        return unit(rows @ chance.normal(size=(rows.shape[1],) * 2).astype(np.float32))


async def test_the_nearest_are_those_that_an_exact_comparison_finds(kind, tmp_path):
    async with opened(kind, tmp_path, embedder=Turned()) as memories:
        await compare_with_exact(memories)


async def compare_with_exact(memories):
    texts = sentences(400)
    stored = await memories.write_many(ME, [MemoryDraft(content=text) for text in texts])
    embedder = memories.embedder
    vectors = (await embedder.documents(texts)).astype(np.float16).astype(np.float32)

    for text in ("boat in the storm", "gull on deck and mast", "anchor rope tide"):
        numbers = await near(memories, text)
        (meant,) = embedder.asked[-1]
        similar = unit(vectors) @ await embedder.query(meant)
        exact = [stored[place].id for place in np.argsort(-similar, kind="stable")[:10]]
        ours = dict(zip(numbers, memories._index.near.similarity.tolist(), strict=True))

        assert len(numbers) == 80
        assert numbers[:5] == exact[:5]
        assert len(set(exact) & set(numbers)) >= 9
        for number in exact[:5]:
            assert ours[number] == pytest.approx(similar[number - stored[0].id], abs=1e-3)
        assert memories._index.near.nearness.max() == pytest.approx(1)


async def test_nothing_of_another_owner_is_near(memories):
    for number in range(50):
        await fact(memories, f"boat storm harbour {number}", owner="her")
    mine = await fact(memories, "gull on the island")

    assert await near(memories, "boat storm harbour") == [mine.id]
    assert len(await near(memories, "boat storm harbour", owner="her")) == 50
    assert await near(memories, "boat storm harbour", owner="nobody") == []


async def test_what_may_be_seen_is_found_behind_a_crowd_of_what_may_not(memories):
    crowd = [
        MemoryDraft(content=f"boat storm {number}", scope=MemoryScope.SESSION, session_id="s1")
        for number in range(900)
    ]
    await memories.write_many(ME, crowd)
    few = await memories.write_many(
        ME, [MemoryDraft(content=f"gull {number}") for number in range(5)]
    )
    await memories.refill()

    assert sorted(await near(memories, "boat storm")) == [memory.id for memory in few]


async def test_a_filter_is_applied_before_the_nearest_are_chosen(memories):
    await memories.write_many(ME, [MemoryDraft(content=f"boat storm {n}") for n in range(200)])
    note = await fact(memories, "gull on the island", kind=MemoryKind.NOTE)

    assert await near(memories, "boat storm", kinds=frozenset({MemoryKind.NOTE})) == [note.id]


async def test_a_memory_is_near_as_soon_as_it_is_written(memories):
    await fact(memories, "gull on the island")
    await near(memories, "boat storm")

    boat = await fact(memories, "boat in a storm")

    assert (await near(memories, "boat storm"))[0] == boat.id


async def test_what_is_forgotten_is_not_near_until_it_is_brought_back(memories):
    boat = await fact(memories, "boat in a storm")
    gull = await fact(memories, "gull on the island")
    assert await near(memories, "boat storm") == [boat.id, gull.id]

    gone = await forget(memories, boat.id)
    assert await near(memories, "boat storm") == [gull.id]

    await memories.undo(ME, gone.batch)
    assert await near(memories, "boat storm") == [boat.id, gull.id]


async def test_what_was_superseded_is_near_only_in_its_time(memories):
    old = await fact(memories, "boat in a storm")
    memories.clock.set(NOON.replace(hour=14))
    new = await correct(memories, old, "boat in the harbour")

    assert await near(memories, "boat") == [new.id]
    assert await near(memories, "boat", as_of=NOON.replace(hour=13)) == [old.id]


async def test_a_memory_whose_vector_was_made_anew_is_near_by_the_new_one(memories):
    asked, answer = await turns(memories, ("user", "anchor rope?"), ("lra", "gull island"))
    assert (await near(memories, "gull island anchor rope"))[0] == answer.id
    before = memories._index.near.similarity[0]

    await forget(memories, asked.id)

    assert await near(memories, "gull island anchor rope") == [answer.id]
    assert memories._index.near.similarity[0] < before


async def test_another_embedder_has_its_own_vectors(kind, tmp_path):
    async with opened(kind, tmp_path) as memories:
        boat = await fact(memories, "boat in a storm")
        await near(memories, "boat")
    async with opened(kind, tmp_path, embedder=FakeEmbedder(space="fake:other:2")) as memories:
        assert await near(memories, "boat") == []
        await memories.refill()

        assert await near(memories, "boat") == [boat.id]


async def test_it_finds_the_same_after_it_was_closed(kind, tmp_path):
    async with opened(kind, tmp_path) as memories:
        await memories.write_many(ME, [MemoryDraft(content=text) for text in sentences(300)])
        before = await near(memories, "boat in the storm")
    async with opened(kind, tmp_path) as memories:
        assert await near(memories, "boat in the storm") == before


async def test_nothing_is_near_to_nothing(memories):
    assert await near(memories, "boat") == []
    await fact(memories, "boat in a storm")

    assert await near(memories, "?!") == []


async def test_both_indexes_answer_alike(tmp_path):
    answers = []
    for kind in ("built-in", "chroma"):
        async with opened(kind, tmp_path, home=kind) as memories:
            for text in sentences(60):
                await fact(memories, text)
            answers.append([await found(memories, text) for text in ("boat storm", "gull tide")])

    assert answers[0] == answers[1]


# What only ChromaDB has to show.


def collection(memories):
    return memories._index.index._collection


async def many(memories, count=1200, seed=1):
    await memories.write_many(ME, [MemoryDraft(content=text) for text in sentences(count, seed)])


async def test_it_is_really_asked(tmp_path):
    async with opened("chroma", tmp_path) as memories:
        await many(memories, 300)
        first, *_ = await near(memories, "boat storm")
        collection(memories).delete(ids=[str(first)])

        assert first not in await near(memories, "boat storm")


def test_a_folder_is_used_where_one_is_set(tmp_path):
    assert type(chroma.chosen_index("")) is VectorIndex
    assert isinstance(chroma.chosen_index(str(tmp_path)), ChromaIndex)


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_home_uses_the_folder_of_its_settings_unless_it_only_looks(tmp_path, read_only):
    folder = tmp_path / "index"
    environ = {"VECTOR_STORE_PATH": str(folder), "LRA_MEMORY__EMBEDDER": "bundled"}
    loaded = load(home=tmp_path / "home", environ=environ)
    async with open_memories(loaded) as memories:
        await fact(memories, "boat in a storm")
    async with open_memories(loaded, read_only=read_only) as memories:
        assert await found(memories, "boat") == ["boat in a storm"]

    assert folder.exists() is not read_only


async def test_until_a_large_collection_is_filled_the_built_in_index_answers(tmp_path):
    async with opened("chroma", tmp_path) as memories:
        await many(memories)
        assert await near(memories, "boat storm")
        waiting = memories._index.near.similarity
        assert collection(memories).count() == 0

        await memories.refill()

        assert collection(memories).count() == 1200
        assert await near(memories, "boat storm")
        # Many are nearly as near; the built-in index compares only some of them exactly.
        assert memories._index.near.similarity[0] == pytest.approx(waiting[0], abs=0.1)


async def test_filling_goes_on_where_it_was_cut_off(tmp_path):
    async with opened("chroma", tmp_path) as memories:
        await many(memories)
        index = memories._index.index
        await memories.database.read(lambda tx: index._advance(tx, memories.embedder.space))
        assert collection(memories).count() == 1000
    async with opened("chroma", tmp_path) as memories:
        await fact(memories, "gull on the island")
        await memories.refill()

        assert collection(memories).count() == 1201


async def test_the_collection_of_another_database_is_made_anew(tmp_path):
    async with opened("chroma", tmp_path, home="one") as memories:
        await many(memories, 30)
        await near(memories, "boat")
    async with opened("chroma", tmp_path, home="two") as memories:
        await many(memories, 30, seed=2)
        await near(memories, "boat")
        vectors = collection(memories).get(ids=["1"], include=["embeddings"])["embeddings"]

        expected = await memories.embedder.documents(sentences(1, seed=2))
        assert np.allclose(vectors, expected, atol=1e-3)


async def test_a_collection_that_lost_something_is_made_anew(tmp_path):
    async with opened("chroma", tmp_path) as memories:
        await many(memories, 30)
        await near(memories, "boat")
        collection(memories).delete(ids=["3"])
    async with opened("chroma", tmp_path) as memories:
        await near(memories, "boat")

        assert collection(memories).count() == 30


async def test_changes_that_nobody_knows_any_more_lead_to_a_new_collection(tmp_path):
    async with opened("chroma", tmp_path) as memories:
        await many(memories, 30)
        await near(memories, "boat")
    async with opened("built-in", tmp_path) as memories:
        await forget(memories, 1, 2, 3)
        await memories.database.write(lambda tx: chroma.memory_index.prune(tx, 1))
    async with opened("chroma", tmp_path) as memories:
        await near(memories, "boat")

        assert collection(memories).count() == 27


async def test_what_was_forgotten_leaves_the_collection_and_no_text_is_ever_in_it(tmp_path):
    async with opened("chroma", tmp_path) as memories:
        boat = await fact(memories, "Zanzibar is where the boat lies.")
        await fact(memories, "gull on the island")
        await near(memories, "boat")
        await forget(memories, boat.id)

        assert collection(memories).count() == 1
    files = [path for path in (tmp_path / "chroma").rglob("*") if path.is_file()]
    assert files
    assert not any(b"Zanzibar" in path.read_bytes() for path in files)


async def test_a_broken_folder_is_reported_and_the_built_in_index_answers(tmp_path, caplog):
    (tmp_path / "chroma").mkdir()
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"no database" * 1000)
    async with opened("chroma", tmp_path) as memories:
        boat = await fact(memories, "boat in a storm")

        assert await near(memories, "boat storm") == [boat.id]
        await memories.refill()

    assert caplog.text.count("the built-in index is used") == 1


def test_without_the_package_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "chromadb", None)

    with pytest.raises(ConfigError, match="ChromaDB is not installed") as caught:
        ChromaIndex(tmp_path)

    assert "pip install 'long-running-agents[chroma]'" in caught.value.hint


PROGRAM = """
import asyncio, pathlib, socket, sys

def refuse(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple):
        raise AssertionError(f"it speaks to {args[1]}")
sys.addaudithook(refuse)

from long_running_agents.memory.chroma import ChromaIndex
assert "chromadb" not in sys.modules
from tests.contract.test_vector_indexes import fact, near, opened

async def main():
    async with opened("chroma", pathlib.Path(sys.argv[1])) as memories:
        await fact(memories, "boat in a storm")
        print(await near(memories, "boat"))

asyncio.run(main())
"""


def test_it_asks_no_network_and_fetches_no_model(tmp_path):
    person = tmp_path / "person"
    person.mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path)],
        env={**os.environ, "HOME": str(person)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "[1]\n", "")
    assert list(person.rglob("*.onnx")) == []
    assert list(person.rglob("chroma")) == []
