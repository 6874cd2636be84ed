"""Capability cards: the latest of each model at each server."""

from typing import Any

from sqlalchemy import Row, delete, insert, select

from long_running_agents.domain.card import Card
from long_running_agents.store import lacks
from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import model_cards


def put(tx: Transaction, card: Card) -> None:
    """Store a card in the place of an older one, and of what was learned since that."""
    # An address may carry a password.
    endpoint = tx.redact(card.endpoint)
    same = (model_cards.c.endpoint == endpoint) & (model_cards.c.model == card.model)
    tx.execute(delete(model_cards).where(same))
    lacks.forget(tx, card.endpoint, card.model)
    tx.execute(
        insert(model_cards),
        {
            "endpoint": endpoint,
            "model": card.model,
            "native_tools": card.native_tools,
            "text_tools": card.text_tools,
            "streaming": card.streaming,
            "streamed_calls": card.streamed_calls,
            "usage": card.usage,
            "context_window": card.context_window,
            "cuts_silently": card.cuts_silently,
            "checked_at": card.checked_at,
        },
    )


def find(tx: Transaction, endpoint: str, model: str) -> Card | None:
    """The card of a model at a server."""
    same = (model_cards.c.endpoint == tx.redact(endpoint)) & (model_cards.c.model == model)
    row = tx.execute(select(model_cards).where(same)).first()
    return None if row is None else _card(row)


def every(tx: Transaction) -> list[Card]:
    """All cards, by server and name."""
    query = select(model_cards).order_by(model_cards.c.endpoint, model_cards.c.model)
    return [_card(row) for row in tx.execute(query)]


def _card(row: Row[Any]) -> Card:
    return Card(
        endpoint=row.endpoint,
        model=row.model,
        native_tools=row.native_tools,
        text_tools=row.text_tools,
        streaming=row.streaming,
        streamed_calls=row.streamed_calls,
        usage=row.usage,
        context_window=row.context_window,
        cuts_silently=row.cuts_silently,
        checked_at=row.checked_at,
    )
