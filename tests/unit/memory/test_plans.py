"""No everyday statement walks through everything an owner has."""

import re
import sqlite3

import pytest
from tests.unit.memory.desk import ME, TALK, a_turn, desk, ids, remember, said, stored
from tests.unit.store.house import add_session, add_turn, every_connection

from long_running_agents.domain.memory import MemoryDraft, Selection

pytestmark = pytest.mark.anyio

# Reading everything at once is what these are for.
MEANT = re.compile(
    r"FROM memory_entries ORDER|FROM memory_vectors\s+WHERE memory_vectors.space = \d+ ORDER"
    r"|DISTINCT|FROM memory_names|json_each|count\(\*\)"
)


@pytest.fixture
async def memories(tmp_path):
    async with desk(tmp_path / "home") as opened:
        await opened.database.write(
            lambda tx: add_turn(tx, "t1", add_session(tx, TALK).id, prompt="hi")
        )
        yield opened


async def statements(memories, work):
    """What SQLite was asked while some work was done, as it was asked."""
    seen = []
    with every_connection(memories.database, lambda driver: driver.set_trace_callback(seen.append)):
        await work
    return [text for text in dict.fromkeys(seen) if re.match(r"\s*(SELECT|UPDATE|DELETE)", text)]


def walks(path, text):
    """The steps of a plan that go through all memories of an owner, or of everyone."""
    connection = sqlite3.connect(path)
    try:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
    finally:
        connection.close()
    return [
        step
        for step in plan
        if re.match(r"SCAN (memories|memory_vectors|memory_links|memory_entries)\b", step)
        or ("memories_by_owner" in step and "rowid" not in step)
    ]


async def test_writing_correcting_remembering_and_forgetting_look_up_what_they_need(memories):
    async def work():
        old = await stored(memories, "The heron eats frogs")
        new = await memories.write(
            ME, MemoryDraft(content="The heron eats fish"), supersedes=old.id
        )
        await memories.write(ME, MemoryDraft(content="The heron eats fish"))
        await memories.write_many("me", [said("Hello"), said("And hello again")])
        turn = a_turn("t1")
        await remember(memories, turn, "lra", [old.id])
        await remember(memories, turn, "lra", [old.id])
        derived = await stored(memories, "A note on fish", derived_from=(new.memory.id,))
        await memories.show("me", derived.id)
        gone = await memories.forget("me", ids(new.memory))
        await memories.undo("me", gone.batch)
        gone = await memories.forget("me", Selection(session_id=TALK))
        await memories.undo("me", gone.batch)
        await memories.forget("me", Selection(source="file:x"))

    asked = await statements(memories, work())

    assert len(asked) > 40
    path = memories.database.path
    assert [
        (text, steps) for text in asked if not MEANT.search(text) and (steps := walks(path, text))
    ] == []


async def test_numbers_are_looked_up_even_where_an_owner_is_asked_for(memories):
    """What has json_each in it takes a list of numbers, and must go by them."""
    memory = await stored(memories, "The heron eats frogs")
    await memories.write_many("me", [said("Hello")])

    async def work():
        note = await stored(memories, "A note", derived_from=(memory.id,))
        gone = await memories.forget("me", ids(memory, note))
        await memories.undo("me", gone.batch)

    asked = [text for text in await statements(memories, work()) if "json_each" in text]

    assert len(asked) > 10
    assert [(t, steps) for t in asked if (steps := walks(memories.database.path, t))] == []
