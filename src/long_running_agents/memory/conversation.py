"""Conversations as memories: what was asked and what was answered, in pieces that can be found."""

import re
from collections.abc import Sequence

from long_running_agents.domain.memory import Draft, Kind, Memory, Trust
from long_running_agents.domain.turn import Turn
from long_running_agents.memory import gate

PIECE = 1_200
"""Characters of one piece; a long answer becomes several, one after another."""

_MOST_PIECES = 20
_BREAK = re.compile(r"\n\s*\n|(?<=[.!?\u3002\uff01\uff1f])\s+|\n")


def drafts(turn: Turn, agent: str, heard: Sequence[Memory]) -> list[Draft]:
    """What is remembered of a turn.

    Args:
        turn: The turn, at its end.
        agent: The name of whoever answered.
        heard: The memories that the answer may be drawn from.
    """
    asked = [
        Draft(
            content=piece,
            kind=Kind.CONVERSATION,
            trust=Trust.USER,
            actor="user",
            source="conversation",
            session_id=turn.session_id,
            turn_id=turn.id,
            event_at=turn.created_at,
        )
        for piece in pieces(turn.prompt)
    ]
    return asked + [_answer(turn, agent, piece, heard) for piece in pieces(turn.answer)]


def _answer(turn: Turn, agent: str, piece: str, heard: Sequence[Memory]) -> Draft:
    origins = gate.origins(piece, turn.prompt, heard)
    return Draft(
        content=piece,
        kind=Kind.CONVERSATION,
        # An answer is no more trustworthy than what it was drawn from.
        trust=gate.least_trusted([Trust.AGENT, *(memory.trust for memory in origins)]),
        actor=agent,
        source="conversation",
        agent=agent,
        session_id=turn.session_id,
        turn_id=turn.id,
        derived_from=tuple(memory.id for memory in origins),
        event_at=turn.ended_at,
    )


def pieces(text: str) -> list[str]:
    """Cut a text where it pauses, into pieces that are not too long."""
    found: list[str] = []
    for part in _BREAK.split(text.strip()):
        for start in range(0, len(part), PIECE):
            chunk = part[start : start + PIECE].strip()
            if found and len(found[-1]) + len(chunk) < PIECE:
                found[-1] = f"{found[-1]}\n{chunk}"
            elif chunk:
                found.append(chunk)
    return found[:_MOST_PIECES]
