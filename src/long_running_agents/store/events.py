"""Events: the numbered facts of each session."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, insert, select

from long_running_agents.domain.events import EVENT, Event, Recorded
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.store import counters
from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import events


def append(
    tx: Transaction,
    session_id: SessionId,
    turn_id: TurnId | None,
    new: Sequence[Event],
    now: datetime,
) -> list[Recorded]:
    """Number events and store them; ring them only after the transaction."""
    if not new:
        return []
    first = counters.take(tx, session_id, "last_event", len(new))
    bodies = [tx.redact(event.model_dump_json()) for event in new]
    tx.execute(
        insert(events),
        [
            {
                "session_id": session_id,
                "seq": first + place,
                "turn_id": turn_id,
                "type": event.type,
                "body": body,
                "at": now,
            }
            for place, (event, body) in enumerate(zip(new, bodies, strict=True))
        ],
    )
    return [
        Recorded(
            seq=first + place,
            session_id=session_id,
            turn_id=turn_id,
            at=now,
            # What is told is what was stored, without its secrets.
            event=event if body == event.model_dump_json() else EVENT.validate_json(body),
        )
        for place, (event, body) in enumerate(zip(new, bodies, strict=True))
    ]


def _recorded(row: Row[Any]) -> Recorded:
    return Recorded(
        seq=row.seq,
        session_id=SessionId(row.session_id),
        turn_id=TurnId(row.turn_id) if row.turn_id else None,
        at=row.at,
        event=EVENT.validate_json(row.body),
    )


def after(
    tx: Transaction, session_id: SessionId, seq: int, *, limit: int | None = None
) -> list[Recorded]:
    """The events of a session that came after a number."""
    query = (
        select(events)
        .where(events.c.session_id == session_id, events.c.seq > seq)
        .order_by(events.c.seq)
        .limit(limit)
    )
    return [_recorded(row) for row in tx.execute(query)]


def of_turn(tx: Transaction, turn_id: TurnId) -> list[Recorded]:
    """The events of one turn."""
    query = select(events).where(events.c.turn_id == turn_id).order_by(events.c.seq)
    return [_recorded(row) for row in tx.execute(query)]
