"""Usage: what each model request took and cost, and how much is stored."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from sqlalchemy import BigInteger, func, insert, select, type_coerce

from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.budget import Usage
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import MemoryKind
from long_running_agents.domain.session import MINE
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import row_reader, stored_values
from long_running_agents.store.tables import approvals, memories, sessions, usage

_RECORD = Prepared(insert(usage), usage.c.keys()[1:])


def record(
    tx: Transaction,
    session_id: SessionId,
    turn_id: TurnId,
    step: int,
    model: str,
    used: Usage,
    now: datetime,
    *,
    owner: str = MINE,
) -> None:
    """Write down one request."""
    tx.run(
        _RECORD,
        stored_values(
            usage,
            used,
            session_id=session_id,
            turn_id=turn_id,
            step=step,
            model=model,
            at=now,
            owner=owner,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotal:
    """Requests, tokens and money over some time."""

    requests: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


_TOTALS = (
    func.count().label("requests"),
    func.coalesce(func.sum(usage.c.input_tokens), 0).label("input_tokens"),
    func.coalesce(func.sum(usage.c.output_tokens), 0).label("output_tokens"),
    func.sum(usage.c.cost).label("cost"),
)
_total = row_reader(UsageTotal)


def total(tx: Transaction, *, session_id: SessionId | None = None) -> UsageTotal:
    """Sum up what was used, by one session or by all."""
    query = select(*_TOTALS)
    if session_id is not None:
        query = query.where(usage.c.session_id == session_id)
    return _total(tx.execute(query).one())


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What was used by one of several."""

    key: str
    """The model, the session, or the moment, as microseconds."""
    total: UsageTotal


_QUARTER = 15 * 60 * 1_000_000
"""Microseconds: every time zone is apart from UTC by a number of quarters."""


def shares(
    tx: Transaction, owner: str, since: datetime | None, *, by: Literal["model", "session", "time"]
) -> list[Share]:
    """What an owner used since a moment, by model, by session, or by quarter of an hour."""
    quarter = type_coerce(usage.c.at, BigInteger) // _QUARTER * _QUARTER
    key = {"model": usage.c.model, "session": usage.c.session_id, "time": quarter}[by]
    query = (
        select(key, *_TOTALS)
        .where(usage.c.owner == owner)
        .group_by(key)
        .order_by(func.max(usage.c.id).desc())
    )
    if since is not None:
        query = query.where(usage.c.at >= since)
    return [Share(key=str(row[0]), total=_total(row)) for row in tx.execute(query)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """How much there is."""

    sessions: int
    open_approvals: int
    memories: dict[MemoryKind, int]
    """Current ones, by kind."""


def taken(tx: Transaction) -> Census:
    """Count everything."""
    asked = select(func.count()).where(approvals.c.state == ApprovalState.OPEN)
    current = (
        select(memories.c.kind, func.count())
        .where(memories.c.valid_to.is_(None))
        .group_by(memories.c.kind)
    )
    return Census(
        sessions=tx.execute(select(func.count()).select_from(sessions)).scalar_one(),
        open_approvals=tx.execute(asked).scalar_one(),
        memories={MemoryKind(kind): count for kind, count in tx.execute(current)},
    )
