import asyncio
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.embedder import DIMENSIONS, FakeEmbedder
from tests.unit.memory.library import ME, full_library, notes, talk

from long_running_agents.domain.memory import MemoryDraft, MemoryKind
from long_running_agents.memory import words
from long_running_agents.memory.arrays import MemoryArrayCache, packed_signs
from long_running_agents.store import memories as stored
from long_running_agents.store import memory_index

pytestmark = pytest.mark.anyio


async def shelf_of(memories, shelves=None):
    def work(tx):
        space = memory_index.space(tx, FakeEmbedder().space)
        return (shelves or MemoryArrayCache()).current(tx, space, DIMENSIONS)

    return await memories.database.read(work)


def told(shelf):
    """What a shelf says of each memory that is there, whatever slots they have."""
    number = {slot: int(shelf.ids[slot]) for slot in np.flatnonzero(~shelf.gone)}
    return {
        number[slot]: (
            {name: column[slot].item() for name, column in shelf.entries.items()},
            int(shelf.days[slot]),
            number.get(int(shelf.before[slot])),
            number.get(int(shelf.after[slot])),
            shelf.bits[:, slot].tolist() if shelf.embedded[slot] else None,
        )
        for slot in number
    }


@pytest.fixture
async def memories(tmp_path):
    async with full_library(tmp_path / "home") as opened:
        yield opened


async def test_an_empty_database_has_an_empty_shelf(memories):
    assert len(await shelf_of(memories)) == 0


async def test_a_shelf_knows_what_was_said_before_and_after(memories):
    await memories.write_many(ME.owner, talk("Ada: one", "Bob: two", session="s1"))
    await memories.write_many(ME.owner, talk("Ada: other", session="s2"))
    await memories.write_many(ME.owner, talk("Ada: three", session="s1"))

    shelf = await shelf_of(memories)

    assert shelf.before.tolist() == [-1, 0, -1, 1]
    assert shelf.after.tolist() == [1, 3, -1, -1]


async def test_a_shelf_follows_what_is_written_and_leaves_the_old_one_alone(memories):
    shelves = MemoryArrayCache()
    await memories.write_many(ME.owner, talk("Ada: one"))
    before = await shelf_of(memories, shelves)
    await memories.write_many(ME.owner, talk("Ada: two"))

    after = await shelf_of(memories, shelves)

    assert (len(before), len(after)) == (1, 2)
    assert told(after) == told(await shelf_of(memories))


async def test_a_search_keeps_its_names_while_others_are_learnt(memories):
    shelves = MemoryArrayCache()
    await memories.write_many(ME.owner, talk("Ada: one"))
    before = await shelf_of(memories, shelves)
    await memories.write_many(ME.owner, talk("Bob: two"))
    after = await shelf_of(memories, shelves)
    assert "bob" not in before.names
    assert after.names["bob"] in after.actors


async def test_a_shelf_that_missed_too_much_is_read_anew(memories):
    shelves = MemoryArrayCache()
    await memories.write_many(ME.owner, notes("a"))
    await shelf_of(memories, shelves)
    await memories.write_many(ME.owner, notes("b", "c"))
    await memories.database.write(lambda tx: memory_index.prune(tx, 1))
    assert told(await shelf_of(memories, shelves)) == told(await shelf_of(memories))


async def test_another_space_is_another_shelf(memories):
    shelves = MemoryArrayCache()
    await memories.write_many(ME.owner, notes("a"))
    assert (await shelf_of(memories, shelves)).embedded.all()
    bare = await memories.database.read(lambda tx: shelves.current(tx, None, 0))
    assert not bare.embedded.any()
    assert (await shelf_of(memories, shelves)).embedded.all()


def test_signs_are_packed_for_any_number_of_dimensions():
    for dimensions in (1, 63, 64, 65, 384):
        vector = np.ones((1, dimensions), np.float16)
        packed = packed_signs(vector)
        assert packed.shape == (1, -(-dimensions // 64))
        assert np.bitwise_count(packed).sum() == dimensions
    assert packed_signs(np.array([[-1, 0, 2]], np.float16)).view(np.uint8)[0, 0] == 0b00100000


class Story:
    """Does to memories what people do, and keeps what was taken away."""

    def __init__(self, memories):
        self.memories = memories
        self.there = []
        self.taken = []
        self.corrections = 0

    async def tell(self, session):
        self.there += await self.memories.write_many(
            ME.owner, talk("Ada: hello there", "Bob: good day", session=f"s{session}")
        )

    async def note(self, choice):
        self.there += await self.memories.write_many(ME.owner, notes(f"note {choice}"))

    async def correct(self, choice):
        current = [memory for memory in self.there if memory.superseded_by is None]
        if current:
            old = current[choice % len(current)]
            # Never the same words twice: those would be a memory that is there already.
            self.corrections += 1
            draft = MemoryDraft(content=f"better {self.corrections}", kind=MemoryKind.NOTE)
            written = await self.memories.write(ME, draft, supersedes=old.id)
            self.there.remove(old)
            renewed = await self.memories.database.read(lambda tx: stored.get(tx, ME.owner, old.id))
            self.there += [renewed, written.memory]

    async def take(self, choice):
        if self.there:
            memory = self.there.pop(choice % len(self.there))
            await self.memories.database.write(lambda tx: stored.remove(tx, ME.owner, [memory.id]))
            self.taken.append(memory)

    async def undo(self, choice):
        if self.taken:
            memory = self.taken.pop(choice % len(self.taken))
            await self.memories.database.write(
                lambda tx: stored.put_back(tx, memory, [], words.indexed(memory.content))
            )
            self.there.append(memory)


STEPS = st.tuples(
    st.sampled_from(["tell", "note", "correct", "take", "undo"]), st.integers(0, 3), st.booleans()
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=14))
def test_a_shelf_that_followed_equals_a_fresh_one(steps):
    async def run(home):
        async with full_library(home) as memories:
            story, shelves = Story(memories), MemoryArrayCache()
            for name, choice, looked_at in steps:
                await getattr(story, name)(choice)
                if looked_at:
                    followed = await shelf_of(memories, shelves)
                    assert told(followed) == told(await shelf_of(memories))
            assert told(await shelf_of(memories, shelves)) == told(await shelf_of(memories))

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "home"))


async def test_a_search_under_way_is_not_led_beyond_its_shelf(memories):
    shelves = MemoryArrayCache()
    first = talk("Ada: hello there")
    await memories.write_many(ME.owner, first)
    old = await shelf_of(memories, shelves)
    await memories.write_many(ME.owner, talk("Bob: good day"))
    new = await shelf_of(memories, shelves)
    assert len(new) == len(old) + 1
    assert new.after.max() == len(old)
    assert old.after.max() < len(old)
