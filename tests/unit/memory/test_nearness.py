import numpy as np
import pytest
from tests.embedder import DIMENSIONS, FakeEmbedder, hashed
from tests.unit.memory.library import ME, YOU, full_library, library, notes

from long_running_agents.domain.memory import Query
from long_running_agents.memory.arrays import MemoryArrayCache
from long_running_agents.memory.search import visible
from long_running_agents.memory.vectors import VectorIndex
from long_running_agents.store import memory_index

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memories(tmp_path):
    async with full_library(tmp_path / "home") as opened:
        yield opened


async def near(memories, text, viewer=ME):
    def work(tx):
        space = memory_index.space(tx, FakeEmbedder().space)
        shelf = MemoryArrayCache().current(tx, space, DIMENSIONS)
        return shelf, VectorIndex().nearest(
            tx, shelf, space, hashed([text])[0], visible(shelf, viewer)
        )

    return await memories.database.read(work)


async def test_the_nearest_is_first_and_its_cosine_is_exact(memories):
    await memories.write_many(ME.owner, notes("red tea", "green tea", "blue whale"))
    shelf, found = await near(memories, "green tea")
    assert shelf.ids[found.slots[0]] == 2
    assert found.similarity[0] == pytest.approx(1, abs=1e-3)
    assert found.nearness[0] == pytest.approx(1)
    assert np.all(np.diff(found.similarity) <= 0)


async def test_among_many_the_nearest_is_found_without_comparing_all(memories):
    rng = np.random.default_rng(0)
    contents = [" ".join(f"w{word}" for word in rng.integers(0, 200, 6)) for _ in range(1200)]
    await memories.write_many(ME.owner, notes(*contents))
    exact = hashed(contents) @ hashed([contents[700]])[0]

    shelf, found = await near(memories, contents[700])

    assert shelf.ids[found.slots[0]] == 701
    assert len(found.slots) == 80
    kept = set(found.slots.tolist())
    assert len(kept.intersection(np.argsort(-exact)[:10].tolist())) >= 8


async def test_nothing_of_another_owner_is_near(memories):
    await memories.write_many(YOU.owner, notes("green tea"))
    await memories.write_many(ME.owner, notes("blue whale"))
    shelf, found = await near(memories, "green tea")
    assert shelf.ids[found.slots].tolist() == [2]


async def test_a_text_without_meaning_is_near_nothing(memories):
    await memories.write_many(ME.owner, notes("green tea"))
    _, found = await near(memories, "")
    assert not len(found.slots)


async def test_what_has_no_vector_is_not_near(memories):
    memories.embedder.failures = 1
    await memories.write_many(ME.owner, notes("green tea"))
    await memories.write_many(ME.owner, notes("blue whale"))
    shelf, found = await near(memories, "green tea")
    assert shelf.ids[found.slots].tolist() == [2]


async def test_vectors_are_read_from_the_database_when_too_many_to_hold(tmp_path, monkeypatch):
    found = []
    for most in (200_000, 0):
        monkeypatch.setattr("long_running_agents.memory.arrays._MOST_HELD", most)
        async with library(tmp_path / str(most), embedder=FakeEmbedder()) as memories:
            await memories.write_many(ME.owner, notes("green tea", "black tea", "a blue whale"))
            await memories.find(ME, Query(text="tea"))
            await memories.write_many(ME.owner, notes("white tea"))
            hits = (await memories.find(ME, Query(text="tea, green or white"))).hits
            found.append([(hit.memory.content, hit.score, hit.why) for hit in hits])
    assert found[0] == found[1] != []
