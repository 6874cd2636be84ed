"""The audit log: who did what, and why."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select

from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One decision or act that someone may ask about later."""

    at: datetime
    actor: str
    action: str
    subject: str
    detail: str = ""


def note(tx: Transaction, entry: Entry) -> None:
    """Write an entry."""
    tx.execute(
        insert(audit),
        {
            "at": entry.at,
            "actor": entry.actor,
            "action": entry.action,
            "subject": tx.redact(entry.subject),
            "detail": tx.redact(entry.detail),
        },
    )


def newest(tx: Transaction, limit: int = 100) -> list[Entry]:
    """The latest entries, the newest first."""
    return [
        Entry(at=row.at, actor=row.actor, action=row.action, subject=row.subject, detail=row.detail)
        for row in tx.execute(select(audit).order_by(audit.c.id.desc()).limit(limit))
    ]
