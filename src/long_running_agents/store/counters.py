"""The next numbers of a session's turns, messages, events and tasks."""

from sqlalchemy import Column, bindparam, update

from long_running_agents.domain.ids import SessionId
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import sessions


def _statement(column: Column[int]):  # noqa: ANN202 - SQLAlchemy's own type says it best
    return (
        update(sessions)
        .where(sessions.c.id == bindparam("session"))
        .values({column: column + bindparam("count")})
        .returning(column)
    )


# Built once: a hot path uses them at every step.
_STATEMENTS = {
    name: _statement(sessions.c[name])
    for name in ("last_turn", "last_message", "last_event", "last_task")
}


def take(tx: Transaction, session_id: SessionId, counter: str, count: int = 1) -> int:
    """Reserve the next numbers of a counter and return the first of them."""
    last = tx.execute(_STATEMENTS[counter], {"session": session_id, "count": count}).scalar()
    if last is None:
        raise NotFound(f"No session {session_id!r}.", hint="It may have been deleted.")
    return last - count + 1
