"""The full-text table: which memories have a word."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import text

from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared

_WITH_WORD = Prepared(
    text(
        "SELECT group_concat(rowid) FROM (SELECT rowid FROM memory_words"
        " WHERE memory_words MATCH :question ORDER BY rowid DESC LIMIT :most)"
    )
)


def having(
    tx: Transaction, forms: Sequence[str], *, most: int, owner: int | None = None
) -> NDArray[np.int64]:
    """The latest memories that have a word in one of its forms.

    Args:
        tx: The transaction.
        forms: One word, as it is written in different places; regular endings are all alike.
        most: How many to look for.
        owner: Only those of this owner.
    """
    # Quoted, so that nothing in a word is an operator.
    either = " OR ".join('"' + form.replace('"', '""') + '"' for form in forms)
    question = f"words : ({either})"
    if owner is not None:
        question += f' AND owner : "o{owner}"'
    row = tx.run(_WITH_WORD, {"question": question, "most": most})
    # In one text: a row for each of thousands takes longer than finding them.
    return np.fromstring(row[0] if row and row[0] else "", np.int64, sep=",")


def clear(tx: Transaction) -> None:
    """Empty the table."""
    tx.execute(text("DELETE FROM memory_words"))


def tidy(tx: Transaction) -> None:
    """Merge the table's parts; searching many small ones is slower."""
    tx.execute(text("INSERT INTO memory_words (memory_words) VALUES ('optimize')"))


def sound(tx: Transaction) -> bool:
    """Whether every memory has its words and no words are left without a memory."""
    query = text(
        "SELECT (SELECT count(*) FROM memories WHERE id NOT IN (SELECT rowid FROM memory_words))"
        " + (SELECT count(*) FROM memory_words WHERE rowid NOT IN (SELECT id FROM memories))"
        " + (SELECT count(*) FROM memories WHERE id NOT IN (SELECT memory_id FROM memory_entries))"
    )
    return tx.execute(query).scalar_one() == 0
