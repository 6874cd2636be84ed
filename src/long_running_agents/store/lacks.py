"""What models were found to lack while they worked."""

from sqlalchemy import delete, insert, select

from long_running_agents.domain.lack import Lack
from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import model_lacks


def put(tx: Transaction, lack: Lack) -> None:
    """Store what a model lacks; learned again, it is as new."""
    # An address may carry a password.
    endpoint = tx.redact(lack.endpoint)
    known = model_lacks.c
    same = (known.endpoint == endpoint) & (known.model == lack.model) & (known.what == lack.what)
    tx.execute(delete(model_lacks).where(same))
    tx.execute(
        insert(model_lacks),
        {
            "endpoint": endpoint,
            "model": lack.model,
            "what": lack.what,
            "learned_at": lack.learned_at,
        },
    )


def forget(tx: Transaction, endpoint: str, model: str) -> None:
    """Forget everything that a model was found to lack."""
    known = model_lacks.c
    tx.execute(
        delete(model_lacks).where(known.endpoint == tx.redact(endpoint), known.model == model)
    )


def every(tx: Transaction) -> list[Lack]:
    """All of them, by server and name."""
    known = model_lacks.c
    query = select(model_lacks).order_by(known.endpoint, known.model, known.what)
    return [
        Lack(endpoint=row.endpoint, model=row.model, what=row.what, learned_at=row.learned_at)
        for row in tx.execute(query)
    ]
