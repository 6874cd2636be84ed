"""Messages and their pictures: the append-only log of what model and tools said."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import bindparam, case, func, insert, literal, select, text

from long_running_agents.domain.compaction import search_words
from long_running_agents.domain.context_window import HistoryWindow
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.picture import Picture
from long_running_agents.store import sql
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.tables import messages, microseconds, pictures, sessions, turns


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


_message = sql.row_reader(StoredMessage)
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
    first = sql.take(tx, session_id, "last_message", len(new))
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


_ROWS = Prepared(
    select(messages.c.turn_id, messages.c.step, messages.c.kind, messages.c.body)
    .where(messages.c.session_id == bindparam("session"), messages.c.seq >= bindparam("first"))
    .order_by(messages.c.seq)
)
_TURN_START = text("step = 1 AND kind = 'request'")
_NEXT_START = Prepared(
    select(func.min(messages.c.seq)).where(
        messages.c.session_id == bindparam("session"),
        messages.c.seq > bindparam("first"),
        _TURN_START,
    )
)
_LAST_START = Prepared(
    select(func.max(messages.c.seq)).where(
        messages.c.session_id == bindparam("session"), _TURN_START
    )
)
_COUNTERS = Prepared(
    select(sessions.c.last_message, sessions.c.cleared, sessions.c.compacted).where(
        sessions.c.id == bindparam("session")
    )
)


def window(tx: Transaction, session_id: SessionId, view: HistoryWindow) -> list[StoredMessage]:
    """The end of a session's log, from the beginning of a turn on.

    The time this takes depends on the window, not on the length of the log.
    """
    key = {"session": session_id}
    total, cleared, compacted = tx.run(_COUNTERS, key) or (0, 0, 0)
    # This is done between turns only, so the next message is the beginning of one.
    past = max(cleared, compacted)
    first = view.first(total - past)
    if first > 0:
        first += past
        (start,) = tx.run(_NEXT_START, {**key, "first": first}) or (None,)
        # A turn longer than the window is shown whole: its calls and results belong together.
        first = start or (tx.run(_LAST_START, key) or (None,))[0] or 0
    first = max(first, past + 1)
    return [
        StoredMessage(turn_id=TurnId(turn_id), step=step, kind=kind, body=body)
        for turn_id, step, kind, body in tx.run_all(_ROWS, {**key, "first": first})
    ]


def count(tx: Transaction, session_id: SessionId) -> int:
    """How many messages a session's log has."""
    return (tx.run(_COUNTERS, {"session": session_id}) or (0,))[0]


def of_turn(tx: Transaction, turn_id: TurnId) -> list[StoredMessage]:
    """The messages of one turn."""
    query = select(messages).where(messages.c.turn_id == turn_id).order_by(messages.c.seq)
    return [_message(row) for row in tx.execute(query)]


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


_WHO = {"user-prompt": "user", "text": "agent", "tool-call": "agent", "tool-return": "tool"}


def search(
    tx: Transaction, session_id: SessionId, query: str, limit: int, *, not_in: TurnId
) -> list[tuple[int, str, str]]:
    """The places of a session's log that have most words of a query: turn, who, and what."""
    words = search_words(query)
    if not words:
        return []
    shared = sum((case((messages.c.body.icontains(each, autoescape=True), 1), else_=0)
                  for each in words), literal(0))  # fmt: skip
    rows = (
        select(turns.c.number, messages.c.body, shared.label("shared"))
        .join(turns, turns.c.id == messages.c.turn_id)
        .where(messages.c.session_id == session_id, messages.c.turn_id != not_in, shared > 0)
        .order_by(shared.desc(), messages.c.seq.desc())
        .limit(limit)
    )
    return [(row.number, *_part(row.body, words)) for row in tx.execute(rows)]


def _part(body: str, words: Sequence[str]) -> tuple[str, str]:
    """The part of a message that has most of some words: who says it, and what."""
    said = [
        (_WHO.get(part["part_kind"], "system"), part.get("content") or part.get("args") or "")
        for part in json.loads(body)["parts"]
    ]
    texts = [(who, each if isinstance(each, str) else json.dumps(each, ensure_ascii=False))
             for who, each in said]  # fmt: skip
    return max(texts, key=lambda each: sum(word in each[1].lower() for word in words))


def keep_pictures(tx: Transaction, session_id: SessionId, shown: Sequence[Picture]) -> None:
    """Store pictures, unless the session has them."""
    rows = [{"session_id": session_id, "id": each.id, "data": each.data} for each in shown]
    if rows:
        tx.execute(insert(pictures).prefix_with("OR IGNORE"), rows)


def find_pictures(
    tx: Transaction, session_id: SessionId, ids: Collection[str] | None = None
) -> dict[str, bytes]:
    """What the pictures of a session hold, or those of these names that are there."""
    query = select(pictures).where(pictures.c.session_id == session_id)
    if ids is not None:
        query = query.where(pictures.c.id.in_(ids))
    return {row.id: row.data for row in tx.execute(query)}
