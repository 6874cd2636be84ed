"""Events: the numbered facts of each session."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Integer, bindparam, func, insert, literal_column, select, update

from long_running_agents.domain.budget import BudgetScope, scope_of
from long_running_agents.domain.events import (
    EVENT,
    Event,
    EventEnvelope,
    MemoriesRecalled,
    TurnFailed,
    TurnLimited,
)
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.errors import LraError, kind_of
from long_running_agents.store import sql
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import row_reader
from long_running_agents.store.tables import events, microseconds, sessions

FORGOTTEN = "[forgotten]"

_APPEND = Prepared(insert(events), ["session_id", "seq", "turn_id", "type", "body", "at"])


def append(
    tx: Transaction,
    session_id: SessionId,
    turn_id: TurnId | None,
    new: Sequence[Event],
    now: datetime,
) -> list[EventEnvelope]:
    """Number events and store them; publish them only after the transaction."""
    if not new:
        return []
    first, owner = sql.take_owned(tx, session_id, "last_event", len(new))
    at = microseconds(now)
    recorded: list[EventEnvelope] = []
    rows: list[dict[str, object]] = []
    for seq, event in enumerate(new, first):
        whole = event.model_dump_json()
        body = tx.redact.json(whole)
        # What is published is what was stored, without its secrets.
        known = event if body == whole else EVENT.validate_json(body)
        recorded.append(
            EventEnvelope(
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


_recorded = row_reader(EventEnvelope, event=lambda row: EVENT.validate_json(row.body))


_AFTER = Prepared(
    _OWNED.where(
        events.c.session_id == bindparam("session"),
        events.c.seq > bindparam("seq"),
        bindparam("owner").is_(None) | (sessions.c.owner == bindparam("owner")),
    )
    .order_by(events.c.seq)
    .limit(bindparam("limit", type_=Integer))
    .offset(literal_column("0"))
)


def after(
    tx: Transaction,
    session_id: SessionId,
    seq: int,
    *,
    owner: str | None = None,
    limit: int | None = None,
) -> list[EventEnvelope]:
    """The events of a session that came after a number; none if it belongs to somebody else."""
    # To SQLite, fewer than none are all.
    most = -1 if limit is None else limit
    values = {"session": session_id, "seq": seq, "owner": owner, "limit": most}
    return [_recorded(row) for row in tx.all(_AFTER, values)]


_OF_TURN = Prepared(_OWNED.where(events.c.turn_id == bindparam("turn")).order_by(events.c.seq))


def of_turn(tx: Transaction, turn_id: TurnId) -> list[EventEnvelope]:
    """The events of one turn."""
    return [_recorded(row) for row in tx.all(_OF_TURN, {"turn": turn_id})]


def stopped_by(tx: Transaction, turn_id: TurnId) -> BudgetScope:
    """Which budget stopped a turn last."""
    told = [each.event for each in of_turn(tx, turn_id) if isinstance(each.event, TurnLimited)]
    return scope_of(told[-1].limit if told else "")


def failed_by(tx: Transaction, turn_id: TurnId) -> type[LraError]:
    """What kind of error a turn failed by last."""
    told = [each.event.code for each in of_turn(tx, turn_id) if isinstance(each.event, TurnFailed)]
    return kind_of(told[-1] if told else "")


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
) -> list[EventEnvelope]:
    """The latest events of all an owner's sessions, the newest first.

    Those before a moment, or after a place in the list.
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
    """Take the words of forgotten memories out of the events that recalled them."""
    query = select(events).where(events.c.type == "recalled")
    for row in tx.execute(query).all():
        recalled = MemoriesRecalled.model_validate_json(row.body)
        if not any(item.id in ids for item in recalled.memories):
            continue
        kept = [
            item.model_copy(update={"text": FORGOTTEN}) if item.id in ids else item
            for item in recalled.memories
        ]
        tx.execute(
            update(events)
            .where(events.c.session_id == row.session_id, events.c.seq == row.seq)
            .values(body=recalled.model_copy(update={"memories": kept}).model_dump_json())
        )


def of_type(tx: Transaction, session_id: SessionId, kind: str) -> list[EventEnvelope]:
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
