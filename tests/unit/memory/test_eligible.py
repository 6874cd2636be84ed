from datetime import timedelta

import numpy as np
import pytest
from tests.unit.memory.library import ME, NOON, YOU, full_library, notes, talk

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    MemoryDraft,
    MemoryKind,
    MemoryScope,
    Query,
    Trust,
    Viewer,
)
from long_running_agents.memory.arrays import MemoryArrayCache
from long_running_agents.memory.search import VisibleMemories, eligible

pytestmark = pytest.mark.anyio


@pytest.fixture
async def memories(tmp_path):
    async with full_library(tmp_path / "home") as opened:
        yield opened


async def shelf_of(memories):
    return await memories.database.read(lambda tx: MemoryArrayCache().current(tx, None, 0))


async def chosen(memories, viewer=ME, now=NOON, **asked):
    """The numbers of what is eligible; kept and fresh masks must agree."""
    shelf = await shelf_of(memories)
    query = Query(text="", **asked)
    fresh, kept = (
        eligible(shelf, viewer, query, now),
        VisibleMemories().eligible(shelf, viewer, query, now),
    )
    assert np.array_equal(fresh, kept)
    return shelf.ids[fresh].tolist()


async def test_an_owner_sees_only_what_is_theirs(memories):
    (mine,) = await memories.write_many(ME.owner, notes("a"))
    (yours,) = await memories.write_many(YOU.owner, notes("a"))

    assert await chosen(memories) == [mine.id]
    assert await chosen(memories, YOU) == [yours.id]
    assert await chosen(memories, Viewer(owner="nobody")) == []


async def test_agents_and_sessions_keep_things_to_themselves(memories):
    wide, agents, sessions = await memories.write_many(
        ME.owner,
        [
            MemoryDraft(content="a"),
            MemoryDraft(content="b", scope=MemoryScope.AGENT, agent="ada"),
            MemoryDraft(content="c", scope=MemoryScope.SESSION, session_id=SessionId("s1")),
        ],
    )
    assert await chosen(memories) == [wide.id]
    assert await chosen(memories, Viewer(agent="ada")) == [wide.id, agents.id]
    assert await chosen(memories, Viewer(agent="bob")) == [wide.id]
    in_session = Viewer(session_id=SessionId("s1"))
    assert await chosen(memories, in_session) == [wide.id, sessions.id]


async def test_each_condition_of_a_query_is_a_filter(memories):
    old = NOON - timedelta(days=9)
    said, noted = await memories.write_many(
        ME.owner,
        [
            *talk("Ada: a", session="s1", trust=Trust.WEB, event_at=old),
            *notes("b", session_id=SessionId("s2"), actor="bob", event_at=NOON),
        ],
    )
    for asked, expected in (
        ({"kinds": frozenset({MemoryKind.NOTE})}, noted),
        ({"session_id": SessionId("s1")}, said),
        ({"not_session": SessionId("s1")}, noted),
        ({"actor": "ADA"}, said),
        ({"least_trust": Trust.USER}, noted),
        ({"since": NOON}, noted),
        ({"until": NOON}, said),
    ):
        assert await chosen(memories, **asked) == [expected.id], asked


async def test_what_was_superseded_is_seen_only_as_of_then(memories):
    (old,) = await memories.write_many(ME.owner, notes("The code is 1234."))
    await memories.clock.advance(60)
    new = await memories.write(
        ME, MemoryDraft(content="The code is 9.", kind=MemoryKind.NOTE), supersedes=old.id
    )

    assert await chosen(memories, now=memories.clock.now()) == [new.memory.id]
    assert await chosen(memories, as_of=NOON + timedelta(seconds=30)) == [old.id]
    assert await chosen(memories, as_of=NOON - timedelta(seconds=1)) == []


async def test_what_expires_is_gone_at_its_hour_although_the_mask_is_kept(memories):
    end = NOON + timedelta(hours=1)
    (brief,) = await memories.write_many(ME.owner, notes("a", expires_at=end))
    shelf, sight, query = await shelf_of(memories), VisibleMemories(), Query(text="")

    before = sight.eligible(shelf, ME, query, end - timedelta(seconds=1))
    after = sight.eligible(shelf, ME, query, end)

    assert shelf.ids[before].tolist() == [brief.id]
    assert not after.any()


async def test_a_kept_mask_is_used_again_until_something_changes(memories):
    await memories.write_many(ME.owner, notes("a"))
    shelves, sight, query = MemoryArrayCache(), VisibleMemories(), Query(text="")
    shelf = await memories.database.read(lambda tx: shelves.current(tx, None, 0))
    first = sight.eligible(shelf, ME, query, NOON)
    assert sight.eligible(shelf, ME, query, NOON + timedelta(days=1)) is first

    await memories.write_many(ME.owner, notes("b"))
    grown = await memories.database.read(lambda tx: shelves.current(tx, None, 0))
    assert len(sight.eligible(grown, ME, query, NOON)) == len(first) + 1


async def test_masks_are_kept_for_a_few_viewers_only(memories):
    await memories.write_many(ME.owner, notes("a"))
    shelf, sight, query = await shelf_of(memories), VisibleMemories(), Query(text="")
    first = sight.eligible(shelf, ME, query, NOON)
    for number in range(20):
        sight.eligible(shelf, Viewer(owner=f"owner-{number}"), query, NOON)
    again = sight.eligible(shelf, ME, query, NOON)
    assert again is not first
    assert np.array_equal(again, first)
