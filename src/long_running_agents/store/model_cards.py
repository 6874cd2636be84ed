"""Model cards: the capabilities found by examination, and those found missing in use."""

from sqlalchemy import delete, insert, select

from long_running_agents.domain.model_card import MissingCapability, ModelCard
from long_running_agents.store.database import Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import model_cards, model_lacks

_card = row_reader(ModelCard)
_lack = row_reader(MissingCapability)


def put_lack(tx: Transaction, lack: MissingCapability) -> None:
    """Store what a model lacks; learned again, it is as new."""
    # An address may carry a password.
    endpoint = tx.redact(lack.endpoint)
    known = model_lacks.c
    same = (known.endpoint == endpoint) & (known.model == lack.model) & (known.what == lack.what)
    tx.execute(delete(model_lacks).where(same))
    tx.execute(insert(model_lacks), row_values(model_lacks, lack, endpoint=endpoint))


def forget_lack(tx: Transaction, endpoint: str, model: str) -> None:
    """Forget everything that a model was found to lack."""
    known = model_lacks.c
    tx.execute(
        delete(model_lacks).where(known.endpoint == tx.redact(endpoint), known.model == model)
    )


def every_lack(tx: Transaction) -> list[MissingCapability]:
    """All of them, by server and name."""
    known = model_lacks.c
    query = select(model_lacks).order_by(known.endpoint, known.model, known.what)
    return [_lack(row) for row in tx.execute(query)]


def put(tx: Transaction, card: ModelCard) -> None:
    """Store a card in the place of an older one, and of what was learned since that."""
    # An address may carry a password.
    endpoint = tx.redact(card.endpoint)
    same = (model_cards.c.endpoint == endpoint) & (model_cards.c.model == card.model)
    tx.execute(delete(model_cards).where(same))
    forget_lack(tx, card.endpoint, card.model)
    tx.execute(insert(model_cards), row_values(model_cards, card, endpoint=endpoint))


def every(tx: Transaction) -> list[ModelCard]:
    """All cards, by server and name."""
    query = select(model_cards).order_by(model_cards.c.endpoint, model_cards.c.model)
    return [_card(row) for row in tx.execute(query)]
