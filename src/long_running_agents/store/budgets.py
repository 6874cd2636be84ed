"""Budgets: what owners and sessions have used, what is held, and what limits were raised by."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import CTE, ColumnElement, bindparam, delete, func, insert, select, update

from long_running_agents.domain.budget import Hold, Limits, Spent, Usage
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.store import usage as usage_rows
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import holds, raises, turns, usage

_hold = row_reader(Hold)
_BY_ID = Prepared(select(holds).where(holds.c.id == bindparam("hold")))
_limits = row_reader(Limits, tool_calls=lambda _: None)
_NONE = Limits(steps=0, tokens=0, cost=Decimal(0), seconds=0.0)
_SUMMED = ("input_tokens", "output_tokens", "cost", "seconds")


def spent(
    tx: Transaction, owner: str, within: Sequence[SessionId] | datetime | None
) -> tuple[Spent, Spent]:
    """What an owner has used and what is held: in some sessions, or since a moment."""
    if isinstance(within, Sequence):
        used, held = usage.c.session_id.in_(within), holds.c.session_id.in_(within)
    else:
        used, held = (usage.c.owner == owner) & (usage.c.at >= within), holds.c.owner == owner
    sums = [func.sum(usage.c[name]).label(name) for name in _SUMMED]
    query = select(func.count().label("steps"), *sums).where(used)
    total: dict[str, Any] = dict(tx.execute(query).mappings().one())
    reserved = Spent()
    for row in tx.execute(select(holds).where(held)):
        reserved = reserved.after_step(_hold(row).usage())
    return Spent(**{name: value for name, value in total.items() if value is not None}), reserved


def spent_by(tx: Transaction, family: CTE) -> tuple[Spent, Spent]:
    """What turns have used together, and what is held for them."""
    sums = [
        func.coalesce(func.sum(turns.c[name]), 0).label(name) for name in Spent.__dataclass_fields__
    ]
    own = select(family.c.id)
    total: dict[str, Any] = dict(
        tx.execute(select(*sums).where(turns.c.id.in_(own))).mappings().one()
    )
    reserved = Spent()
    for row in tx.execute(select(holds).where(holds.c.id.in_(own))):
        reserved = reserved.after_step(_hold(row).usage())
    return Spent(**total), reserved


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
    return _NONE if row is None else _limits(row)


def add(tx: Transaction, owner: str, scope: str, key: str, more: Limits) -> None:
    """Raise limits."""
    total = raised(tx, owner, scope, key).plus(more)
    tx.execute(delete(raises).where(*_named(owner, scope, key)))
    tx.execute(insert(raises), row_values(raises, total, owner=owner, scope=scope, key=key))


def _named(owner: str, scope: str, key: str) -> list[ColumnElement[bool]]:
    return [raises.c.owner == owner, raises.c.scope == scope, raises.c.key == key]
