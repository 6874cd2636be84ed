"""Usage: what each model request took and cost."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from sqlalchemy import BigInteger, func, insert, select, type_coerce

from long_running_agents.domain.budget import Usage
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.session import MINE
from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds, nanodollars, usage

_RECORD = Prepared(
    insert(usage),
    [
        "session_id",
        "turn_id",
        "step",
        "model",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost",
        "estimated",
        "at",
        "owner",
    ],
)


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
        {
            "session_id": session_id,
            "turn_id": turn_id,
            "step": step,
            "model": model,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cache_read_tokens": used.cache_read_tokens,
            "cache_write_tokens": used.cache_write_tokens,
            "cost": None if used.cost is None else nanodollars(used.cost),
            "estimated": used.estimated,
            "at": microseconds(now),
            "owner": owner,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Requests, tokens and money over some time."""

    requests: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None


def total(tx: Transaction, *, session_id: SessionId | None = None) -> Total:
    """Sum up what was used, by one session or by all."""
    query = select(
        func.count(),
        func.coalesce(func.sum(usage.c.input_tokens), 0),
        func.coalesce(func.sum(usage.c.output_tokens), 0),
        func.sum(usage.c.cost),
    )
    if session_id is not None:
        query = query.where(usage.c.session_id == session_id)
    requests, tokens_in, tokens_out, cost = tx.execute(query).one()
    return Total(requests=requests, input_tokens=tokens_in, output_tokens=tokens_out, cost=cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What was used by one of several."""

    key: str
    """The model, the session, or the moment, as microseconds."""
    total: Total


_QUARTER = 15 * 60 * 1_000_000
"""Microseconds: every time zone is apart from UTC by a number of quarters."""


def shares(
    tx: Transaction, owner: str, since: datetime | None, *, by: Literal["model", "session", "time"]
) -> list[Share]:
    """What an owner used since a moment, by model, by session, or by quarter of an hour."""
    quarter = type_coerce(usage.c.at, BigInteger) // _QUARTER * _QUARTER
    key = {"model": usage.c.model, "session": usage.c.session_id, "time": quarter}[by]
    query = (
        select(
            key,
            func.count(),
            func.sum(usage.c.input_tokens),
            func.sum(usage.c.output_tokens),
            func.sum(usage.c.cost),
        )
        .where(usage.c.owner == owner)
        .group_by(key)
        .order_by(func.max(usage.c.id).desc())
    )
    if since is not None:
        query = query.where(usage.c.at >= since)
    return [
        Share(
            key=str(row[0]),
            total=Total(requests=row[1], input_tokens=row[2], output_tokens=row[3], cost=row[4]),
        )
        for row in tx.execute(query)
    ]
