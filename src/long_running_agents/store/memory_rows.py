"""Rows of memories, as the rest of the house knows them."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import Kind, Memory, MemoryId, Scope, Trust
from long_running_agents.store.memory_tables import memories
from long_running_agents.store.tables import moment

_COLUMNS = [column.name for column in memories.columns]
_MOMENTS = ("event_at", "recorded_at", "valid_to", "expires_at")


def memory_of(row: Any) -> Memory:
    """The memory of a row, whose columns are its attributes."""
    # One that was revived remembers its successor, in case that is brought back.
    successor = row.superseded_by if row.valid_to is not None else None
    return Memory(
        id=MemoryId(row.id),
        owner=row.owner,
        kind=Kind(row.kind),
        scope=Scope(row.scope),
        trust=Trust(row.trust),
        actor=row.actor,
        source=row.source,
        content=row.content,
        agent=row.agent,
        session_id=None if row.session_id is None else SessionId(row.session_id),
        turn_id=None if row.turn_id is None else TurnId(row.turn_id),
        previous=None if row.previous_id is None else MemoryId(row.previous_id),
        event_at=row.event_at,
        recorded_at=row.recorded_at,
        valid_to=row.valid_to,
        superseded_by=None if successor is None else MemoryId(successor),
        expires_at=row.expires_at,
        seen=row.seen,
        enabled=bool(row.enabled),
    )


def as_read(values: Sequence[Any]) -> Memory:
    """The memory of a row as the driver gives it: all columns, and moments are still numbers."""
    row = SimpleNamespace(**dict(zip(_COLUMNS, values, strict=True)))
    for name in _MOMENTS:
        if (kept := getattr(row, name)) is not None:
            setattr(row, name, moment(kept))
    return memory_of(row)
