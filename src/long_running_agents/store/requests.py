"""Keys of requests: the same request under the same key is one turn."""

from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select

from long_running_agents.domain.ids import TurnId
from long_running_agents.errors import UsageError
from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import requests

KEPT = timedelta(days=7)
"""How long a key is known."""


def find(tx: Transaction, owner: str, key: str, digest: str) -> TurnId | None:
    """The turn that a request began; None if nobody has asked under this key.

    Raises:
        UsageError: The key was used for another request.
    """
    row = tx.execute(
        select(requests).where(requests.c.owner == owner, requests.c.key == key)
    ).first()
    if row is None:
        return None
    if row.digest != digest:
        raise UsageError(
            "The idempotency key was used for another request.", hint="Use a new key for it."
        )
    return TurnId(row.turn_id)


def keep(
    tx: Transaction, owner: str, key: str, digest: str, turn_id: TurnId, now: datetime
) -> None:
    """Remember which turn a request began, and forget old keys."""
    tx.execute(delete(requests).where(requests.c.at < now - KEPT))
    tx.execute(
        insert(requests),
        {"owner": owner, "key": key, "digest": digest, "turn_id": turn_id, "at": now},
    )
