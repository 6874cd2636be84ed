"""Ledger, approvals, tasks, usage, events and audit: what is written down comes back."""

from decimal import Decimal

import pytest
from tests.unit.store.house import (
    NOON,
    SESSION,
    a_call,
    a_question,
    add_session,
    add_turn,
    later,
)

from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.budget import Usage
from long_running_agents.domain.events import ModelChanged, TextWritten
from long_running_agents.domain.task import TaskStatus
from long_running_agents.domain.tool import CallState
from long_running_agents.errors import Busy, NotFound
from long_running_agents.store import approvals, decisions, events, ledger, tasks, usage

pytestmark = pytest.mark.anyio


def create(tx, title, made_by, **changed):
    values = {"description": "", "parent": None, "now": NOON, **changed}
    return tasks.create(tx, SESSION, title, made_by=made_by, **values)


async def test_a_call_goes_from_intent_to_outcome(database):
    await database.write(lambda tx: ledger.request(tx, [a_call("t1", "c1")]))
    [asked] = await database.read(lambda tx: ledger.unresolved(tx, "t1"))
    assert asked == a_call("t1", "c1")

    await database.write(lambda tx: ledger.start(tx, "t1", "c1", later(1)))
    [started] = await database.read(lambda tx: ledger.unresolved(tx, "t1"))
    assert (started.state, started.started_at) == (CallState.STARTED, later(1))

    await database.write(
        lambda tx: ledger.resolve(tx, "t1", "c1", CallState.DONE, '"ok"', later(2))
    )
    assert await database.read(lambda tx: ledger.unresolved(tx, "t1")) == []
    [done] = await database.read(lambda tx: ledger.of_turn(tx, "t1"))
    assert (done.state, done.result, done.ended_at) == (CallState.DONE, '"ok"', later(2))


async def test_calls_come_back_in_the_order_the_model_made_them(database):
    asked = [
        a_call("t1", "z", step=1, position=0),
        a_call("t1", "a", step=1, position=1),
        a_call("t1", "m", step=2, position=0),
    ]
    await database.write(lambda tx: ledger.request(tx, asked[::-1]))

    assert await database.read(lambda tx: ledger.of_turn(tx, "t1")) == asked
    assert await database.read(lambda tx: ledger.of_turn(tx, "t1", step=2)) == asked[2:]


async def test_a_call_waits_for_its_answer(database):
    await database.write(lambda tx: ledger.request(tx, [a_call("t1", "c1"), a_call("t1", "c2")]))
    await database.write(lambda tx: ledger.wait(tx, "t1", "c1"))

    states = {c.call_id: c.state for c in await database.read(lambda tx: ledger.of_turn(tx, "t1"))}
    assert states == {"c1": CallState.WAITING, "c2": CallState.REQUESTED}


async def test_uncertain_calls_are_found_by_session_and_over_all(database):
    def work(tx):
        add_turn(tx, "u1", add_session(tx, "other").id)
        ledger.request(tx, [a_call("t1", "c1"), a_call("t1", "c2")])
        ledger.request(tx, [a_call("u1", "c1", session_id="other")])
        for turn in ("t1", "u1"):
            ledger.resolve(tx, turn, "c1", CallState.UNCERTAIN, '"?"', NOON)

    await database.write(work)

    assert len(await database.read(ledger.uncertain)) == 2
    [mine] = await database.read(lambda tx: ledger.uncertain(tx, SESSION))
    assert (mine.turn_id, mine.call_id) == ("t1", "c1")


async def test_a_question_is_answered_once(database):
    await database.write(lambda tx: approvals.ask(tx, a_question("a1", "t1", "c1")))
    assert await database.read(approvals.open_questions) == [a_question("a1", "t1", "c1")]

    answered = await database.write(
        lambda tx: approvals.answer(tx, "a1", ApprovalState.DENIED, "too risky", later(1))
    )

    assert (answered.state, answered.reason) == (ApprovalState.DENIED, "too risky")
    assert answered.answered_at == later(1)
    assert await database.read(approvals.open_questions) == []
    assert await database.read(lambda tx: approvals.of_turn(tx, "t1")) == {"c1": answered}
    with pytest.raises(Busy, match="answered already: denied"):
        await database.write(
            lambda tx: approvals.answer(tx, "a1", ApprovalState.ALLOWED, "", later(2))
        )
    with pytest.raises(NotFound, match="No approval 'zz'"):
        await database.read(lambda tx: approvals.get(tx, "zz"))


async def test_open_questions_come_oldest_first_and_by_session(database):
    def work(tx):
        add_turn(tx, "u1", add_session(tx, "other").id)
        approvals.ask(tx, a_question("a2", "t1", "c2", asked_at=later(2)))
        approvals.ask(tx, a_question("a1", "t1", "c1", asked_at=later(1)))
        approvals.ask(tx, a_question("b1", "u1", "c1", session_id="other"))

    await database.write(work)

    assert [a.id for a in await database.read(approvals.open_questions)] == ["b1", "a1", "a2"]
    mine = await database.read(lambda tx: approvals.open_questions(tx, SESSION))
    assert [a.id for a in mine] == ["a1", "a2"]


async def test_the_same_call_never_makes_a_task_twice(database):
    first = await database.write(lambda tx: create(tx, "Paint", "t1/c1"))
    again = await database.write(lambda tx: create(tx, "Paint again", "t1/c1"))
    other = await database.write(lambda tx: create(tx, "Pack", "t1/c2", parent=first.number))

    assert again == first
    assert (other.number, other.parent) == (2, 1)
    assert len(await database.read(lambda tx: tasks.of_session(tx, SESSION))) == 2


async def test_a_task_moves_on_and_says_what_came_of_it(database):
    await database.write(lambda tx: create(tx, "Paint", "c1", description="Blue."))

    def change(status, result):
        return database.write(
            lambda tx: tasks.change(tx, SESSION, 1, status, result=result, now=later(1))
        )

    done = await change(TaskStatus.COMPLETED, "It is blue.")
    assert (done.status, done.result, done.description) == ("completed", "It is blue.", "Blue.")
    reopened = await change(TaskStatus.PENDING, None)
    assert (reopened.result, reopened.updated_at) == ("It is blue.", later(1))
    pending = await database.read(
        lambda tx: tasks.of_session(tx, SESSION, status=TaskStatus.COMPLETED)
    )
    assert pending == []


async def test_a_task_that_is_not_there_is_named(database):
    with pytest.raises(NotFound, match="No task #7"):
        await database.write(lambda tx: create(tx, "orphan", "c1", parent=7))
    with pytest.raises(NotFound, match="No task #7"):
        await database.read(lambda tx: tasks.get(tx, SESSION, 7))
    assert (await database.write(lambda tx: create(tx, "first", "c2"))).number == 1


async def test_usage_adds_up_exactly_with_and_without_prices(database):
    def record(tx, turn, step, cost, session=SESSION):
        used = Usage(input_tokens=10, output_tokens=3, cost=cost)
        usage.record(tx, session, turn, step, "m", used, NOON)

    assert await database.read(usage.total) == usage.UsageTotal(
        requests=0, input_tokens=0, output_tokens=0, cost=None
    )
    await database.write(lambda tx: record(tx, "t1", 1, None))
    assert (await database.read(usage.total)).cost is None
    await database.write(lambda tx: record(tx, "t1", 2, Decimal("0.1")))
    await database.write(lambda tx: record(tx, "t1", 3, Decimal("0.2")))
    await database.write(lambda tx: record(tx, "x1", 1, Decimal("0.000000001"), "gone"))

    assert await database.read(usage.total) == usage.UsageTotal(
        requests=4, input_tokens=40, output_tokens=12, cost=Decimal("0.300000001")
    )
    assert await database.read(lambda tx: usage.total(tx, session_id=SESSION)) == usage.UsageTotal(
        requests=3, input_tokens=30, output_tokens=9, cost=Decimal("0.3")
    )


async def test_events_are_numbered_and_found_after_a_number(database):
    def work(tx):
        events.append(tx, SESSION, "t1", [TextWritten(text="1"), TextWritten(text="2")], NOON)
        events.append(tx, SESSION, None, [ModelChanged(model="m")], NOON)
        assert events.append(tx, SESSION, "t1", [], NOON) == []

    await database.write(work)

    all_events = await database.read(lambda tx: events.after(tx, SESSION, 0))
    assert [event.seq for event in all_events] == [1, 2, 3]
    assert (all_events[2].turn_id, all_events[2].at) == (None, NOON)
    assert await database.read(lambda tx: events.after(tx, SESSION, 1, limit=1)) == all_events[1:2]
    assert await database.read(lambda tx: events.of_turn(tx, "t1")) == all_events[:2]


async def test_the_audit_log_shows_the_newest_first(database):
    entries = [
        decisions.AuditEntry(
            at=NOON, actor="user", action="allow", subject="shell", detail=str(number)
        )
        for number in range(3)
    ]
    await database.write(lambda tx: [decisions.note_admin(tx, entry) for entry in entries])

    assert await database.read(lambda tx: decisions.newest_admin(tx, 2)) == entries[:0:-1]
