"""Approvals: open questions and their answers."""

from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, insert, select, update

from long_running_agents.domain.approval import Approval, ApprovalState
from long_running_agents.domain.grant import SCOPE, Lasting
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId
from long_running_agents.errors import Busy, NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import approvals, sessions


def _approval(row: Row[Any]) -> Approval:
    return Approval(
        id=ApprovalId(row.id),
        session_id=SessionId(row.session_id),
        turn_id=TurnId(row.turn_id),
        call_id=row.call_id,
        tool=row.tool,
        args=row.args,
        question=row.question,
        state=ApprovalState(row.state),
        reason=row.reason,
        asked_at=row.asked_at,
        answered_at=row.answered_at,
        offer=None if row.offer is None else SCOPE.validate_json(row.offer),
        lasting=Lasting(row.lasting),
        expires_at=row.expires_at,
    )


def ask(tx: Transaction, approval: Approval) -> None:
    """Store a question."""
    offer = None if approval.offer is None else SCOPE.dump_json(approval.offer).decode()
    tx.execute(
        insert(approvals),
        {
            "id": approval.id,
            "session_id": approval.session_id,
            "turn_id": approval.turn_id,
            "call_id": approval.call_id,
            "tool": approval.tool,
            "args": tx.redact.json(approval.args),
            "question": tx.redact(approval.question),
            "state": approval.state,
            "asked_at": approval.asked_at,
            "offer": None if offer is None else tx.redact.json(offer),
            "expires_at": approval.expires_at,
        },
    )


def get(tx: Transaction, approval_id: ApprovalId, *, owner: str | None = None) -> Approval:
    """Look up a question that must exist, and concern an owner's session if one asks."""
    query = select(approvals).where(approvals.c.id == approval_id)
    if owner is not None:
        query = query.where(approvals.c.session_id.in_(_sessions_of(owner)))
    row = tx.execute(query).first()
    if row is None:
        raise NotFound(f"No approval {approval_id!r}.", hint="It may belong to a deleted session.")
    return _approval(row)


def _sessions_of(owner: str) -> Select[tuple[str]]:
    return select(sessions.c.id).where(sessions.c.owner == owner)


def of_turn(tx: Transaction, turn_id: TurnId) -> dict[str, Approval]:
    """The questions of a turn, by the call they are about."""
    rows = tx.execute(select(approvals).where(approvals.c.turn_id == turn_id))
    return {row.call_id: _approval(row) for row in rows}


def open_questions(
    tx: Transaction, session_id: SessionId | None = None, *, owner: str | None = None
) -> list[Approval]:
    """Questions nobody has answered yet, of one session, of an owner's or of all."""
    query = select(approvals).where(approvals.c.state == ApprovalState.OPEN)
    if owner is not None:
        query = query.where(approvals.c.session_id.in_(_sessions_of(owner)))
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
    lasting: Lasting = Lasting.ONCE,
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
