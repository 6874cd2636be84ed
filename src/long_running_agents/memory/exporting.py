"""Export: everything an owner has in memory, as lines of JSON.

One object per memory, in the order of their numbers: its fields, and the numbers it was derived
from. Vectors are left out, since any embedder makes them again. What was forgotten is not there.
"""

import json
from collections.abc import AsyncIterator, Sequence

from pydantic import TypeAdapter

from long_running_agents.domain.memory import Memory, Selection
from long_running_agents.memory.memories import Memories
from long_running_agents.store import memories as stored
from long_running_agents.store import memory_descent, memory_transfer
from long_running_agents.store.database import Transaction

MEMORY: TypeAdapter[Memory] = TypeAdapter(Memory)

ORIGINS = "derived_from"
"""The key of what a memory was derived from."""

_PAGE = 1000


async def export_lines(memories: Memories, owner: str) -> AsyncIterator[str]:
    """Each memory of an owner as a line, without its end."""
    after = 0
    while page := await memories.database.read(lambda tx, last=after: _page(tx, owner, last)):
        for number, line in page:
            yield line
            after = number


def _page(tx: Transaction, owner: str, after: int) -> list[tuple[int, str]]:
    ids = memory_transfer.numbers(tx, owner, after, limit=_PAGE)
    if not ids:
        return []
    origins = memory_descent.origins(tx, ids)
    found = stored.selected(tx, owner, Selection(ids=frozenset(ids)))
    return [(memory.id, _line(memory, origins.get(memory.id, []))) for memory in found]


def _line(memory: Memory, origins: Sequence[int]) -> str:
    body = {**MEMORY.dump_python(memory, mode="json"), ORIGINS: origins}
    return json.dumps(body, ensure_ascii=False)
