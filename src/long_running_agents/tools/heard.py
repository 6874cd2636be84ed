"""Which memories a turn has heard: those that came to mind, and those its tools brought up."""

import json
from typing import cast

from long_running_agents.domain.events import MemoriesRecalled
from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.memory import MemoryId
from long_running_agents.store import events, ledger
from long_running_agents.store.database import Transaction

SEARCHING = frozenset({"search_memory", "memory_search", "memory"})
"""The tools that bring memories up."""


def heard(tx: Transaction, turn_id: TurnId) -> list[MemoryId]:
    """The numbers of the memories, each once."""
    numbers = [
        MemoryId(item.id)
        for recorded in events.of_turn(tx, turn_id)
        if isinstance(recorded.event, MemoriesRecalled)
        for item in recorded.event.memories
    ]
    for call in ledger.of_turn(tx, turn_id):
        if call.tool in SEARCHING and call.result:
            numbers += _in_result(call.result)
    return list(dict.fromkeys(numbers))


def _in_result(result: str) -> list[MemoryId]:
    told: object = json.loads(result)
    if not isinstance(told, dict):
        # A failure, in words.
        return []
    found = cast("dict[str, list[dict[str, int]]]", told).get("memories", [])
    return [MemoryId(item["id"]) for item in found]
