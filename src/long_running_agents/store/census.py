"""Counts over all owners, for whoever looks after a home."""

from dataclasses import dataclass

from sqlalchemy import func, select

from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.memory import Kind
from long_running_agents.store.database import Transaction
from long_running_agents.store.memory_tables import memories
from long_running_agents.store.tables import approvals, sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """How much there is."""

    sessions: int
    open_approvals: int
    memories: dict[Kind, int]
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
        memories={Kind(kind): count for kind, count in tx.execute(current)},
    )
