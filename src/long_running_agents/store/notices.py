"""Notices: what is told to somebody outside, one row for each address."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, insert, select, update

from long_running_agents.domain.job import Notice
from long_running_agents.store.database import Transaction
from long_running_agents.store.job_tables import notices
from long_running_agents.store.sql import row_reader, row_values

_notice = row_reader(Notice)
_AT_ONCE = 100


def add(tx: Transaction, notice: Notice) -> None:
    """Store a notice that is to be sent, unless its address has one of this key already."""
    texts = {"title": tx.redact(notice.title), "text": tx.redact(notice.text)}
    tx.execute(insert(notices).prefix_with("OR IGNORE"), row_values(notices, notice, **texts))


def save(tx: Transaction, notice: Notice) -> None:
    """Store what came of an attempt to send a notice."""
    told = {name: getattr(notice, name) for name in ("attempts", "next_at", "sent_at")}
    tx.execute(
        update(notices)
        .where(
            notices.c.owner == notice.owner,
            notices.c.key == notice.key,
            notices.c.target == notice.target,
        )
        .values(told | {"error": tx.redact(notice.error)})
    )


def due(tx: Transaction, now: datetime) -> Sequence[Notice]:
    """The notices whose time to be tried has come, the earliest first, up to a hundred."""
    query = select(notices).where(notices.c.next_at <= now).order_by(notices.c.next_at)
    return [_notice(row) for row in tx.execute(query.limit(_AT_ONCE))]


def earliest(tx: Transaction) -> datetime | None:
    """When the next notice is to be tried."""
    return tx.execute(select(func.min(notices.c.next_at))).scalar()


def of_owner(tx: Transaction, owner: str, *, limit: int) -> Sequence[Notice]:
    """What was told about an owner's jobs, or is to be told, the newest first."""
    query = select(notices).where(notices.c.owner == owner).order_by(notices.c.created_at.desc())
    return [_notice(row) for row in tx.execute(query.limit(limit))]
