"""Turns and whether they are remembered."""

from collections.abc import Collection

from sqlalchemy import and_, bindparam, insert, select

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.turn import Turn
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import memory_turns
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds, turns
from long_running_agents.store.turns import turn_of

_MARK = Prepared(insert(memory_turns).prefix_with("OR REPLACE"), ["turn_id", "ended_at"])


_THERE = Prepared(select(turns.c.id).where(turns.c.id == bindparam("turn")))


def mark(tx: Transaction, turn: Turn) -> bool:
    """Note that a turn is remembered as it ended; False when it was deleted meanwhile."""
    if turn.ended_at is None or tx.run(_THERE, {"turn": turn.id}) is None:
        return False
    tx.run(_MARK, {"turn_id": turn.id, "ended_at": microseconds(turn.ended_at)})
    return True


def unremembered(
    tx: Transaction, *, limit: int, among: Collection[TurnId] | None = None
) -> list[Turn]:
    """Turns that came to rest and are not remembered yet, the oldest first.

    Args:
        tx: The transaction.
        limit: How many.
        among: Only these; all there are unless given.
    """
    known = and_(memory_turns.c.turn_id == turns.c.id, memory_turns.c.ended_at == turns.c.ended_at)
    query = (
        select(turns)
        .outerjoin(memory_turns, known)
        .where(turns.c.ended_at.is_not(None), memory_turns.c.turn_id.is_(None))
        .order_by(turns.c.ended_at, turns.c.id)
        .limit(limit)
    )
    if among is not None:
        query = query.where(turns.c.id.in_(among))
    return [turn_of(row) for row in tx.execute(query)]
