"""The audit log: what was decided about each call, and what administrators did."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import insert, select, update

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.policy import Judgement
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import row_reader, row_values, stored_values
from long_running_agents.store.tables import audit, decisions

_LONGEST = 300
"""Characters of the arguments that are kept; the ledger has all of them."""

_NOTE = Prepared(insert(decisions), decisions.c.keys()[1:])
_judgement = row_reader(Judgement)


def note(tx: Transaction, judgements: Sequence[Judgement]) -> None:
    """Write down what was decided."""
    tx.run_each(
        _NOTE,
        [
            stored_values(
                decisions,
                each,
                # Redacted before it is cut: half a secret is not known for one.
                args=tx.redact.json(each.args)[:_LONGEST],
                why=tx.redact(each.why),
            )
            for each in judgements
        ],
    )


def newest(
    tx: Transaction, owner: str, *, limit: int, session_id: SessionId | None = None
) -> list[Judgement]:
    """The latest judgements about an owner's calls, the newest first."""
    query = select(decisions).where(decisions.c.owner == owner)
    if session_id is not None:
        query = query.where(decisions.c.session_id == session_id)
    rows = tx.execute(query.order_by(decisions.c.id.desc()).limit(limit))
    return [_judgement(row) for row in rows]


def forget_words(tx: Transaction, session_id: SessionId) -> None:
    """Take a deleted session's words out; that something was decided stays known."""
    tx.execute(
        update(decisions).where(decisions.c.session_id == session_id).values(args="", why="")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One decision or act that someone may ask about later."""

    at: datetime
    actor: str
    action: str
    subject: str
    detail: str = ""


def note_admin(tx: Transaction, entry: AuditEntry) -> None:
    """Write an entry."""
    clean = {"subject": tx.redact(entry.subject), "detail": tx.redact(entry.detail)}
    tx.execute(insert(audit), row_values(audit, entry, **clean))


_entry = row_reader(AuditEntry)


def newest_admin(tx: Transaction, limit: int = 100) -> list[AuditEntry]:
    """The latest entries, the newest first."""
    rows = tx.execute(select(audit).order_by(audit.c.id.desc()).limit(limit))
    return [_entry(row) for row in rows]
