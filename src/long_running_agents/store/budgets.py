"""Budgets: what owners and sessions have used, what is held, and what limits were raised by."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, bindparam, delete, func, insert, select, update

from long_running_agents.domain.budget import Hold, Limits, Spent, Usage
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.store import usage as usage_rows
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import holds, raises, turns, usage

_hold = row_reader(Hold)
_BY_ID = Prepared(select(holds).where(holds.c.id == bindparam("hold")))
_NONE = Limits(steps=0, tokens=0, cost=Decimal(0), seconds=0.0)
_RAISED = ("steps", "tokens", "cost", "seconds")


def spent(tx: Transaction, owner: str, within: SessionId | datetime | None) -> tuple[Spent, Spent]:
    """What an owner has used and what is held: in a session, or since a moment."""
    if isinstance(within, str):
        used, held = usage.c.session_id == within, holds.c.session_id == within
    else:
        used, held = (usage.c.owner == owner) & (usage.c.at >= within), holds.c.owner == owner
    sums = [usage.c.input_tokens, usage.c.output_tokens, usage.c.cost, usage.c.seconds]
    query = select(func.count(), *(func.sum(each) for each in sums)).where(used)
    row: Any = tx.execute(query).one()
    total = Spent(
        steps=row[0],
        input_tokens=row[1] or 0,
        output_tokens=row[2] or 0,
        cost=row[3] or Decimal(0),
        seconds=row[4] or 0.0,
    )
    return total, _sum([_hold(row).usage() for row in tx.execute(select(holds).where(held))])


def _sum(requests: list[Usage]) -> Spent:
    total = Spent()
    for each in requests:
        total = total.after_step(each, tool_calls=0, seconds=0.0)
    return total


def hold(tx: Transaction, held: Hold) -> None:
    """Reserve what a request may take."""
    tx.execute(insert(holds), row_values(holds, held))


def release(tx: Transaction, hold_id: str) -> None:
    """Give back what was reserved: what the request took is written down in its place."""
    tx.execute(delete(holds).where(holds.c.id == hold_id))


def settle(tx: Transaction, hold_id: str, answered: int | None, now: datetime) -> Usage | None:
    """Count a request of which nothing came: with so much of an answer, or all it had.

    What it took is added to what its turn has used, if it is a turn's. One that never answered
    took nothing. None when nothing was held or taken.
    """
    row = tx.first(_BY_ID, {"hold": hold_id})
    if row is None:
        return None
    release(tx, hold_id)
    if answered == 0:
        return None
    held = _hold(row)
    used = held.usage(answered)
    # Not as a step of the turn: that is made again.
    lost = TurnId(new_id("lost", now))
    usage_rows.record(tx, held.session_id, lost, 1, held.model, used, now, owner=held.owner)
    more: dict[str, Any] = {"input_tokens": used.input_tokens, "output_tokens": used.output_tokens}
    more["cost"] = used.cost or 0
    total = {name: turns.c[name] + added for name, added in more.items()}
    tx.execute(update(turns).where(turns.c.id == hold_id).values(total))
    return used


def settle_all(tx: Transaction, now: datetime) -> int:
    """Count every request as paid in full that a process left behind; how many there were."""
    left = [row.id for row in tx.execute(select(holds.c.id))]
    for hold_id in left:
        settle(tx, hold_id, None, now)
    return len(left)


def raised(tx: Transaction, owner: str, scope: str, key: str) -> Limits:
    """What limits were raised by."""
    row = tx.execute(select(raises).where(*_named(owner, scope, key))).first()
    return _NONE if row is None else Limits(**{each: getattr(row, each) for each in _RAISED})


def add(tx: Transaction, owner: str, scope: str, key: str, more: Limits) -> None:
    """Raise limits."""
    total = raised(tx, owner, scope, key).plus(more)
    tx.execute(delete(raises).where(*_named(owner, scope, key)))
    tx.execute(insert(raises), row_values(raises, total, owner=owner, scope=scope, key=key))


def _named(owner: str, scope: str, key: str) -> list[ColumnElement[bool]]:
    return [raises.c.owner == owner, raises.c.scope == scope, raises.c.key == key]
