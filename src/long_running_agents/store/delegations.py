"""Delegations: which turns work for which, what came of them, and what they use together."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import CTE, bindparam, insert, select, update

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.chain import Delegation, Receipt
from long_running_agents.domain.ids import SessionId, TurnId, WorkId
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.store import budgets
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import delegations, turns
from long_running_agents.store.turns import turn_of

_RECEIPT = TypeAdapter(Receipt)
_delegation = row_reader(
    Delegation,
    receipt=lambda row: None if row.receipt is None else _RECEIPT.validate_json(row.receipt),
)
_BY_TURN = Prepared(select(delegations).where(delegations.c.turn_id == bindparam("turn")))
_OF_PARENT = Prepared(
    select(delegations)
    .where(delegations.c.parent_id == bindparam("parent"))
    .order_by(delegations.c.created_at, delegations.c.call_id, delegations.c.place)
)
_OPEN = [status for status in TurnStatus if not status.ended]


def add(tx: Transaction, begun: Delegation) -> None:
    """Store that a turn works for another."""
    tx.execute(insert(delegations), row_values(delegations, begun, receipt=None))


def find(tx: Transaction, turn_id: TurnId) -> Delegation | None:
    """What a turn is done for; None when nobody delegated it."""
    row = tx.first(_BY_TURN, {"turn": turn_id})
    return None if row is None else _delegation(row)


def below(tx: Transaction, parent_id: TurnId, call_id: str | None = None) -> list[Delegation]:
    """The delegates of a turn, or of one of its calls, in their order."""
    rows = tx.all(_OF_PARENT, {"parent": parent_id})
    return [_delegation(row) for row in rows if call_id in (None, row.call_id)]


def settle(tx: Transaction, turn_id: TurnId, receipt: Receipt, now: datetime) -> None:
    """Store what a delegate did."""
    kept = tx.redact.json(_RECEIPT.dump_json(receipt).decode())
    done = update(delegations).where(delegations.c.turn_id == turn_id)
    tx.execute(done.values(receipt=kept, ended_at=now))


def above(tx: Transaction, turn: Turn) -> list[Turn]:
    """The turns that a turn is done for, the nearest first."""
    found: list[Turn] = []
    query = select(turns).join(delegations, delegations.c.parent_id == turns.c.id)
    while turn.origin is TurnOrigin.DELEGATE:
        row = tx.execute(query.where(delegations.c.turn_id == turn.id)).first()
        if row is None:
            break
        turn = turn_of(row)
        found.append(turn)
    return found


def startable(tx: Transaction, owner: str, most: int) -> list[Turn]:
    """The delegates that may begin: so many of an owner's at once, and of a parent as it said.

    One that waits for its own delegates or for a person takes nobody's place but its siblings'.
    """
    query = (
        select(turns, delegations.c.parent_id, delegations.c.parallel)
        .join(delegations, delegations.c.turn_id == turns.c.id)
        .where(turns.c.owner == owner, turns.c.status.in_(_OPEN))
        .order_by(delegations.c.created_at, delegations.c.call_id, delegations.c.place)
    )
    rows = tx.execute(query).all()
    room = most - sum(row.status == TurnStatus.RUNNING for row in rows)
    taken: dict[str, int] = {}
    for row in rows:
        if row.status != TurnStatus.QUEUED:
            taken[row.parent_id] = taken.get(row.parent_id, 0) + 1
    found: list[Turn] = []
    for row in rows:
        free = taken.get(row.parent_id, 0) < row.parallel and len(found) < room
        # One that has begun goes on, wherever it stands.
        if row.status == TurnStatus.QUEUED and (free or row.steps):
            taken[row.parent_id] = taken.get(row.parent_id, 0) + 1
            found.append(turn_of(row))
    return found


def unfinished(tx: Transaction, parent_id: TurnId) -> list[Turn]:
    """The delegates of a turn that it waits for and that have not ended."""
    query = (
        select(turns)
        .join(delegations, delegations.c.turn_id == turns.c.id)
        .where(delegations.c.parent_id == parent_id, turns.c.status.in_(_OPEN))
        .where(delegations.c.background.is_(False))
    )
    return [turn_of(row) for row in tx.execute(query)]


def orphans(tx: Transaction) -> list[Turn]:
    """Delegates at work for a turn that has ended without them."""
    parent = turns.alias()
    query = (
        select(turns)
        .join(delegations, delegations.c.turn_id == turns.c.id)
        .join(parent, parent.c.id == delegations.c.parent_id)
        .where(turns.c.status.in_(_OPEN), parent.c.status.not_in(_OPEN))
        .where(delegations.c.background.is_(False))
    )
    return [turn_of(row) for row in tx.execute(query)]


def waiting_parents(tx: Transaction) -> list[Turn]:
    """Turns that wait for delegates."""
    query = select(turns).where(turns.c.status == TurnStatus.DELEGATING)
    return [turn_of(row) for row in tx.execute(query)]


def _family(first: Any) -> CTE:
    """The turns of a query, and all that work for them."""
    family = first.cte(recursive=True)
    more = select(delegations.c.turn_id).join(family, family.c.id == delegations.c.parent_id)
    return family.union(more)


def spent_by_turn(tx: Transaction, turn_id: TurnId) -> tuple[Spent, Spent]:
    """What a turn and its delegates have used together, and what is held for them."""
    return budgets.spent_by(tx, _family(select(turns.c.id).where(turns.c.id == turn_id)))


def spent_by_work(tx: Transaction, work_id: WorkId) -> tuple[Spent, Spent]:
    """What all turns of a work and their delegates have used, and what is held for them."""
    return budgets.spent_by(tx, _family(select(turns.c.id).where(turns.c.work_id == work_id)))


def sessions_below(tx: Transaction, session_id: SessionId) -> Sequence[SessionId]:
    """The sessions in which delegates of a session's turns work."""
    family = _family(select(turns.c.id).where(turns.c.session_id == session_id))
    query = select(turns.c.session_id).where(turns.c.id.in_(select(family.c.id))).distinct()
    return [row.session_id for row in tx.execute(query) if row.session_id != session_id]
