"""The ledger: for each tool call an intent before, and an outcome after."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, insert, select, update

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.tool import CallState, Effect, ToolCallRecord
from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds, tool_calls

_RESOLVED = [state for state in CallState if state.resolved]


def _record(row: Row[Any]) -> ToolCallRecord:
    return ToolCallRecord(
        turn_id=TurnId(row.turn_id),
        session_id=SessionId(row.session_id),
        call_id=row.call_id,
        step=row.step,
        position=row.position,
        tool=row.tool,
        args=row.args,
        effect=Effect(row.effect),
        state=CallState(row.state),
        result=row.result,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


_REQUEST = Prepared(
    insert(tool_calls),
    [
        "turn_id",
        "call_id",
        "session_id",
        "step",
        "position",
        "tool",
        "args",
        "effect",
        "state",
        "started_at",
    ],
)


def request(tx: Transaction, records: Sequence[ToolCallRecord]) -> None:
    """Write down the calls a model asked for, before any of them runs."""
    tx.run_each(
        _REQUEST,
        [
            {
                "turn_id": record.turn_id,
                "call_id": record.call_id,
                "session_id": record.session_id,
                "step": record.step,
                "position": record.position,
                "tool": record.tool,
                "args": tx.redact.json(record.args),
                "effect": record.effect,
                "state": record.state,
                "started_at": record.started_at and microseconds(record.started_at),
            }
            for record in records
        ],
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


def of_turn(tx: Transaction, turn_id: TurnId, *, step: int | None = None) -> list[ToolCallRecord]:
    """The calls of a turn, or of one of its steps, in the order the model made them."""
    query = select(tool_calls).where(tool_calls.c.turn_id == turn_id)
    if step is not None:
        query = query.where(tool_calls.c.step == step)
    rows = tx.execute(query.order_by(tool_calls.c.step, tool_calls.c.position))
    return [_record(row) for row in rows]


def unresolved(tx: Transaction, turn_id: TurnId) -> list[ToolCallRecord]:
    """The calls of a turn that have no outcome yet."""
    return [record for record in of_turn(tx, turn_id) if not record.state.resolved]


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
