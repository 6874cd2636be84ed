"""What is learned from finished turns: typed, quoted, and grounded before anything is written."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import MemoryId
from long_running_agents.domain.session import MINE


class LearnedKind(StrEnum):
    """What kind of thing was learned."""

    FACT = "fact"
    LESSON = "lesson"
    """A mistake and what was right instead."""
    RULE = "rule"
    """What a person wants to hold from now on; it is suggested, never pinned."""
    SKILL = "skill"
    """What could be a tool; it is proposed, never enabled."""
    QUESTION = "question"
    """What stayed open."""


class LearnedState(StrEnum):
    """What became of it."""

    NEW = "new"
    MERGED = "merged"
    """It was known already."""
    SUGGESTED = "suggested"
    """A person decides: a rule, a skill, or what contradicts something known."""
    REFUSED = "refused"
    RESTING = "resting"
    """The curator has put it aside; it can be taken back for 30 days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Something that was learned, or was not and why."""

    number: int
    kind: LearnedKind
    state: LearnedState
    text: str
    quote: str = ""
    """The words of the log that it rests on."""
    reason: str = ""
    """Why it was refused, merged or put aside."""
    session_id: SessionId | None = None
    turn_id: TurnId | None = None
    memory_id: MemoryId | None = None
    """The memory that it became, was merged with, or is about."""
    shown: int = 0
    """How often the memory was recalled."""
    used: int = 0
    """How often its words came up in a turn that went well."""
    harmed: int = 0
    """How often it was recalled in a turn whose evidence was refuted."""
    at: datetime
    owner: str = MINE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionReport:
    """What one run of reflection, or of the curator, did."""

    sessions: int = 0
    turns: int = 0
    learned: tuple[Learned, ...] = ()
    tokens: int = 0
    note: str = ""
    """Why nothing was read, or not all."""
