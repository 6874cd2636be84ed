"""Conversations as clients tell them: which session the words so far belong to."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import insert, select

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.tool import CallState
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import conversations, requests, tool_calls, turns
from long_running_agents.store.turns import turn_of


def keep(tx: Transaction, owner: str, digest: str, turn: Turn, now: datetime) -> None:
    """Remember which turn a conversation ended with; the newest of those that sound alike."""
    tx.execute(
        insert(conversations).prefix_with("OR REPLACE"),
        {
            "owner": owner,
            "digest": digest,
            "session_id": turn.session_id,
            "turn_id": turn.id,
            "at": now,
        },
    )


def find(tx: Transaction, owner: str, digest: str) -> TurnId | None:
    """The turn that a conversation ended with."""
    query = select(conversations.c.turn_id).where(
        conversations.c.owner == owner, conversations.c.digest == digest
    )
    found = tx.execute(query).scalar()
    return None if found is None else TurnId(found)


def begun(tx: Transaction, owner: str, key: str) -> TurnId | None:
    """The turn that a request began under a key, whatever it asked for."""
    query = select(requests.c.turn_id).where(requests.c.owner == owner, requests.c.key == key)
    found = tx.execute(query).scalar()
    return None if found is None else TurnId(found)


def waiting_for(tx: Transaction, owner: str, call_ids: Sequence[str]) -> list[Turn]:
    """An owner's turns that wait, with a call of such an id that waits, too."""
    query = (
        select(turns)
        .join(tool_calls, tool_calls.c.turn_id == turns.c.id)
        .where(
            turns.c.owner == owner,
            turns.c.status == TurnStatus.WAITING,
            tool_calls.c.state == CallState.WAITING,
            tool_calls.c.call_id.in_(call_ids),
        )
        .distinct()
    )
    return [turn_of(row) for row in tx.execute(query)]
