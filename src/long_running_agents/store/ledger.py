"""The ledger: for each tool call an intent before, and an outcome after."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from sqlalchemy import Integer, bindparam, func, insert, literal_column, select, update

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.tool import CallState, ToolCallRecord
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import row_reader, stored_values
from long_running_agents.store.tables import approvals, microseconds, tool_calls, turns

_record = row_reader(ToolCallRecord)
_REQUEST = Prepared(insert(tool_calls), tool_calls.c.keys())


def request(tx: Transaction, records: Sequence[ToolCallRecord]) -> None:
    """Write down the calls a model asked for, before any of them runs."""
    tx.run_each(
        _REQUEST,
        [stored_values(tool_calls, each, args=tx.redact.json(each.args)) for each in records],
    )


_CALL = (tool_calls.c.turn_id == bindparam("turn")) & (tool_calls.c.call_id == bindparam("call"))
_RESOLVE = Prepared(
    update(tool_calls)
    .where(_CALL)
    .values(state=bindparam("new_state"), result=bindparam("new_result"), ended_at=bindparam("now"))
)


def start(tx: Transaction, turn_id: TurnId, call_id: str, now: datetime) -> None:
    """Note that a call is about to run."""
    tx.execute(
        update(tool_calls).where(_CALL).values(state=CallState.STARTED, started_at=now),
        {"turn": turn_id, "call": call_id},
    )


def wait(tx: Transaction, turn_id: TurnId, call_id: str) -> None:
    """Note that a call waits for an answer."""
    tx.execute(
        update(tool_calls).where(_CALL).values(state=CallState.WAITING),
        {"turn": turn_id, "call": call_id},
    )


def resolve(
    tx: Transaction, turn_id: TurnId, call_id: str, state: CallState, result: str, now: datetime
) -> None:
    """Write down a call's outcome."""
    tx.run(
        _RESOLVE,
        {
            "turn": turn_id,
            "call": call_id,
            "new_state": state,
            "new_result": tx.redact.json(result),
            "now": microseconds(now),
        },
    )


_OF_TURN = Prepared(
    select(tool_calls)
    .where(tool_calls.c.turn_id == bindparam("turn"))
    .order_by(tool_calls.c.step, tool_calls.c.position)
)


def of_turn(tx: Transaction, turn_id: TurnId, *, step: int | None = None) -> list[ToolCallRecord]:
    """The calls of a turn, or of one of its steps, in the order the model made them."""
    records = [_record(row) for row in tx.all(_OF_TURN, {"turn": turn_id})]
    return [record for record in records if step in (None, record.step)]


def step_of(tx: Transaction, turn_id: TurnId, call_id: str) -> int:
    """The step in which a call was made; 0 for one that is not there."""
    query = select(tool_calls.c.step).where(
        tool_calls.c.turn_id == turn_id, tool_calls.c.call_id == call_id
    )
    return tx.execute(query).scalar() or 0


def of_tools(
    tx: Transaction, session_id: SessionId, tools: Collection[str]
) -> list[ToolCallRecord]:
    """The calls of some tools in a session."""
    mine = (tool_calls.c.session_id == session_id) & tool_calls.c.tool.in_(tools)
    return [_record(row) for row in tx.execute(select(tool_calls).where(mine))]


_SEARCHED, _PAGE = 2_000, 50
"""Calls of a session that are searched for something, and how many of them are read at once."""
_ROW = literal_column("tool_calls.rowid", Integer)


def newest(tx: Transaction, session_id: SessionId) -> Iterator[ToolCallRecord]:
    """The calls of a session that were not denied, the newest first, read as they are asked for."""
    mine = (tool_calls.c.session_id == session_id) & (tool_calls.c.state != CallState.DENIED)
    # Numbers are sorted, not rows, whose results are long; and no statement is left half read.
    numbers = select(_ROW).where(mine).order_by(_ROW.desc()).limit(_SEARCHED)
    found = tx.execute(numbers).scalars().all()
    for start in range(0, len(found), _PAGE):
        page = _ROW.in_(found[start : start + _PAGE])
        rows = tx.execute(select(tool_calls).where(page).order_by(_ROW.desc())).all()
        yield from (_record(row) for row in rows)


def unresolved(tx: Transaction, turn_id: TurnId) -> list[ToolCallRecord]:
    """The calls of a turn that have no outcome yet."""
    return [record for record in of_turn(tx, turn_id) if not record.state.resolved]


def handed(tx: Transaction) -> dict[TurnId, datetime]:
    """The turns that wait for their client to run a call, and since when."""
    query = (
        select(tool_calls.c.turn_id, func.min(tool_calls.c.started_at))
        .join(turns, turns.c.id == tool_calls.c.turn_id)
        .outerjoin(
            approvals,
            (approvals.c.turn_id == tool_calls.c.turn_id)
            & (approvals.c.call_id == tool_calls.c.call_id),
        )
        .where(turns.c.status == TurnStatus.WAITING, tool_calls.c.state == CallState.WAITING)
        .where(approvals.c.id.is_(None))
        .group_by(tool_calls.c.turn_id)
    )
    return {TurnId(turn_id): since for turn_id, since in tx.execute(query)}


def uncertain(tx: Transaction, session_id: SessionId | None = None) -> list[ToolCallRecord]:
    """Calls that were cut off and whose effect nobody knows."""
    query = select(tool_calls).where(tool_calls.c.state == CallState.UNCERTAIN)
    if session_id is not None:
        query = query.where(tool_calls.c.session_id == session_id)
    return [_record(row) for row in tx.execute(query.order_by(tool_calls.c.started_at))]


def result_of(tx: Transaction, session_id: SessionId, call_id: str) -> str | None:
    """The result of a session's call as JSON text; of the newest call where ids repeat."""
    query = (
        select(tool_calls.c.result)
        .where(
            tool_calls.c.session_id == session_id,
            tool_calls.c.call_id == call_id,
            tool_calls.c.result.is_not(None),
        )
        .order_by(tool_calls.c.started_at.desc())
        .limit(1)
    )
    return tx.execute(query).scalar()
