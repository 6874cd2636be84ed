"""Grants: remembered answers, until they are revoked."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, insert, or_, select, update

from long_running_agents.domain.grant import SCOPE, Grant
from long_running_agents.domain.ids import GrantId, SessionId
from long_running_agents.errors import Busy, NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import grants


def _grant(row: Row[Any]) -> Grant:
    return Grant(
        id=GrantId(row.id),
        owner=row.owner,
        session_id=SessionId(row.session_id) if row.session_id else None,
        scope=SCOPE.validate_json(row.scope),
        created_at=row.created_at,
        used=row.used,
        revoked_at=row.revoked_at,
    )


def add(tx: Transaction, grant: Grant) -> None:
    """Remember an answer."""
    tx.execute(
        insert(grants),
        {
            "id": grant.id,
            "owner": grant.owner,
            "session_id": grant.session_id,
            "tool": grant.scope.tool,
            "scope": tx.redact.json(SCOPE.dump_json(grant.scope).decode()),
            "created_at": grant.created_at,
        },
    )


def in_force(tx: Transaction, owner: str, session_id: SessionId) -> list[Grant]:
    """The grants that are good for a session, the oldest first."""
    here = or_(grants.c.session_id.is_(None), grants.c.session_id == session_id)
    query = select(grants).where(grants.c.owner == owner, grants.c.revoked_at.is_(None), here)
    return [_grant(row) for row in tx.execute(query.order_by(grants.c.id))]


def of_owner(tx: Transaction, owner: str, *, revoked: bool = False) -> list[Grant]:
    """An owner's grants, the newest first; those that were revoked only if they are asked for."""
    query = select(grants).where(grants.c.owner == owner)
    if not revoked:
        query = query.where(grants.c.revoked_at.is_(None))
    return [_grant(row) for row in tx.execute(query.order_by(grants.c.id.desc()))]


def use(tx: Transaction, used: Sequence[GrantId]) -> None:
    """Count the calls that grants have let through."""
    for grant_id in used:
        tx.execute(update(grants).where(grants.c.id == grant_id).values(used=grants.c.used + 1))


def revoke(tx: Transaction, owner: str, grant_id: GrantId, now: datetime) -> Grant:
    """Take an answer back; what it has let through is not undone."""
    row = tx.execute(select(grants).where(grants.c.id == grant_id, grants.c.owner == owner)).first()
    if row is None:
        raise NotFound(f"No grant {grant_id!r}.", hint="'lra approvals grants' lists them.")
    if row.revoked_at is not None:
        raise Busy(f"Grant {grant_id!r} was revoked already.")
    tx.execute(update(grants).where(grants.c.id == grant_id).values(revoked_at=now))
    return _grant(row)
