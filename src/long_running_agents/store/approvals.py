"""Approvals and grants: open questions, their answers, and answers that last."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Select, insert, or_, select, update

from long_running_agents.domain.approval import SCOPE, Approval, ApprovalState, Grant, GrantDuration
from long_running_agents.domain.ids import ApprovalId, GrantId, SessionId, TurnId
from long_running_agents.errors import Busy, NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import approvals, grants, sessions

_approval = row_reader(
    Approval, offer=lambda row: None if row.offer is None else SCOPE.validate_json(row.offer)
)


def ask(tx: Transaction, approval: Approval) -> None:
    """Store a question."""
    offer = None if approval.offer is None else SCOPE.dump_json(approval.offer).decode()
    tx.execute(
        insert(approvals),
        row_values(
            approvals,
            approval,
            args=tx.redact.json(approval.args),
            question=tx.redact(approval.question),
            offer=None if offer is None else tx.redact.json(offer),
        ),
    )


def get(tx: Transaction, approval_id: ApprovalId, *, owner: str | None = None) -> Approval:
    """Look up a question that must exist, and concern an owner's session if one asks."""
    row = tx.execute(_asked(owner).where(approvals.c.id == approval_id)).first()
    if row is None:
        raise NotFound(f"No approval {approval_id!r}.", hint="It may belong to a deleted session.")
    return _approval(row)


def _asked(owner: str | None) -> Select[Any]:
    """The questions about calls in an owner's sessions, or in all."""
    mine = select(sessions.c.id).where(sessions.c.owner == owner)
    query = select(approvals)
    return query if owner is None else query.where(approvals.c.session_id.in_(mine))


def of_turn(tx: Transaction, turn_id: TurnId) -> dict[str, Approval]:
    """The questions of a turn, by the call they are about."""
    rows = tx.execute(select(approvals).where(approvals.c.turn_id == turn_id))
    return {row.call_id: _approval(row) for row in rows}


def open_questions(
    tx: Transaction, session_id: SessionId | None = None, *, owner: str | None = None
) -> list[Approval]:
    """Questions nobody has answered yet, of one session, of an owner's or of all."""
    query = _asked(owner).where(approvals.c.state == ApprovalState.OPEN)
    if session_id is not None:
        query = query.where(approvals.c.session_id == session_id)
    return [_approval(row) for row in tx.execute(query.order_by(approvals.c.asked_at))]


def answer(
    tx: Transaction,
    approval_id: ApprovalId,
    state: ApprovalState,
    reason: str,
    now: datetime,
    *,
    lasting: GrantDuration = GrantDuration.ONCE,
) -> Approval:
    """Store the answer to an open question."""
    approval = get(tx, approval_id)
    if approval.state is not ApprovalState.OPEN:
        raise Busy(f"Approval {approval_id!r} was answered already: {approval.state}.")
    tx.execute(
        update(approvals)
        .where(approvals.c.id == approval_id)
        .values(state=state, reason=tx.redact(reason), answered_at=now, lasting=lasting)
    )
    return get(tx, approval_id)


_grant = row_reader(Grant, scope=lambda row: SCOPE.validate_json(row.scope))


def add(tx: Transaction, grant: Grant) -> None:
    """Remember an answer."""
    scope = tx.redact.json(SCOPE.dump_json(grant.scope).decode())
    tx.execute(insert(grants), row_values(grants, grant, tool=grant.scope.tool, scope=scope))


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
