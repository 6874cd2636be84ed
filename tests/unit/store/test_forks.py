import pytest
from tests.unit.store.house import (
    NOON,
    SESSION,
    a_call,
    add_messages,
    add_turn,
    end_turn,
    later,
)

from long_running_agents.domain.budget import Usage
from long_running_agents.domain.context_window import HistoryWindow
from long_running_agents.domain.events import TextWritten
from long_running_agents.errors import Busy, NotFound
from long_running_agents.store import events, ledger, messages, sessions, tasks, turns, usage
from long_running_agents.store.sessions import fork

pytestmark = pytest.mark.anyio


@pytest.fixture
async def talk(database):
    """A session with three ended turns, and a fourth in line."""

    def work(tx):
        tasks.create(tx, SESSION, "a task", description="", parent=None, made_by="t1/c", now=NOON)
        for number in range(1, 4):
            if number > 1:
                add_turn(tx, f"t{number}", prompt=f"question {number}")
            add_messages(tx, f"t{number}", 2)
            ledger.request(tx, [a_call(f"t{number}", "c1")])
            events.append(tx, SESSION, f"t{number}", [TextWritten(text=str(number))], NOON)
            usage.record(tx, SESSION, f"t{number}", 1, "m", Usage(input_tokens=5), NOON)
            end_turn(tx, f"t{number}", answer=f"answer {number}")
        tasks.create(tx, SESSION, "later", description="", parent=None, made_by="t3/c", now=NOON)
        add_turn(tx, "t4")

    await database.write(work)
    return database


async def test_a_fork_copies_everything_up_to_a_turn(talk):
    copy = await talk.write(lambda tx: fork(tx, SESSION, at="t2", now=later(1)))

    assert (copy.forked_from, copy.forked_at, copy.title) == (SESSION, "t2", "A title (fork)")
    copied = await talk.read(lambda tx: turns.of_session(tx, copy.id))
    assert [(turn.number, turn.answer) for turn in copied] == [(1, "answer 1"), (2, "answer 2")]
    assert not {turn.id for turn in copied} & {"t1", "t2"}
    shown = await talk.read(lambda tx: messages.window(tx, copy.id, HistoryWindow(100)))
    assert [message.turn_id for message in shown] == [copied[0].id] * 4 + [copied[1].id] * 4
    told = await talk.read(lambda tx: events.after(tx, copy.id, 0))
    assert [event.event.text for event in told] == ["1", "2"]
    assert len(await talk.read(lambda tx: ledger.of_turn(tx, copied[1].id))) == 1
    assert [task.title for task in await talk.read(lambda tx: tasks.of_session(tx, copy.id))] == [
        "a task"
    ]


async def test_a_fork_without_a_turn_takes_all_that_ended(talk):
    copy = await talk.write(lambda tx: fork(tx, SESSION, at=None, now=later(1)))

    assert len(await talk.read(lambda tx: turns.of_session(tx, copy.id))) == 3


async def test_original_and_fork_go_their_own_ways(talk):
    copy = await talk.write(lambda tx: fork(tx, SESSION, at="t1", now=later(1)))
    before = await talk.read(lambda tx: turns.of_session(tx, SESSION))

    def go_on(tx):
        turn = add_turn(tx, "f2", copy.id, prompt="elsewhere")
        add_messages(tx, "f2", 1, copy.id)
        tasks.create(tx, copy.id, "another", description="", parent=None, made_by="d", now=NOON)
        return turn, events.append(tx, copy.id, "f2", [TextWritten(text="new")], NOON)

    turn, [told] = await talk.write(go_on)

    assert (turn.number, told.seq) == (2, 2)
    assert await talk.read(lambda tx: turns.of_session(tx, SESSION)) == before
    assert len(await talk.read(lambda tx: tasks.of_session(tx, SESSION))) == 2
    await talk.write(lambda tx: sessions.remove(tx, SESSION))
    assert len(await talk.read(lambda tx: messages.window(tx, copy.id, HistoryWindow(100)))) == 6


async def test_a_fork_of_a_long_session_is_shown_its_own_past(talk):
    def long(tx):
        end_turn(tx, "t4")
        for number in range(5, 105):
            add_turn(tx, f"t{number}")
            add_messages(tx, f"t{number}", 1)
            end_turn(tx, f"t{number}")

    await talk.write(long)

    copy = await talk.write(lambda tx: fork(tx, SESSION, at="t3", now=later(1)))

    assert len(await talk.read(lambda tx: messages.window(tx, copy.id, HistoryWindow(20)))) == 12
    [preview] = await talk.read(lambda tx: sessions.previews(tx, search="(fork)"))
    assert (preview.turns, preview.last_words) == (3, "answer 3")


async def test_what_was_spent_was_spent_once(talk):
    copy = await talk.write(lambda tx: fork(tx, SESSION, at=None, now=later(1)))

    assert (await talk.read(usage.total)).requests == 3
    assert (await talk.read(lambda tx: usage.total(tx, session_id=copy.id))).requests == 0


async def test_a_fork_needs_a_finished_turn_of_that_session(talk):
    with pytest.raises(Busy, match="not finished"):
        await talk.write(lambda tx: fork(tx, SESSION, at="t4", now=NOON))
    with pytest.raises(NotFound, match="No turn 'zz'"):
        await talk.write(lambda tx: fork(tx, SESSION, at="zz", now=NOON))
    with pytest.raises(NotFound, match="No session"):
        await talk.write(lambda tx: fork(tx, "none", at=None, now=NOON))


async def test_an_empty_session_can_be_forked(database):
    copy = await database.write(lambda tx: fork(tx, SESSION, at=None, now=NOON))

    assert copy.forked_at is None
    assert (await database.write(lambda tx: add_turn(tx, "f1", copy.id))).number == 1
