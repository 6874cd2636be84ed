"""Narrowing a selection to what has certain words.

A search ranks, and its tail is only vaguely about the question. Whoever forgets by words must
mean every memory that has them, in whichever scope, and no other.
"""

from dataclasses import replace

from long_running_agents.domain.memory import MemoryId, Selection
from long_running_agents.errors import UsageError
from long_running_agents.memory import words
from long_running_agents.store import memory_entries, memory_words
from long_running_agents.store.database import Database, Transaction

_ALL = 2**31


async def narrowed(database: Database, owner: str, selection: Selection, query: str) -> Selection:
    """The selection, narrowed to memories with all words of a query."""
    asked = words.asked(query)
    if not asked:
        raise UsageError(f"There are no words in {query!r}.", hint="Say which words to look for.")
    having = await database.read(lambda tx: _having(tx, owner, asked))
    ids = having if selection.ids is None else having & selection.ids
    return replace(selection, ids=ids)


def _having(tx: Transaction, owner: str, asked: list[str]) -> frozenset[MemoryId]:
    code = memory_entries.names(tx).get(owner)
    if code is None:
        return frozenset()
    first, *others = (
        memory_words.having(tx, [word], most=_ALL, owner=code).tolist() for word in asked
    )
    return frozenset(MemoryId(number) for number in set(first).intersection(*others))
