"""What another program remembered, in the words of this one: who said it, when, and what it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import Draft, Kind, Memory, MemoryId, Trust
from long_running_agents.memory.conversation import pieces
from long_running_agents.memory.embedding.port import well_formed


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line or row that is not taken over, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Told:
    """Something another program remembered."""

    line: int
    draft: Draft


@dataclass(frozen=True, slots=True)
class Copy:
    """A memory from an export, with the numbers it had there."""

    line: int
    memory: Memory
    derived_from: tuple[MemoryId, ...]


Piece = Told | Copy | Refusal

CONTENT = ("content", "text", "message", "body")
SPEAKER = ("role", "actor", "speaker", "sender")
SESSION = ("session_id", "session", "conversation_id", "thread_id", "chat_id")
MOMENT = ("timestamp", "created_at", "date", "event_at", "time")
KIND = ("kind", "type", "source_type", "memory_type")
"""The names under which programs keep these things, the likeliest first."""

_USER = frozenset({"user", "human", "me"})
_AGENT = frozenset({"assistant", "agent", "ai", "bot", "model"})
_KINDS = {
    **{kind.value: kind for kind in Kind},
    "knowledge": Kind.FACT,
    "learning": Kind.LESSON,
    "session_summary": Kind.SUMMARY,
    "turn": Kind.CONVERSATION,
    "message": Kind.CONVERSATION,
}
_LONGEST_NAME = 100


def told(
    line: int,
    fields: Mapping[str, Any],
    *,
    source: str,
    otherwise: Draft,
) -> Iterator[Told | Refusal]:
    """What one object or row of another program tells.

    Args:
        line: Its number in the file.
        fields: What it holds, by the other program's names.
        source: What it is said to come from.
        otherwise: Kind, trust, session and actor where the fields do not say.
    """
    try:
        speaker = _name(first(fields, SPEAKER))
        kind = _kind(first(fields, KIND), speaker, otherwise)
        moment = _moment(first(fields, MOMENT))
    except ValueError as error:
        yield Refusal(line, str(error))
        return
    content = plain(first(fields, CONTENT))
    session = _name(first(fields, SESSION)) or otherwise.session_id
    # A long answer becomes several memories, as when it was heard here.
    for piece in pieces(content) if kind is Kind.CONVERSATION else [content.strip()]:
        draft = Draft(
            content=piece,
            kind=kind,
            trust=_trust(speaker, otherwise.trust),
            actor=speaker or otherwise.actor,
            source=source,
            session_id=None if session is None else SessionId(session),
            event_at=moment or otherwise.event_at,
        )
        yield Told(line, draft)
    if not content.strip() and kind is Kind.CONVERSATION:
        yield Refusal(line, "it has no text")


def first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first of some fields that holds anything."""
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def plain(content: Any) -> str:
    """The text of a message, in any of the shapes that chat protocols give it."""
    match content:
        case str():
            return well_formed(content)
        case {"content": inner} | {"text": str(inner)}:
            return plain(inner)
        case list():
            return "\n".join(filter(None, map(plain, cast("list[Any]", content))))
        case _:
            return ""


def _name(value: Any) -> str | None:
    if value is None:
        return None
    return " ".join(well_formed(str(value)).split())[:_LONGEST_NAME] or None


def _kind(value: Any, speaker: str | None, otherwise: Draft) -> Kind:
    if value is None:
        return otherwise.kind if speaker is None else Kind.CONVERSATION
    if (kind := _KINDS.get(str(value).lower())) is not None:
        return kind
    raise ValueError(f"its kind {str(value)[:40]!r} is none of {', '.join(Kind)}")


def _trust(speaker: str | None, otherwise: Trust) -> Trust:
    if speaker is None:
        return otherwise
    if speaker.lower() in _USER:
        return Trust.USER
    return Trust.AGENT if speaker.lower() in _AGENT else Trust.TOOL


_MILLISECONDS = 10**11
"""A number above this cannot be seconds: the year would be beyond 5000."""


def _moment(value: Any) -> datetime | None:
    if value in (None, 0):
        return None
    try:
        if isinstance(value, int | float):
            seconds = value / 1000 if value > _MILLISECONDS else value
            return datetime.fromtimestamp(seconds, UTC)
        moment = datetime.fromisoformat(str(value).strip())
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"its date {str(value)[:40]!r} cannot be read: use 2026-05-31") from None
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
