"""Messages: the append-only log of what model and tools said to each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import bindparam, func, insert, select

from long_running_agents.domain.history import Window
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.store import counters
from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import messages, microseconds, sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """One message in the shape the agent library gives it, as JSON text."""

    step: int
    kind: Literal["request", "response"]
    body: str
    turn_id: TurnId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedMessage:
    """A stored message with its place in the session's log."""

    seq: int
    at: datetime
    turn_id: TurnId
    message: StoredMessage


_APPEND = Prepared(
    insert(messages), ["session_id", "seq", "turn_id", "step", "kind", "body", "created_at"]
)


def append(
    tx: Transaction,
    session_id: SessionId,
    turn_id: TurnId,
    new: Sequence[StoredMessage],
    now: datetime,
) -> None:
    """Add messages to the end of a session's log."""
    if not new:
        return
    first = counters.take(tx, session_id, "last_message", len(new))
    at = microseconds(now)
    tx.run_each(
        _APPEND,
        [
            {
                "session_id": session_id,
                "seq": first + place,
                "turn_id": turn_id,
                "step": message.step,
                "kind": message.kind,
                "body": tx.redact.json(message.body),
                "created_at": at,
            }
            for place, message in enumerate(new)
        ],
    )


_ROWS = (
    select(messages.c.turn_id, messages.c.step, messages.c.kind, messages.c.body)
    .where(messages.c.session_id == bindparam("session"), messages.c.seq >= bindparam("first"))
    .order_by(messages.c.seq)
)
_TURN_START = (messages.c.step == 1) & (messages.c.kind == "request")
_NEXT_START = select(func.min(messages.c.seq)).where(
    messages.c.session_id == bindparam("session"), messages.c.seq > bindparam("first"), _TURN_START
)
_LAST_START = select(func.max(messages.c.seq)).where(
    messages.c.session_id == bindparam("session"), _TURN_START
)
_COUNTERS = select(sessions.c.last_message, sessions.c.cleared).where(
    sessions.c.id == bindparam("session")
)


def window(tx: Transaction, session_id: SessionId, view: Window) -> list[StoredMessage]:
    """The end of a session's log, from the beginning of a turn on.

    The time this takes depends on the window, not on the length of the log.
    """
    key = {"session": session_id}
    total, cleared = tx.execute(_COUNTERS, key).first() or (0, 0)
    # A session is cleared between turns only, so the next message is the beginning of one.
    first = view.first(total - cleared)
    if first > 0:
        first += cleared
        start = tx.execute(_NEXT_START, {**key, "first": first}).scalar()
        # A turn longer than the window is shown whole: its calls and results belong together.
        first = start or tx.execute(_LAST_START, key).scalar() or 0
    first = max(first, cleared + 1)
    rows = tx.execute(_ROWS, {**key, "first": first})
    return [
        StoredMessage(turn_id=TurnId(row.turn_id), step=row.step, kind=row.kind, body=row.body)
        for row in rows
    ]


def count(tx: Transaction, session_id: SessionId) -> int:
    """How many messages a session's log has."""
    return tx.execute(_COUNTERS, {"session": session_id}).scalar() or 0


def of_turn(tx: Transaction, turn_id: TurnId) -> list[StoredMessage]:
    """The messages of one turn."""
    query = (
        select(messages.c.step, messages.c.kind, messages.c.body)
        .where(messages.c.turn_id == turn_id)
        .order_by(messages.c.seq)
    )
    return [
        StoredMessage(turn_id=turn_id, step=row.step, kind=row.kind, body=row.body)
        for row in tx.execute(query)
    ]


def page(tx: Transaction, session_id: SessionId, after: int, limit: int) -> list[LoggedMessage]:
    """The messages of a session that come after a number, in order."""
    query = (
        select(messages)
        .where(messages.c.session_id == session_id, messages.c.seq > after)
        .order_by(messages.c.seq)
        .limit(limit)
    )
    return [
        LoggedMessage(
            seq=row.seq,
            at=row.created_at,
            turn_id=TurnId(row.turn_id),
            message=StoredMessage(step=row.step, kind=row.kind, body=row.body),
        )
        for row in tx.execute(query)
    ]
