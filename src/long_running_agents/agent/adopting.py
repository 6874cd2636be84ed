"""Taking over what was said elsewhere: exchanges that a client tells become ended turns.

They are words and nothing else. No call in them was made by us, so none is taken over; and nobody
knows what the answers were made of, so they count as foreign words, and are not remembered.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from long_running_agents.agent import transcript
from long_running_agents.domain.events import MessageAccepted, TurnDone, UsageTotals
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.session import Mode, Session, title_from
from long_running_agents.domain.turn import Origin, Turn, TurnStatus
from long_running_agents.store import events, memory_turns, messages, sessions, taints, turns
from long_running_agents.store.database import Transaction

SOURCE = "a conversation that a client told"
_MODEL = "client"
_NOTHING_USED = UsageTotals(input_tokens=0, output_tokens=0, cost=None)


class Exchange(NamedTuple):
    """What somebody said, and what they were answered."""

    said: str
    answered: str


def adopt(tx: Transaction, owner: str, exchanges: Sequence[Exchange], now: datetime) -> Session:
    """Begin a session with exchanges from elsewhere, of which there is at least one.

    Nothing is rung: it did not happen here, or now.
    """
    session = Session(
        id=SessionId(new_id("session", now)),
        title=title_from(tx.redact(exchanges[0].said)),
        mode=Mode.BOUNDED,
        model=None,
        created_at=now,
        updated_at=now,
        owner=owner,
    )
    sessions.create(tx, session)
    for exchange in exchanges:
        _adopt(tx, session, exchange, now)
    return session


def _adopt(tx: Transaction, session: Session, exchange: Exchange, now: datetime) -> None:
    turn = Turn(
        id=TurnId(new_id("turn", now)),
        session_id=session.id,
        number=turns.next_number(tx, session.id),
        prompt=exchange.said,
        origin=Origin.USER,
        attended=False,
        # For the moment of this transaction: it was answered long ago.
        status=TurnStatus.RUNNING,
        model=None,
        created_at=now,
        owner=session.owner,
    )
    turn = turns.accept(tx, turn)
    log = [
        transcript.stored(ModelRequest(parts=[UserPromptPart(exchange.said)]), 1),
        transcript.stored(ModelResponse(parts=[TextPart(exchange.answered)], model_name=_MODEL), 1),
    ]
    messages.append(tx, session.id, turn.id, log, now)
    turns.move(tx, turn, TurnStatus.DONE, now=now, answer=exchange.answered)
    taints.add(tx, session.id, turn.id, SOURCE, now)
    memory_turns.mark(tx, turns.get(tx, turn.id))
    told = [
        MessageAccepted(content=exchange.said, origin=Origin.USER),
        TurnDone(
            text=exchange.answered,
            iterations=0,
            model=_MODEL,
            usage=_NOTHING_USED,
            mode=turn.mode,
        ),
    ]
    events.append(tx, session.id, turn.id, told, now)
