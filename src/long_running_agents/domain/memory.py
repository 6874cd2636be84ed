"""Memories: what is remembered, from whom it was heard, and who may see it.

A memory is data, never an instruction. It knows its owner, where it came from and how far that
can be trusted; it is corrected by a newer one that supersedes it, and both stay until forgotten.
"""

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal, NewType

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.session import MINE
from long_running_agents.errors import UsageError

MemoryId = NewType("MemoryId", int)
"""The number a memory is called by: "#12"."""


class MemoryKind(StrEnum):
    """What sort of thing is remembered."""

    CONVERSATION = "conversation"
    FACT = "fact"
    LESSON = "lesson"
    SUMMARY = "summary"
    NOTE = "note"
    TASK = "task"


class MemoryScope(StrEnum):
    """Who among an owner's agents and sessions can see a memory."""

    USER = "user"
    AGENT = "agent"
    SESSION = "session"


class Trust(StrEnum):
    """Who said it."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    WEB = "web"

    @property
    def rank(self) -> int:
        """Higher is more trustworthy."""
        return {Trust.USER: 3, Trust.AGENT: 2, Trust.TOOL: 1, Trust.WEB: 0}[self]

    @property
    def foreign(self) -> bool:
        """Whether neither the user nor the agent said it."""
        return self in (Trust.TOOL, Trust.WEB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who looks: nothing of another owner is ever shown, counted or ranked."""

    owner: str = MINE
    agent: str | None = None
    session_id: SessionId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft:
    """A memory that is not stored yet."""

    content: str
    kind: MemoryKind = MemoryKind.FACT
    scope: MemoryScope = MemoryScope.USER
    trust: Trust = Trust.USER
    actor: str = "user"
    """Whose words or deeds it tells of."""
    source: str = "user"
    """Where it came from: 'user', 'conversation', 'file:…', 'web:…', 'import:…'."""
    agent: str | None = None
    session_id: SessionId | None = None
    turn_id: TurnId | None = None
    derived_from: tuple[MemoryId, ...] = ()
    event_at: datetime | None = None
    """When it happened; unset means when it was written."""
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse what nobody could ever see."""
        named = {
            MemoryScope.USER: True,
            MemoryScope.AGENT: self.agent,
            MemoryScope.SESSION: self.session_id,
        }
        if not named[self.scope]:
            raise UsageError(
                f"A memory of the scope {self.scope.value!r} names its {self.scope.value}.",
                hint="Name it, or choose the scope 'user'.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered item."""

    id: MemoryId
    owner: str
    kind: MemoryKind
    scope: MemoryScope
    trust: Trust
    """Who said it."""
    actor: str
    source: str
    content: str
    agent: str | None
    session_id: SessionId | None
    turn_id: TurnId | None
    previous: MemoryId | None
    """The memory just before it in the same conversation."""
    event_at: datetime
    recorded_at: datetime
    valid_to: datetime | None = None
    """When it stopped being true; None while it is."""
    superseded_by: MemoryId | None = None
    expires_at: datetime | None = None
    seen: int = 1
    """How often the same was written."""
    enabled: bool = True
    """Whether it is in use: one that is switched off is kept, and no search finds it."""


Fusion = Literal["weights", "rrf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question to the memory, and what may be among its answers."""

    text: str
    limit: int = 10
    kinds: frozenset[MemoryKind] = frozenset()
    """Only these kinds; empty means all."""
    session_id: SessionId | None = None
    """Only what was heard in this session."""
    not_session: SessionId | None = None
    """Nothing that was said in this session."""
    actor: str | None = None
    source: str | None = None
    least_trust: Trust | None = None
    """Nothing that is trusted less."""
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    """What was believed at this moment, instead of now."""
    disabled: bool = False
    """Also what is switched off."""
    fusion: Fusion = "weights"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that answers a question, and why."""

    memory: Memory
    score: float
    """How well it answers, from 0 to 1; the best hit of nonsense has little."""
    why: Mapping[str, float]
    """What each part of the search gave it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryResults:
    """What a search brought back."""

    hits: tuple[Hit, ...] = ()
    degraded: str = ""
    """Why only a part of the search was available; empty when all of it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which memories are meant; every condition that is set must hold."""

    ids: frozenset[MemoryId] | None = None
    """Only these; of an empty set, none."""
    session_id: SessionId | None = None
    source: str | None = None
    kind: MemoryKind | None = None
    before: datetime | None = None

    @property
    def empty(self) -> bool:
        """Whether it means nothing at all, rather than everything."""
        return self == Selection()

    @property
    def places(self) -> tuple[str, ...]:
        """The ways to write where it came from; a page may be named without its 'https://'."""
        source = (self.source or "").rstrip("/")
        kind, _, rest = source.partition(":")
        if kind != "web" or "://" in rest:
            return (source,)
        return (source, f"web:https://{rest}", f"web:http://{rest}")

    def from_source(self, source: str) -> bool:
        """Whether something came from there: the very place, or one below it."""
        return any(
            source == place or source.startswith((f"{place}/", f"{place}?"))
            for place in self.places
        )

    def means(self, memory: Memory) -> bool:
        """Whether a memory is among them."""
        return (
            (self.ids is None or memory.id in self.ids)
            and self.session_id in (None, memory.session_id)
            and (self.source is None or self.from_source(memory.source))
            and self.kind in (None, memory.kind)
            and (self.before is None or memory.recorded_at < self.before)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """What was forgotten, or would be."""

    batch: str | None
    """The name to undo it by; None for a rehearsal or when it cannot be undone."""
    memories: tuple[Memory, ...]
    derived: frozenset[MemoryId] = field(default_factory=frozenset[MemoryId])
    """Those among them that were only derived from the ones that were named."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The draft is a memory now."""

    memory: Memory
    superseded: Memory | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """The same was there already; it was noted that it was said again."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class Similar:
    """Nothing was written: the writer decides what becomes of what is there."""

    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written, and why."""

    reason: str


Written = Stored | Merged | Similar | Refused
"""What became of a draft."""


def correction(old: Memory, content: str) -> MemoryDraft:
    """What is true instead of a memory, for the same eyes."""
    return MemoryDraft(
        content=content,
        kind=old.kind,
        scope=old.scope,
        agent=old.agent,
        session_id=old.session_id,
    )


def normalised(content: str) -> str:
    """Content without the differences that are none: width, case, space."""
    return " ".join(unicodedata.normalize("NFKC", content).casefold().split()).rstrip(".!")


def digest(content: str) -> str:
    """The same for the same content."""
    return hashlib.sha256(normalised(content).encode()).hexdigest()
