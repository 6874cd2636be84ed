import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, insert
from tests.unit.store.house import NOON, add_messages, add_session, add_turn

from long_running_agents.domain.context_window import HistoryWindow
from long_running_agents.domain.redaction import Redactor
from long_running_agents.store import messages, sql
from long_running_agents.store.database import Transaction
from long_running_agents.store.job_tables import SCHEMA
from long_running_agents.store.tables import messages as message_table

pytestmark = pytest.mark.anyio


def places(shown):
    return [tuple(json.loads(message.body)) for message in shown]


def seen(database, size):
    return database.read(lambda tx: messages.window(tx, "s", HistoryWindow(size)))


async def test_messages_come_back_in_order_with_their_turns(database):
    await database.write(lambda tx: add_messages(tx, "t1", 2))

    shown = await seen(database, 10)

    assert places(shown) == [
        ("t1", 1, "asked"), ("t1", 1, "said"), ("t1", 2, "asked"), ("t1", 2, "said"),
    ]  # fmt: skip
    assert {message.turn_id for message in shown} == {"t1"}
    assert await database.read(lambda tx: messages.of_turn(tx, "t1")) == shown


async def test_appending_nothing_is_allowed(database):
    await database.write(lambda tx: messages.append(tx, "s", "t1", [], NOON))

    assert await seen(database, 10) == []


async def test_the_window_begins_with_a_turn(database):
    def work(tx):
        add_messages(tx, "t1", 4)
        for number in range(2, 5):
            add_turn(tx, f"t{number}")
            add_messages(tx, f"t{number}", 2)

    await database.write(work)

    assert places(await seen(database, 10))[0] == ("t3", 1, "asked")
    assert len(await seen(database, 10)) == 8
    assert len(await seen(database, 100)) == 20


async def test_a_single_turn_longer_than_the_window_is_shown_whole(database):
    await database.write(lambda tx: add_messages(tx, "t1", 1))
    await database.write(lambda tx: add_turn(tx, "t2"))
    await database.write(lambda tx: add_messages(tx, "t2", 50))

    shown = places(await seen(database, 10))

    assert (shown[0], len(shown)) == (("t2", 1, "asked"), 100)


@given(
    st.lists(st.integers(min_value=1, max_value=12), min_size=1, max_size=30), st.integers(2, 40)
)
def test_a_window_always_begins_with_a_turn_and_ends_with_the_log(steps, size):
    engine = create_engine("sqlite://")
    SCHEMA.create_all(engine)
    with engine.begin() as connection:
        tx = Transaction(connection, Redactor())
        add_session(tx)
        for number, length in enumerate(steps):
            add_turn(tx, f"t{number}")
            add_messages(tx, f"t{number}", length)

        shown = places(messages.window(tx, "s", HistoryWindow(size)))
    engine.dispose()

    assert shown[0][1:] == (1, "asked")
    assert shown[-1] == (f"t{len(steps) - 1}", steps[-1], "said")
    assert len(shown) <= max(size, 2 * steps[-1])


async def test_the_cost_of_a_window_does_not_grow_with_the_log(database):
    def grow(turns):
        rows = [
            {
                "session_id": "s", "seq": 2 * number + part, "turn_id": "t1", "step": 1,
                "kind": ("request", "response")[part - 1], "body": "[]", "created_at": NOON,
            }
            for number in turns
            for part in (1, 2)
        ]  # fmt: skip

        def work(tx):
            sql.take(tx, "s", "last_message", len(rows))
            tx.execute(insert(message_table), rows)

        return database.write(work)

    async def work_done():
        """How many instructions SQLite runs for one window."""
        count = 0

        def tick():
            nonlocal count
            count += 1

        def counted(tx):
            driver = tx._cursor.connection
            messages.window(
                tx, "s", HistoryWindow(20)
            )  # SQLAlchemy asks a little more the first time.
            driver.set_progress_handler(tick, 1)
            shown = messages.window(tx, "s", HistoryWindow(20))
            driver.set_progress_handler(None, 0)
            return len(shown)

        return await database.read(counted), count

    await grow(range(100))
    short = await work_done()
    await grow(range(100, 10_000))
    long = await work_done()

    assert short[0] == long[0]
    assert 0 < long[1] < short[1] * 1.5
