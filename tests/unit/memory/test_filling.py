import asyncio

import numpy as np
import pytest
from tests.embedder import FakeEmbedder
from tests.unit.memory.desk import ME, desk, found, ids, orphans, rows, said, stored

from long_running_agents.domain.memory import MemoryDraft, Query, Selection
from long_running_agents.memory import words
from long_running_agents.memory.service import MemoryService
from long_running_agents.memory.vectors import Progress

pytestmark = pytest.mark.anyio

MANY = 600
"""More than two batches."""


@pytest.fixture
async def memories(tmp_path):
    async with desk(tmp_path / "home") as opened:
        yield opened


def with_embedder(memories, embedder):
    return MemoryService(memories.database, embedder, memories.clock)


async def spaces(memories):
    return dict(
        await rows(
            memories,
            "SELECT s.name, count(v.memory_id) FROM memory_spaces s"
            " LEFT JOIN memory_vectors v ON v.space = s.id GROUP BY s.name",
        )
    )


def facts(count=MANY):
    return [MemoryDraft(content=f"fact {number} about herons") for number in range(count)]


class Mirrored(FakeEmbedder):
    """A space in which nothing lies where it lies in the other."""

    async def documents(self, texts):
        return (await super().documents(texts))[:, ::-1]


async def test_another_embedder_gets_a_space_of_its_own_and_the_old_one_goes_last(memories):
    await memories.write_many("me", facts())
    other = with_embedder(memories, Mirrored(space="other"))
    seen = []

    def tell(progress):
        seen.append(progress)

    assert await other.refill(tell) == ""

    assert await spaces(memories) == {"other": MANY}
    assert seen == [Progress(256, 344), Progress(512, 88), Progress(600, 0)]
    assert await orphans(memories) == []


async def test_while_the_space_is_filled_no_vector_of_the_other_is_compared(memories):
    await memories.write_many("me", facts(20))
    other = with_embedder(memories, Mirrored(space="other", failures=None))
    await other.refill()
    other.embedder.failures = 0

    result = await other.find(ME, Query(text="fact 3 about herons"))

    assert "20 memories are not embedded yet" in result.degraded
    assert all("meaning" not in hit.why for hit in result.hits)
    assert result.hits[0].memory.content == "fact 3 about herons"
    await other.refill()
    assert (await other.find(ME, Query(text="fact 3 about herons"))).degraded == ""
    vector = await other.embedder.query("fact 3 about herons")
    _, cosines = await other.searching.similar(ME, Query(text="fact 3"), vector)
    assert cosines[4] == pytest.approx(1, abs=1e-3)
    # In the other space, it would have been near to nothing.
    assert await memories.embedder.query("fact 3 about herons") @ vector < 0.5


async def test_a_failure_in_the_middle_keeps_what_was_made_and_goes_on_from_there(memories):
    await memories.write_many("me", facts())
    embedder = FakeEmbedder(space="other")
    other = with_embedder(memories, embedder)

    def stumble(progress):
        embedder.failures = None

    assert "told to fail" in await other.refill(stumble)
    assert await spaces(memories) == {memories.embedder.space: MANY, "other": 256}
    embedder.failures = 0
    embedder.asked.clear()

    assert await other.refill() == ""

    assert sum(len(texts) for texts in embedder.asked) == MANY - 256
    assert await spaces(memories) == {"other": MANY}


async def test_going_back_before_the_end_makes_only_what_is_missing(memories):
    await memories.write_many("me", facts())
    other = with_embedder(memories, FakeEmbedder(space="other", failures=0))

    def stumble(progress):
        other.embedder.failures = None

    await other.refill(stumble)
    other.embedder.failures = 0
    await other.write_many("me", [MemoryDraft(content="a newcomer")])
    memories.embedder.asked.clear()

    assert await memories.refill() == ""

    assert memories.embedder.asked == [("a newcomer",)]
    assert await spaces(memories) == {memories.embedder.space: MANY + 1}


class Meanwhile(FakeEmbedder):
    """Lets something happen while it is busy."""

    def __init__(self, what):
        super().__init__(space="slow")
        self.what = what

    async def documents(self, texts):
        vectors = await super().documents(texts)
        what, self.what = self.what, None
        if what is not None:
            await what()
        return vectors


async def test_what_is_forgotten_meanwhile_gets_no_vector_and_the_rest_does(memories):
    made = await memories.write_many("me", facts())

    async def forget():
        await memories.forget("me", ids(*made[:256]))

    slow = with_embedder(memories, Meanwhile(forget))

    assert await slow.refill() == ""

    assert await spaces(memories) == {"slow": MANY - 256}
    assert await orphans(memories) == []


async def test_what_was_said_after_something_forgotten_meanwhile_is_embedded_anew(memories):
    talk = await memories.write_many("me", [said("The hidden valley"), said("Let us go")])

    async def forget():
        await memories.forget("me", ids(talk[0]), at_once=True)

    slow = with_embedder(memories, Meanwhile(forget))
    await slow.refill()

    [(blob,)] = await rows(memories, "SELECT vector FROM memory_vectors")
    [alone] = await FakeEmbedder().documents(["Let us go"])
    assert np.allclose(np.frombuffer(blob, np.float16), alone, atol=1e-3)


async def test_a_space_is_not_dropped_for_one_that_lacks_something(memories):
    await memories.write_many("me", facts(3))

    async def write():
        await memories.write_many("me", [MemoryDraft(content="written into the old space")])

    slow = with_embedder(memories, Meanwhile(write))
    await slow.refill()

    assert await spaces(memories) == {"slow": 4}


async def test_several_fillings_at_once_do_no_harm(memories):
    await memories.write_many("me", facts())
    other = with_embedder(memories, FakeEmbedder(space="other"))

    told = await asyncio.gather(*(other.refill() for _ in range(3)))

    assert told == ["", "", ""]
    assert await spaces(memories) == {"other": MANY}


async def test_a_filling_with_nothing_to_do_writes_nothing(memories):
    await stored(memories, "The heron eats frogs")
    before = await rows(memories, "PRAGMA data_version")
    changes = await rows(memories, "SELECT max(revision) FROM memory_changes")

    assert await memories.refill() == ""

    assert await rows(memories, "SELECT max(revision) FROM memory_changes") == changes
    assert await rows(memories, "PRAGMA data_version") == before
    assert memories.embedder.asked == [("The heron eats frogs",)]


async def test_the_vector_that_is_filled_in_is_the_one_that_writing_would_have_made(memories):
    talk = [said("Shall we go?"), said("Yes, at nine."), said("Bring the dog.")]
    await memories.write_many("me", talk)
    [*at_once] = await rows(memories, "SELECT vector FROM memory_vectors ORDER BY memory_id")
    other = with_embedder(memories, FakeEmbedder(space="again"))
    await other.refill()

    assert await rows(memories, "SELECT vector FROM memory_vectors ORDER BY memory_id") == at_once
    assert other.embedder.asked == [
        (
            "Shall we go?",
            words.in_context("Shall we go?", "Yes, at nine."),
            words.in_context("Yes, at nine.", "Bring the dog."),
        )
    ]


async def test_everything_may_be_forgotten_while_it_is_filled(memories):
    await memories.write_many("me", facts(10))

    async def forget():
        await memories.forget("me", Selection(source="user"), at_once=True)

    slow = with_embedder(memories, Meanwhile(forget))

    assert await slow.refill() == ""
    assert await found(slow, "herons") == []
