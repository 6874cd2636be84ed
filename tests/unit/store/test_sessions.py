from datetime import timedelta

import pytest
from tests.unit.store.house import (
    NOON,
    SESSION,
    add_messages,
    add_session,
    add_turn,
    end_turn,
    later,
)

from long_running_agents.domain.budget import Usage
from long_running_agents.domain.events import TextWritten
from long_running_agents.errors import NotFound
from long_running_agents.store import events, messages, sessions, tasks, turns, usage
from long_running_agents.store.job_tables import SCHEMA

pytestmark = pytest.mark.anyio


def listed(database, **options):
    return database.read(lambda tx: [p.session.id for p in sessions.previews(tx, **options)])


async def test_a_session_comes_back_as_it_was(database):
    made = await database.write(lambda tx: add_session(tx, "two", title="Zwei ä"))

    assert await database.read(lambda tx: sessions.get(tx, "two")) == made
    assert await database.read(lambda tx: sessions.find(tx, "none")) is None
    with pytest.raises(NotFound, match=r"No session 'none'.*sessions list"):
        await database.read(lambda tx: sessions.get(tx, "none"))


async def test_the_latest_session_comes_first_with_its_last_words(database):
    def work(tx):
        add_session(tx, "two", at=later(5))
        add_turn(tx, "u1", "two", prompt="What now?")
        end_turn(tx, "t1", answer="First  line\n\nsecond " + "x" * 200)

    await database.write(work)

    newer, older = await database.read(sessions.previews)
    assert (newer.session.id, newer.turns, newer.last_words) == ("two", 1, "What now?")
    assert older.last_words.startswith("First line second xxx")
    assert len(older.last_words) <= 100
    assert (await database.read(sessions.newest)).id == "two"


async def test_a_session_without_turns_has_no_last_words(database):
    await database.write(lambda tx: add_session(tx, "empty", at=later(1)))

    first = (await database.read(sessions.previews))[0]
    assert (first.session.id, first.turns, first.last_words) == ("empty", 0, "")


async def test_the_list_is_paged(database):
    await database.write(
        lambda tx: [add_session(tx, f"s{number}", at=later(number)) for number in range(1, 6)]
    )

    assert await listed(database, limit=2) == ["s5", "s4"]
    assert await listed(database, limit=2, offset=2) == ["s3", "s2"]


async def test_pages_do_not_overlap_when_sessions_are_of_one_moment(database):
    await database.write(lambda tx: [add_session(tx, f"s{number}") for number in range(30)])

    pages = [await listed(database, limit=7, offset=start) for start in range(0, 35, 7)]

    assert len({name for page in pages for name in page}) == 31


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("title", {"s", "two"}),
        ("TITLE", {"s", "two"}),
        ("needle", {"s"}),
        ("haystack", {"two"}),
        ("100%", {"two"}),
        ("%", {"two"}),
        ("_", set()),
        ("nothing like it", set()),
        ("'; DROP TABLE sessions; --", set()),
    ],
)
async def test_search_looks_at_titles_questions_and_answers_and_takes_words_as_they_are(
    database, search, found
):
    def work(tx):
        add_session(tx, "two", title="Another title")
        add_turn(tx, "u1", "two", prompt="haystack 100%")
        end_turn(tx, "t1", answer="the needle")

    await database.write(work)

    assert set(await listed(database, search=search)) == found


async def test_rename_choose_model_and_touch_change_only_that(database):
    def work(tx):
        sessions.rename(tx, SESSION, "New")
        sessions.choose_model(tx, SESSION, "openai:gpt-5-mini")
        sessions.touch(tx, SESSION, later(3))

    await database.write(work)

    session = await database.read(lambda tx: sessions.get(tx, SESSION))
    assert (session.title, session.model, session.updated_at) == (
        "New",
        "openai:gpt-5-mini",
        later(3),
    )
    assert session.created_at == NOON
    with pytest.raises(NotFound):
        await database.write(lambda tx: sessions.rename(tx, "none", "x"))


async def test_deleting_a_session_takes_everything_but_what_it_cost(database):
    def work(tx):
        add_messages(tx, "t1", 2)
        events.append(tx, SESSION, "t1", [TextWritten(text="x")], NOON)
        tasks.create(tx, SESSION, "task", description="", parent=None, made_by="c", now=NOON)
        usage.record(tx, SESSION, "t1", 1, "m", Usage(input_tokens=5), NOON)
        add_turn(tx, "u1", add_session(tx, "other").id)
        add_messages(tx, "u1", 1, "other")

    await database.write(work)
    await database.write(lambda tx: sessions.remove(tx, SESSION))

    def left(tx):
        return {
            table.name: tx.execute(table.select().where(table.c.session_id == SESSION)).fetchall()
            for table in SCHEMA.sorted_tables
            if "session_id" in table.c
        }

    leftovers = await database.read(left)
    assert {name for name, rows in leftovers.items() if rows} == {"usage"}
    assert len(await database.read(lambda tx: messages.of_turn(tx, "u1"))) == 2
    assert await database.read(lambda tx: turns.of_session(tx, SESSION)) == []
    with pytest.raises(NotFound):
        await database.write(lambda tx: sessions.remove(tx, SESSION))


async def test_numbers_go_on_when_the_clock_is_set_back(database):
    def work(tx, at):
        add_messages(tx, "t1", 1)
        return events.append(tx, SESSION, "t1", [TextWritten(text=str(at))] * 2, at)

    first = await database.write(lambda tx: work(tx, NOON))
    second = await database.write(lambda tx: work(tx, NOON - timedelta(days=400)))

    assert [event.seq for event in first + second] == [1, 2, 3, 4]
    assert await database.read(lambda tx: events.after(tx, SESSION, 1)) == (first + second)[1:]
