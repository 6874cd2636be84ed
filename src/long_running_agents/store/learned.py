"""What was learned, refused or put aside."""

from dataclasses import replace

from sqlalchemy import insert

from long_running_agents.domain.reflection import Learned
from long_running_agents.store.database import Transaction
from long_running_agents.store.job_tables import learned as table
from long_running_agents.store.sql import row_values


def add(tx: Transaction, learned: Learned) -> Learned:
    """Store it; it comes back with its number, and without the secrets that were in it."""
    texts = {name: tx.redact(getattr(learned, name)) for name in ("text", "quote", "reason")}
    learned = replace(learned, **texts)
    values = row_values(table, learned)
    del values["number"]
    number = tx.execute(insert(table).returning(table.c.number), values).scalar_one()
    return replace(learned, number=number)
