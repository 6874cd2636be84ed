"""The port to whatever finds the nearest vectors. The vectors themselves are in the database."""

from typing import Protocol

from long_running_agents.memory.embedding.port import Vectors
from long_running_agents.memory.nearness import Near, nearest
from long_running_agents.memory.ranking import Mask
from long_running_agents.memory.shelf import Shelf
from long_running_agents.store.database import Database, Transaction


class VectorIndex(Protocol):
    """Finds memories near in meaning, and only among those that may be seen."""

    def nearest(
        self, tx: Transaction, shelf: Shelf, space: int, question: Vectors, eligible: Mask
    ) -> Near:
        """The memories nearest to a question among the eligible ones, as of a transaction."""
        ...

    async def follow(self, database: Database, space: str) -> None:
        """Bring what is kept outside the database up to date with it."""
        ...


class BuiltInIndex:
    """Keeps nothing of its own: it reads the shelf and the database."""

    def nearest(
        self, tx: Transaction, shelf: Shelf, space: int, question: Vectors, eligible: Mask
    ) -> Near:
        """The memories nearest to a question among the eligible ones."""
        return nearest(tx, shelf, space, question, eligible)

    async def follow(self, database: Database, space: str) -> None:
        """Nothing to do."""
