"""From what goes over the wire to the things it tells of.

The wire does not tell everything: what it leaves out has the value that a client may assume.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from long_running_agents.domain.approval import Approval
from long_running_agents.domain.budget import Spent
from long_running_agents.domain.events import EVENT, Delta, Passing, Recorded
from long_running_agents.domain.grant import Scope
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import Memory
from long_running_agents.domain.session import Session, SessionPreview
from long_running_agents.domain.task import Task
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import Unavailable

Told = Mapping[str, Any]
Heard = Recorded | Passing
T = TypeVar("T")

_MOMENT = TypeAdapter(datetime)
_DELTA: TypeAdapter[Delta] = TypeAdapter(Annotated[Delta, Field(discriminator="type")])
_TURN = TypeAdapter(Turn)
_SESSION = TypeAdapter(Session)
_APPROVAL = TypeAdapter(Approval)
_MEMORY = TypeAdapter(Memory)
_TASK = TypeAdapter(Task)
_PLACE = frozenset({"seq", "session_id", "turn_id", "at"})
_DELTAS = frozenset({"thinking", "text_delta", "retry", "catch_up"})


def heard(text: str | bytes, owner: str) -> Heard | None:
    """An event or a delta; None for what is said to this client alone.

    Args:
        text: What came over a WebSocket.
        owner: Who hears it.
    """
    told: dict[str, Any] = json.loads(text)
    if "seq" in told:
        return recorded(told, owner)
    if told.get("type") not in _DELTAS or not told.get("turn_id"):
        return None
    return Passing(
        session_id=SessionId(told["session_id"]),
        turn_id=TurnId(told["turn_id"]),
        owner=owner,
        delta=read(_DELTA, _said(told)),
    )


def recorded(told: Told, owner: str) -> Recorded:
    """An event."""
    return Recorded(
        seq=told["seq"],
        session_id=SessionId(told["session_id"]),
        turn_id=None if told["turn_id"] is None else TurnId(told["turn_id"]),
        owner=owner,
        at=read(_MOMENT, told["at"]),
        event=read(EVENT, _said(told)),
    )


def turn(told: Told, owner: str) -> Turn:
    """A turn."""
    usage: Told = told["usage"]
    spent = Spent(
        steps=told["iterations"],
        tool_calls=told["tool_calls"],
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cost=Decimal(str(usage["cost"] or 0)),
    )
    known = {
        **told,
        "id": told["turn_id"],
        "answer": told["text"],
        "spent": spent,
        "owner": owner,
        "attended": True,
    }
    return read(_TURN, known)


def session(told: Told, owner: str) -> Session:
    """A session."""
    return read(_SESSION, {**told, "owner": owner})


def preview(told: Told, owner: str) -> SessionPreview:
    """A session as a list shows it."""
    return SessionPreview(
        session=session(told, owner), turns=told["turns"], last_words=told["preview"]
    )


def approval(told: Told) -> Approval:
    """A question."""
    # The wire says in words what a lasting answer would cover, and words are all that is shown.
    offer = Scope(tool=told["scope"]) if told["scope"] else None
    args = json.dumps(told["input"], ensure_ascii=False)
    known = {**told, "call_id": told["tool_call_id"], "args": args, "offer": offer}
    return read(_APPROVAL, known)


def memory(told: Told, owner: str) -> Memory:
    """A memory."""
    return read(_MEMORY, {**told, "owner": owner, "agent": None, "previous": None})


def task(told: Told) -> Task:
    """A task."""
    return read(_TASK, told)


def _said(told: Told) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name not in _PLACE}


def read(shape: TypeAdapter[T], told: object) -> T:
    """Something of a known shape.

    Raises:
        Unavailable: It has another one.
    """
    try:
        return shape.validate_python(told)
    except ValidationError as error:
        raise Unavailable(
            f"The server says something that is not understood here: {error.errors()[0]['msg']}.",
            hint="Use the same version on both sides.",
        ) from error
