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


class SessionOrigin(StrEnum):
    """Through what a session came to be."""

    OWN = "own"
    """Our own window, terminal or interface."""
    OPENAI = "openai"
    """Another program, over OpenAI's protocols."""
    MCP = "mcp"
    """Another program, over the Model Context Protocol."""
    DELEGATE = "delegate"
    """An agent that works for another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One continuing conversation with its mode and history."""

    id: SessionId
    title: str = UNTITLED
    mode: Mode = Mode.BOUNDED
    model: str | None = None
    """The model chosen for this session, or None for the configured one."""
    created_at: datetime
    updated_at: datetime
    forked_from: SessionId | None = None
    forked_at: TurnId | None = None
    owner: str = MINE
    origin: SessionOrigin = SessionOrigin.OWN
    """Through what it came to be: ours, or another program."""
    agent: str | None = None
    """The agent that it is held with, or None for the home's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPreview:
    """A session as a list shows it."""

    session: Session
    turns: int
    last_words: str
    """The beginning of what was said last."""


_TITLE_LENGTH = 60


def title_from(prompt: str) -> str:
    """Name a session after the first line of its first message that no program wrote around it."""
    lines = [stripped for line in prompt.splitlines() if (stripped := line.strip())] or [UNTITLED]
    line = next((line for line in lines if not line.startswith("<")), lines[0])
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"
