import asyncio
import tempfile
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.store.house import (
    NOON,
    SESSION,
    add_session,
    add_turn,
    end_turn,
    house,
    later,
    move_turn,
)

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.turn import MAY_BECOME, TurnStatus
from long_running_agents.errors import Busy, NotFound
from long_running_agents.store import turns

pytestmark = pytest.mark.anyio


async def claimed(database, turn):
    return await database.write(lambda tx: turns.claim(tx, turn))


async def test_turns_of_a_session_are_claimed_one_at_a_time_and_in_order(database):
    await database.write(lambda tx: add_turn(tx, "t2"))

    assert await claimed(database, "t2") is None
    first = await claimed(database, "t1")
    assert (first.status, first.attempts) == (TurnStatus.RUNNING, 1)
    assert await claimed(database, "t2") is None
    await database.write(lambda tx: move_turn(tx, "t1", TurnStatus.DONE))
    assert (await claimed(database, "t2")).id == "t2"
    assert await claimed(database, "t1") is None


async def test_a_turn_that_waits_for_an_answer_holds_up_the_next(database):
    await database.write(lambda tx: add_turn(tx, "t2"))
    await claimed(database, "t1")
    await database.write(lambda tx: move_turn(tx, "t1", TurnStatus.WAITING))

    assert await claimed(database, "t1") is None
    assert await claimed(database, "t2") is None
    await database.write(lambda tx: move_turn(tx, "t1", TurnStatus.STOPPED))
    assert (await claimed(database, "t2")).id == "t2"


async def test_sessions_do_not_hold_each_other_up(database):
    await database.write(lambda tx: add_turn(tx, "u1", add_session(tx, "other").id))
    await claimed(database, "t1")

    assert (await claimed(database, "u1")).id == "u1"


async def test_a_turn_whose_process_died_is_claimed_again_and_counted(database):
    await claimed(database, "t1")

    assert (await claimed(database, "t1")).attempts == 2


@pytest.mark.parametrize("target", TurnStatus)
@pytest.mark.parametrize("start", TurnStatus)
async def test_a_turn_moves_along_legal_transitions_only(database, start, target):
    roads = {
        TurnStatus.QUEUED: [],
        TurnStatus.RUNNING: [TurnStatus.RUNNING],
        TurnStatus.STEERED: [TurnStatus.STEERED],
    }
    road = roads.get(start, [TurnStatus.RUNNING, start])

    def work(tx):
        for status in [*road, target]:
            move_turn(tx, "t1", status)

    if target in MAY_BECOME[start]:
        await database.write(work)
        expected = target
    else:
        with pytest.raises(Busy, match=f"A turn that is {start} cannot become {target}"):
            await database.write(work)
        expected = TurnStatus.QUEUED
    turn = await database.read(lambda tx: turns.get(tx, "t1"))
    assert turn.status is expected
    assert (turn.ended_at is not None) == expected.ended


async def test_a_retried_turn_begins_its_attempts_anew_and_forgets_its_error(database):
    await claimed(database, "t1")
    await database.write(
        lambda tx: move_turn(tx, "t1", TurnStatus.FAILED, answer="so far", error="no model")
    )
    failed = await database.read(lambda tx: turns.get(tx, "t1"))
    assert (failed.answer, failed.error, failed.ended_at) == ("so far", "no model", NOON)

    await database.write(lambda tx: move_turn(tx, "t1", TurnStatus.QUEUED))

    turn = await database.read(lambda tx: turns.get(tx, "t1"))
    assert (turn.attempts, turn.error, turn.ended_at, turn.answer) == (0, "", None, "so far")


async def test_order_is_by_number_even_when_the_clock_was_set_back(database):
    def work(tx):
        add_turn(tx, "t2", at=NOON - timedelta(days=1))
        add_turn(tx, "t3", at=NOON - timedelta(days=2))

    await database.write(work)

    assert [t.id for t in await database.read(turns.unfinished)] == ["t1", "t2", "t3"]
    assert [t.number for t in await database.read(lambda tx: turns.of_session(tx, "s"))] == [
        1,
        2,
        3,
    ]
    assert (await database.read(lambda tx: turns.last(tx, "s"))).id == "t3"
    assert (await claimed(database, "t1")).id == "t1"
    for name in ("t1", "t2", "t3"):
        await database.write(lambda tx, name=name: end_turn(tx, name))
    recent = await database.read(
        lambda tx: turns.recent(tx, 2, owner="me", session_id="s", before="none")
    )
    assert [t.id for t in recent] == ["t3", "t2"]


async def test_only_queued_and_running_turns_are_unfinished(database):
    def work(tx):
        end_turn(tx, "t1")
        for number, status in enumerate(TurnStatus, 2):
            add_turn(tx, f"t{number}", add_session(tx, f"s{number}").id)
            if status is TurnStatus.QUEUED:
                continue
            if status is not TurnStatus.STEERED:
                turns.claim(tx, f"t{number}")
            move_turn(tx, f"t{number}", status)

    await database.write(work)

    statuses = {t.status for t in await database.read(turns.unfinished)}
    assert statuses == {TurnStatus.QUEUED, TurnStatus.RUNNING}


async def test_recent_turns_are_the_newest_that_ended_without_the_asking_one(database):
    def work(tx):
        end_turn(tx, "t1")
        add_session(tx, "other")
        add_turn(tx, "u1", "other", at=later(1))
        end_turn(tx, "u1", status=TurnStatus.FAILED)
        add_turn(tx, "t2", at=later(2))

    await database.write(work)

    def recent(session, limit=10):
        return database.read(
            lambda tx: [
                t.id for t in turns.recent(tx, limit, owner="me", session_id=session, before="t2")
            ]
        )

    assert await recent(None) == ["u1", "t1"]
    assert await recent(None, limit=1) == ["u1"]
    assert await recent("s") == ["t1"]


async def test_what_was_spent_is_kept_to_the_billionth(database):
    spent = Spent(
        steps=2, tool_calls=3, input_tokens=5, output_tokens=7, cost=Decimal("0.000000001"),
        seconds=1.25,
    )  # fmt: skip
    await database.write(lambda tx: turns.spend(tx, "t1", spent))
    assert (await database.read(lambda tx: turns.get(tx, "t1"))).spent == spent


async def test_a_renewed_turn_gets_another_budget_and_forgets_nothing(database):
    spent = Spent(steps=2, input_tokens=5)
    await database.write(lambda tx: turns.spend(tx, "t1", spent))

    await database.write(lambda tx: turns.renew(tx, "t1"))
    await database.write(lambda tx: turns.renew(tx, "t1"))

    turn = await database.read(lambda tx: turns.get(tx, "t1"))
    assert (turn.spent, turn.renewals) == (spent, 2)


async def test_the_turn_before_is_found(database):
    second = await database.write(lambda tx: add_turn(tx, "t2"))

    first = await database.read(lambda tx: turns.before(tx, second))
    assert first.id == "t1"
    assert await database.read(lambda tx: turns.before(tx, first)) is None


async def test_a_turn_that_is_not_there_is_named(database):
    with pytest.raises(NotFound, match="No turn 'nope'"):
        await database.read(lambda tx: turns.get(tx, "nope"))


async def test_a_message_to_a_session_that_is_not_there_is_not_taken(database):
    with pytest.raises(NotFound, match="No session 'nope'"):
        await database.write(lambda tx: add_turn(tx, "t9", "nope"))


class Line:
    """A session's line as it should be: who is first, then what steers, then what queues."""

    def __init__(self, tx):
        self.tx = tx
        self.said = 0
        self.names, self.steering, self.given = [], [], []
        self.runs = False

    def do(self, deed):
        if deed in ("queue", "steer"):
            self.said += 1
            self._say(f"t{self.said}", steer=deed == "steer" and bool(self.names))
        elif deed == "claim" and self.names and not self.runs:
            self.runs = True
            assert turns.claim(self.tx, self.names[0]).steer is False
            self.steering = [name for name in self.steering if name != self.names[0]]
        elif deed == "step" and self.runs:
            waiting = turns.steering(self.tx, SESSION)
            assert [turn.id for turn in waiting] == self.steering
            turns.steer(self.tx, waiting, NOON)
            self.names = [name for name in self.names if name not in self.steering]
            self.given += self.steering
            self.steering = []
        elif deed == "end" and self.runs:
            self.runs = False
            move_turn(self.tx, self.names.pop(0), TurnStatus.DONE)
        elif deed == "withdraw" and len(self.names) > 1:
            gone = self.names.pop(1)
            move_turn(self.tx, gone, TurnStatus.STOPPED)
            self.steering = [name for name in self.steering if name != gone]

    def _say(self, name, *, steer):
        first = turns.current(self.tx, SESSION)
        add_turn(self.tx, name, steers=first if steer else None)
        behind = [place for place, each in enumerate(self.names) if each not in self.steering]
        place = min((each for each in behind if each > 0), default=len(self.names))
        self.names.insert(place if steer else len(self.names), name)
        self.steering += [name] if steer else []

    def check(self):
        every = turns.of_session(self.tx, SESSION)
        assert [turn.id for turn in every if not turn.status.ended] == self.names
        given = [turn.id for turn in every if turn.status is TurnStatus.STEERED]
        assert sorted(given) == sorted(self.given)


DEEDS = st.sampled_from(["queue", "steer", "claim", "step", "end", "withdraw"])


@given(st.lists(DEEDS, max_size=30))
def test_what_steers_is_heard_once_in_order_and_before_what_queues(deeds):
    async def story():
        with tempfile.TemporaryDirectory() as folder:
            async with house(Path(folder) / "home") as database:
                await database.write(told)

    def told(tx):
        add_session(tx)
        line = Line(tx)
        for deed in deeds:
            line.do(deed)
            line.check()

    asyncio.run(story())
