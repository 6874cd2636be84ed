"""A session: one continuing conversation."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from long_running_agents.domain.ids import SessionId, TurnId

MINE = "me"
"""The owner of everything in a home that serves one person."""


UNTITLED = "New session"
"""The title of a session in which nothing was said yet."""


class Mode(StrEnum):
    """How far a session may go on its own."""

    BOUNDED = "bounded"
    DEEP_WORK = "deep_work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One continuing conversation with its mode and history."""

    id: SessionId
    title: str
    mode: Mode
    model: str | None
    """The model chosen for this session, or None for the configured one."""
    created_at: datetime
    updated_at: datetime
    forked_from: SessionId | None = None
    forked_at: TurnId | None = None
    owner: str = MINE


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPreview:
    """A session as a list shows it."""

    session: Session
    turns: int
    last_words: str
    """The beginning of what was said last."""


_TITLE_LENGTH = 60


def title_from(prompt: str) -> str:
    """Name a session after the first line of its first message."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), UNTITLED)
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"
