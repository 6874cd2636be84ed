"""The next numbers of a session's turns, messages, events and tasks."""

from sqlalchemy import bindparam, update

from long_running_agents.domain.ids import SessionId
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import sessions


def _statement(name: str) -> Prepared:
    column = sessions.c[name]
    return Prepared(
        update(sessions)
        .where(sessions.c.id == bindparam("session"))
        .values({column: column + bindparam("count")})
        .returning(column, sessions.c.owner)
    )


_STATEMENTS = {
    name: _statement(name) for name in ("last_turn", "last_message", "last_event", "last_task")
}


def take(tx: Transaction, session_id: SessionId, counter: str, count: int = 1) -> int:
    """Reserve the next numbers of a counter and return the first of them."""
    return take_owned(tx, session_id, counter, count)[0]


def take_owned(
    tx: Transaction, session_id: SessionId, counter: str, count: int = 1
) -> tuple[int, str]:
    """Reserve the next numbers of a counter; the first of them, and whose session it is."""
    row = tx.run(_STATEMENTS[counter], {"session": session_id, "count": count})
    if row is None:
        raise NotFound(f"No session {session_id!r}.", hint="It may have been deleted.")
    last: int = row[0]
    return last - count + 1, row[1]
