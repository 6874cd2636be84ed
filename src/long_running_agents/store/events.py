"""Events: the numbered facts of each session."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, insert, select, update

from long_running_agents.domain.events import EVENT, Event, MemoriesRecalled, Recorded
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.store import counters
from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import events, microseconds, sessions

FORGOTTEN = "[forgotten]"

_APPEND = Prepared(insert(events), ["session_id", "seq", "turn_id", "type", "body", "at"])


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
    first, owner = counters.take_owned(tx, session_id, "last_event", len(new))
    at = microseconds(now)
    recorded: list[Recorded] = []
    rows: list[dict[str, object]] = []
    for seq, event in enumerate(new, first):
        told = event.model_dump_json()
        body = tx.redact.json(told)
        # What is rung is what was stored, without its secrets.
        known = event if body == told else EVENT.validate_json(body)
        recorded.append(
            Recorded(
                seq=seq, session_id=session_id, turn_id=turn_id, owner=owner, at=now, event=known
            )
        )
        rows.append(
            {
                "session_id": session_id,
                "seq": seq,
                "turn_id": turn_id,
                "type": event.type,
                "body": body,
                "at": at,
            }
        )
    tx.run_each(_APPEND, rows)
    return recorded


_OWNED = select(events, sessions.c.owner).join(sessions, sessions.c.id == events.c.session_id)


def _recorded(row: Row[Any]) -> Recorded:
    return Recorded(
        seq=row.seq,
        session_id=SessionId(row.session_id),
        turn_id=TurnId(row.turn_id) if row.turn_id else None,
        owner=row.owner,
        at=row.at,
        event=EVENT.validate_json(row.body),
    )


def after(
    tx: Transaction,
    session_id: SessionId,
    seq: int,
    *,
    owner: str | None = None,
    limit: int | None = None,
) -> list[Recorded]:
    """The events of a session that came after a number; none if it belongs to somebody else."""
    query = (
        _OWNED.where(events.c.session_id == session_id, events.c.seq > seq)
        .order_by(events.c.seq)
        .limit(limit)
    )
    if owner is not None:
        query = query.where(sessions.c.owner == owner)
    return [_recorded(row) for row in tx.execute(query)]


def of_turn(tx: Transaction, turn_id: TurnId) -> list[Recorded]:
    """The events of one turn."""
    query = _OWNED.where(events.c.turn_id == turn_id).order_by(events.c.seq)
    return [_recorded(row) for row in tx.execute(query)]


def first(tx: Transaction, turn_id: TurnId) -> int:
    """The number of a turn's first event; 1 for a turn without any."""
    query = select(func.min(events.c.seq)).where(events.c.turn_id == turn_id)
    return tx.execute(query).scalar() or 1


Place = tuple[datetime, SessionId, int]
"""Where an event stands among those of all sessions: its moment, its session and its number."""


def newest(
    tx: Transaction,
    owner: str,
    *,
    limit: int,
    types: Collection[str] = (),
    before: datetime | Place | None,
) -> list[Recorded]:
    """The latest events of all an owner's sessions, the newest first.

    Args:
        tx: The transaction.
        owner: Whose sessions.
        limit: How many.
        types: Only these types; empty means all.
        before: Only what happened before this moment, or comes after this place in the list.
    """
    query = (
        _OWNED.where(sessions.c.owner == owner)
        .order_by(events.c.at.desc(), events.c.session_id, events.c.seq.desc())
        .limit(limit)
    )
    if types:
        query = query.where(events.c.type.in_(types))
    match before:
        case None:
            pass
        case datetime():
            query = query.where(events.c.at < before)
        case (at, session_id, seq):
            # Events of one transaction share their moment.
            here = (events.c.session_id == session_id) & (events.c.seq < seq)
            query = query.where(
                (events.c.at < at)
                | ((events.c.at == at) & ((events.c.session_id > session_id) | here))
            )
    return [_recorded(row) for row in tx.execute(query)]


def scrub_recalled(tx: Transaction, ids: Collection[int]) -> None:
    """Take the words of forgotten memories out of what was told about recalling them."""
    query = select(events).where(events.c.type == "recalled")
    for row in tx.execute(query).all():
        told = MemoriesRecalled.model_validate_json(row.body)
        if not any(item.id in ids for item in told.memories):
            continue
        kept = [
            item.model_copy(update={"text": FORGOTTEN}) if item.id in ids else item
            for item in told.memories
        ]
        tx.execute(
            update(events)
            .where(events.c.session_id == row.session_id, events.c.seq == row.seq)
            .values(body=told.model_copy(update={"memories": kept}).model_dump_json())
        )


def of_type(tx: Transaction, session_id: SessionId, kind: str) -> list[Recorded]:
    """The events of one type in a session."""
    query = _OWNED.where(events.c.session_id == session_id, events.c.type == kind).order_by(
        events.c.seq
    )
    return [_recorded(row) for row in tx.execute(query)]


def last(tx: Transaction, session_id: SessionId, *, before: datetime | None = None) -> int:
    """The number of a session's newest event, or of the newest before a moment; 0 for none."""
    query = select(func.max(events.c.seq)).where(events.c.session_id == session_id)
    if before is not None:
        query = query.where(events.c.at < before)
    return tx.execute(query).scalar() or 0
