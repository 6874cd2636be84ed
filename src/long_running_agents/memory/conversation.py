"""Conversations as memories: what was asked and what was answered, in pieces that can be found."""

import re
from collections.abc import Sequence

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import Draft, Kind, Memory, MemoryId, Scope, Selection, Trust
from long_running_agents.domain.turn import Origin, Turn
from long_running_agents.memory import gate, words
from long_running_agents.memory.secrecy import masked
from long_running_agents.store import memories, memory_descent, memory_talk, memory_vectors
from long_running_agents.store.database import Transaction

PIECE = 1_200
"""Characters of one piece; a long answer becomes several, one after another."""

_MOST_PIECES = 20
_PAUSES = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n|(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f])"),
    re.compile(r"\s|(?<=[,;\uff0c\u3001])"),
)
"""Where a text pauses, the longest pauses first."""


def drafts(
    turn: Turn, agent: str, heard: Sequence[Memory], *, foreign: bool = False
) -> list[Draft]:
    """What is remembered of a turn.

    Args:
        turn: The turn, at its end.
        agent: The name of whoever answered.
        heard: The memories that the answer may be drawn from.
        foreign: Whether the answer may repeat foreign words.
    """
    # A job's prompt or a delegate's may have been written by an agent.
    said = turn.origin is Origin.USER
    asked = [
        Draft(
            content=piece,
            kind=Kind.CONVERSATION,
            trust=Trust.USER if said else Trust.AGENT,
            actor="user" if said else turn.origin.value,
            source="conversation",
            session_id=turn.session_id,
            turn_id=turn.id,
            event_at=turn.created_at,
        )
        for piece in pieces(masked(turn.prompt))
    ]
    answered = pieces(masked(turn.answer))
    least = Trust.WEB if foreign else Trust.AGENT
    return asked + [_answer(turn, agent, piece, heard, least) for piece in answered]


def _answer(turn: Turn, agent: str, piece: str, heard: Sequence[Memory], trust: Trust) -> Draft:
    origins = gate.origins(piece, turn.prompt, heard)
    scopes = {memory.scope for memory in origins}
    return Draft(
        content=piece,
        kind=Kind.CONVERSATION,
        # An answer is no more trustworthy than what it was drawn from, and no more public.
        trust=gate.least_trusted([trust, *(memory.trust for memory in origins)]),
        scope=next((scope for scope in _NARROW if scope in scopes), Scope.USER),
        actor=agent,
        source="conversation",
        agent=agent,
        session_id=turn.session_id,
        turn_id=turn.id,
        derived_from=tuple(memory.id for memory in origins),
        event_at=turn.ended_at,
    )


_NARROW = (Scope.SESSION, Scope.AGENT)


def unsay(tx: Transaction, owner: str, turn: Turn) -> tuple[list[Memory], list[MemoryId]]:
    """Remove what was remembered of a turn that was retried.

    Returns:
        What was derived from it and stays, and the memories that need new vectors.
    """
    old = memory_talk.of_turn(tx, owner, turn.id)
    if not old:
        return [], []
    heirs = frozenset(memory_descent.heirs(tx, old)).difference(old)
    memories.remove(tx, owner, old)
    changed = memory_talk.relink(tx, owner, [turn.session_id], words.indexed)
    memory_vectors.drop(tx, changed)
    return memories.selected(tx, owner, Selection(ids=heirs)), changed


def pieces(text: str) -> list[str]:
    """Cut a text where it pauses, into pieces that are not too long.

    Of a text that is longer than all pieces together, the middle is left out.
    """
    found: list[str] = []
    rest = text.strip()
    while rest:
        end = _end(rest)
        found.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    half = _MOST_PIECES // 2
    return found if len(found) <= _MOST_PIECES else found[:half] + found[-half:]


def _end(text: str) -> int:
    """Where the first piece of a text ends."""
    if len(text) <= PIECE:
        return len(text)
    for pause in _PAUSES:
        ends = [match.end() for match in pause.finditer(text, 0, PIECE)]
        if ends and ends[-1] > PIECE // 3:
            return ends[-1]
    return PIECE


def texts(tx: Transaction, owner: str, drafts: Sequence[Draft], anew: TurnId | None) -> list[str]:
    """Each content with what was said just before it: that is what its vector stands for."""
    said: dict[SessionId, str] = {}
    found: list[str] = []
    for draft in drafts:
        session, content = draft.session_id, tx.redact(draft.content)
        if draft.kind is not Kind.CONVERSATION or session is None:
            found.append(content)
            continue
        if session not in said:
            said[session] = memory_talk.last_words(tx, owner, session, anew=anew)
        found.append(words.in_context(said[session], content))
        said[session] = content
    return found
