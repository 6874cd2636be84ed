"""Memories: found, listed, written, forgotten."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    Forgetting,
    Found,
    Hit,
    Kind,
    Memory,
    MemoryId,
    Scope,
    Trust,
)
from long_running_agents.memory.memories import Shown, Stats
from long_running_agents.server.failures import ErrorBody
from long_running_agents.server.parameters import PLAIN, SESSION_ID, When
from long_running_agents.server.wire.shapes import Asked, Told

_LONGEST = 100_000


class MemoryTold(Told):
    """One remembered item."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": 12,
                "kind": "fact",
                "scope": "user",
                "trust": "user",
                "actor": "user",
                "source": "user",
                "content": "The heron eats frogs.",
                "session_id": None,
                "turn_id": None,
                "event_at": "2026-11-16T09:00:00Z",
                "recorded_at": "2026-11-16T09:00:00Z",
                "valid_to": None,
                "superseded_by": None,
                "expires_at": None,
                "seen": 1,
                "enabled": True,
            }
        }
    )

    id: int
    kind: Kind
    scope: Scope
    trust: Trust
    """Who said it."""
    actor: str
    source: str
    content: str
    session_id: str | None
    turn_id: str | None
    event_at: datetime
    recorded_at: datetime
    valid_to: datetime | None
    """When it stopped being true; null while it is."""
    superseded_by: int | None
    expires_at: datetime | None
    seen: int
    """How often the same was written."""
    enabled: bool
    """Whether it is in use; one that is switched off is kept, and nothing brings it to mind."""

    @classmethod
    def of(cls, memory: Memory) -> "MemoryTold":
        """A memory, told."""
        return cls.model_validate(_told(memory))


def _told(memory: Memory) -> dict[str, object]:
    return {name: getattr(memory, name) for name in MemoryTold.model_fields}


class MemoryFound(MemoryTold):
    """A memory that answers a question, and why."""

    score: float | None = None
    """1 for the best hit of a search; null in a list."""
    why: Mapping[str, float] = {}
    """What each part of the search gave it."""

    @classmethod
    def hit(cls, hit: Hit) -> "MemoryFound":
        """A hit, told."""
        return cls.model_validate({**_told(hit.memory), "score": hit.score, "why": dict(hit.why)})

    @classmethod
    def listed(cls, memory: Memory) -> "MemoryFound":
        """A memory in a list."""
        return cls.model_validate(_told(memory))


class MemoryList(Told):
    """Memories: the best hits of a search, or a list with the latest first."""

    memories: list[MemoryFound]
    degraded: str = ""
    """Why only a part of the search was available; empty when all of it was."""
    next: int | None = None
    """The offset of the next page of a list; null on the last one."""

    @classmethod
    def of(cls, found: Found) -> "MemoryList":
        """What a search brought up, told."""
        return cls(memories=[MemoryFound.hit(hit) for hit in found.hits], degraded=found.degraded)


class MemoryShown(Told):
    """A memory and what hangs on it."""

    memory: MemoryTold
    history: list[MemoryTold]
    """What it has superseded, the latest first."""
    origins: list[MemoryTold]
    derived: list[MemoryTold]

    @classmethod
    def of(cls, shown: Shown) -> "MemoryShown":
        """All of it, told."""
        return cls(
            memory=MemoryTold.of(shown.memory),
            history=[MemoryTold.of(each) for each in shown.history],
            origins=[MemoryTold.of(each) for each in shown.origins],
            derived=[MemoryTold.of(each) for each in shown.derived],
        )


class NewMemory(Asked):
    """Something to remember."""

    model_config = ConfigDict(json_schema_extra={"example": {"content": "The heron eats frogs."}})

    content: str = Field(min_length=1, max_length=_LONGEST)
    kind: Literal["fact", "lesson", "summary", "note", "task"] = "fact"
    scope: Scope = Scope.USER
    session_id: SessionId | None = Field(default=None, pattern=SESSION_ID)
    """The session, for the scope of one."""
    supersedes: int | None = Field(default=None, ge=1)
    """The memory that it corrects or replaces."""
    keep_both: bool = False
    """Whether it is written although something similar is known."""
    trust: Trust = Trust.USER
    """Who said it; programs that pass on what they have heard say so."""
    source: str = Field(default="user", min_length=1, max_length=200, pattern=PLAIN)
    """Where it came from."""


class MemoryChange(Asked):
    """What becomes of a memory; at least one of these."""

    model_config = ConfigDict(json_schema_extra={"example": {"content": "The heron eats fish."}})

    content: str | None = Field(default=None, min_length=1, max_length=_LONGEST)
    """What is true instead."""
    enabled: bool | None = None
    """Whether it is in use."""

    @model_validator(mode="after")
    def _something(self) -> "MemoryChange":
        if self.content is None and self.enabled is None:
            raise ValueError("expected 'content', 'enabled' or both")
        return self


class MemoryWritten(Told):
    """What became of it."""

    status: Literal["stored", "merged", "switched"]
    """Merged means that the same was known already, switched that no words were changed."""
    memory: MemoryTold
    superseded: MemoryTold | None = None


class SimilarBody(ErrorBody):
    """Nothing was written, since something similar is known."""

    memories: list[MemoryTold]
    """What is known; name one as ``supersedes``, or send ``keep_both``."""


class Forget(Asked):
    """Which memories to forget; every condition that is given must hold."""

    model_config = ConfigDict(json_schema_extra={"example": {"ids": [12], "dry_run": True}})

    ids: frozenset[MemoryId] | None = Field(default=None, max_length=1000)
    query: str | None = Field(default=None, max_length=1000)
    """Every memory that has all of these words."""
    session_id: SessionId | None = Field(default=None, pattern=SESSION_ID)
    source: str | None = Field(default=None, max_length=1000, pattern=PLAIN)
    kind: Kind | None = None
    before: When | None = None
    """What was written before this moment."""
    dry_run: bool = False
    """Only say what would go."""
    for_good: bool = False
    """It cannot be undone."""


class Forgotten(Told):
    """What was forgotten, or would be."""

    batch: str | None
    """The name to undo it by; null for a rehearsal or when it cannot be undone."""
    memories: list[MemoryTold]
    derived: list[int]
    """Those among them that were only derived from the ones that were named."""

    @classmethod
    def of(cls, gone: Forgetting) -> "Forgotten":
        """What is gone, told."""
        return cls(
            batch=gone.batch,
            memories=[MemoryTold.of(each) for each in gone.memories],
            derived=sorted(gone.derived),
        )


class Remembered(Told):
    """What came back."""

    memories: list[MemoryTold]


class MemoryStats(Told):
    """How much is remembered."""

    embedder: str | None
    counts: dict[str, int]
    spaces: dict[str, int]
    """How many vectors each space has."""
    missing: int
    """How many memories wait for their vector."""
    trash: int
    """How many could be brought back."""

    @classmethod
    def of(cls, stats: Stats, embedder: str | None) -> "MemoryStats":
        """Numbers, told."""
        return cls(
            embedder=embedder,
            counts={str(kind): count for kind, count in stats.counts.items()},
            spaces=dict(stats.spaces),
            missing=stats.missing,
            trash=stats.trash,
        )
