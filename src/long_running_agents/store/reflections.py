"""Reflections: up to which turn each session was read, and which sessions wait to be read."""

from datetime import datetime

from sqlalchemy import func, insert, select

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.store.database import Transaction
from long_running_agents.store.job_tables import reflections
from long_running_agents.store.tables import sessions, turns, usage
from long_running_agents.store.turns import turn_of

_ENDED = [status for status in TurnStatus if status.ended]
_READ = func.coalesce(reflections.c.number, 0)
_ended_at = func.max(turns.c.ended_at)
_UNREAD = (
    select(sessions.c.id, _ended_at.label("ended"))
    .outerjoin(reflections, reflections.c.session_id == sessions.c.id)
    .join(turns, turns.c.session_id == sessions.c.id)
    # By the counter: the turns of sessions that were read are not even looked at.
    .where(sessions.c.last_turn > _READ)
    .group_by(sessions.c.id)
    .having(func.count() == func.sum(turns.c.status.in_(_ENDED)))
    .having(func.max(turns.c.number) > _READ)
)
CHORE = "reflect"
"""How the ids begin that its requests have in the usage."""


def unread(
    tx: Transaction,
    *,
    until: datetime,
    after: datetime | None = None,
    owner: str | None = None,
    limit: int | None = None,
) -> list[SessionId]:
    """The sessions with turns to be read whose last one ended until a moment, the oldest first."""
    query = _UNREAD.having(_ended_at <= until).order_by(_ended_at).limit(limit)
    if after is not None:
        query = query.having(_ended_at > after)
    if owner is not None:
        query = query.where(sessions.c.owner == owner)
    return [SessionId(row.id) for row in tx.execute(query)]


def earliest(tx: Transaction, after: datetime) -> datetime | None:
    """When the first session came to rest, of those with turns to be read that did so later."""
    row = tx.execute(_UNREAD.having(_ended_at > after).order_by(_ended_at).limit(1)).first()
    return None if row is None else row.ended


def cursor(tx: Transaction, session_id: SessionId) -> int:
    """The number of the last turn that was read; 0 for none."""
    query = select(reflections.c.number).where(reflections.c.session_id == session_id)
    return tx.execute(query).scalar() or 0


def move(tx: Transaction, session_id: SessionId, number: int, now: datetime) -> None:
    """Note that the turns up to a number were read."""
    values = {"session_id": session_id, "number": number, "at": now}
    tx.execute(insert(reflections).prefix_with("OR REPLACE"), values)


def after_cursor(tx: Transaction, session_id: SessionId, limit: int) -> list[Turn]:
    """The next turns to be read, in order, up to the first that has not ended."""
    query = (
        select(turns)
        .where(turns.c.session_id == session_id, turns.c.number > cursor(tx, session_id))
        .order_by(turns.c.number)
        .limit(limit)
    )
    found: list[Turn] = []
    for turn in map(turn_of, tx.execute(query)):
        if not turn.status.ended:
            break
        found.append(turn)
    return found


def tokens_since(tx: Transaction, owner: str, since: datetime | None) -> int:
    """What an owner's reflections have used since a moment."""
    query = select(func.sum(usage.c.input_tokens + usage.c.output_tokens)).where(
        usage.c.owner == owner, usage.c.turn_id.startswith(f"{CHORE}_", autoescape=True)
    )
    return tx.execute(query if since is None else query.where(usage.c.at >= since)).scalar() or 0
