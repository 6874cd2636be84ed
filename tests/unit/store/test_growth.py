"""Lists take as long as what they show, not as what there is."""

import pytest
from sqlalchemy import text
from tests.unit.store.house import add_session

from long_running_agents.domain.memory import Selection, Viewer
from long_running_agents.store import folds, memories, sessions, turns

pytestmark = pytest.mark.anyio

_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)"


def grow(tx, first, last):
    """So many more sessions with a turn each, and as many memories."""
    for statement in (
        (
            "INSERT INTO sessions (id, title, mode, created_at, updated_at, owner, last_turn,"
            " last_message, last_event, last_task, cleared)"
            " SELECT 's' || i, 'title', 'bounded', i, i, 'you', 1, 0, 0, 0, 0 FROM n"
        ),
        (
            "INSERT INTO turns (id, session_id, number, prompt, origin, attended, status, answer,"
            " error, steps, tool_calls, input_tokens, output_tokens, cost, seconds, renewals,"
            " attempts, created_at, owner, mode) SELECT 'u' || i, 's' || i, 1, 'asked', 'user', 1,"
            " 'done', 'answer ' || i, '', 1, 0, 0, 0, 0, 0, 0, 1, i, 'you', 'bounded' FROM n"
        ),
        (
            "INSERT INTO memories (owner, kind, scope, trust, actor, source, content, digest,"
            " event_at, recorded_at, seen, enabled)"
            " SELECT 'you', iif(i % 5, 'conversation', 'fact'), 'user', 'user', 'user', '',"
            " 'memory ' || i, i, i, i, 1, 1 FROM n"
        ),
    ):
        tx.execute(text(f"{_NUMBERS} {statement}"), {"first": first, "last": last})


async def measured(database, look):
    """How many instructions SQLite runs to show a page, and the page."""
    count = 0

    def tick():
        nonlocal count
        count += 1

    def work(tx):
        driver = tx._cursor.connection
        look(tx)  # SQLAlchemy asks a little more the first time.
        driver.set_progress_handler(tick, 1)
        shown = look(tx)
        driver.set_progress_handler(None, 0)
        return shown

    return await database.read(work), count


async def look_twice(database, look):
    await database.write(lambda tx: grow(tx, 1, 100))
    _, few = await measured(database, look)
    await database.write(lambda tx: grow(tx, 101, 3000))
    shown, many = await measured(database, look)
    assert many < few * 2
    return shown


async def test_a_page_of_sessions(database):
    shown = await look_twice(database, lambda tx: sessions.previews(tx, owner="you", limit=5))
    assert [each.last_words for each in shown] == [f"answer {n}" for n in range(3000, 2995, -1)]


async def test_a_page_of_memories(database):
    def look(tx):
        return memories.listed(tx, Viewer(owner="you"), Selection(), limit=5, offset=3)

    shown = await look_twice(database, look)
    assert [each.content for each in shown] == [f"memory {n}" for n in range(2997, 2992, -1)]


def lengthen(tx, first, last):
    """So many more turns of one session, each with a call, and a fold for every ten."""
    for statement in (
        (
            "INSERT INTO turns (id, session_id, number, prompt, origin, attended, status, answer,"
            " created_at) SELECT 'l' || i, 'long', i, 'asked ' || i, 'user', 1, 'done', 'answer',"
            " i FROM n"
        ),
        (
            "INSERT INTO messages (session_id, seq, turn_id, step, kind, body, created_at)"
            " SELECT 'long', i, 'l' || i, 1, 'request', '{}', i FROM n"
        ),
        (
            "INSERT INTO tool_calls (turn_id, call_id, session_id, step, position, tool, args,"
            " effect, state, result) SELECT 'l' || i, 'c', 'long', 1, 0, 'write_file',"
            " '{\"path\": \"' || i || '.md\"}', 'idempotent', 'done', 'yes' FROM n"
        ),
        (
            "INSERT INTO folds (session_id, first, last, tokens, steps, text, faults, digest,"
            " model, created_at) SELECT 'long', i - 9, i, 0, i, 'In short.', '[]', '', '', i"
            " FROM n WHERE i % 10 = 0 AND i % 50"
        ),
    ):
        tx.execute(text(f"{_NUMBERS} {statement}"), {"first": first, "last": last})


@pytest.mark.parametrize("clear", [False, True])
async def test_what_stands_for_a_long_session_and_the_turn_that_is_next_in_it(database, clear):
    async def looked(last):
        cut = {"cut": last - 1000 if clear else 0}
        at = text("UPDATE sessions SET cleared = :cut WHERE id = 'long'")
        await database.write(lambda tx: tx.execute(at, cut))
        return await measured(
            database,
            lambda tx: (turns.current(tx, "long"), folds.standing_block(tx, "long", last + 1)),
        )

    await database.write(lambda tx: (add_session(tx, "long"), lengthen(tx, 1, 2000)))
    _, few = await looked(2000)
    await database.write(lambda tx: lengthen(tx, 2001, 20_000))
    (current, block), many = await looked(20_000)

    assert many < few * 1.2
    assert current is None
    assert block.began == f"asked {19_001 if clear else 1}"
    assert block.hidden == (1000 if clear else 20_000)
    assert [each.name for each in block.artifacts] == [f"{n}.md" for n in range(20_000, 19_940, -1)]
    # Those that no summary stands for: ten of every fifty.
    assert [turn.number for turn in block.turns[:11]] == [*range(20_000, 19_990, -1), 19_950]
    assert block.folds[-1].last == 19_990
