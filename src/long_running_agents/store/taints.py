"""Taints: which foreign words a session has read, and which addresses it knows from where."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import cast

from sqlalchemy import bindparam, insert, select

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.taint import seen_in
from long_running_agents.domain.turn import Origin
from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds, taints, tool_calls, turns

_ADD = Prepared(
    insert(taints).prefix_with("OR IGNORE", dialect="sqlite"),
    ["turn_id", "call_id", "source", "session_id", "at"],
)


def add(
    tx: Transaction,
    session_id: SessionId,
    turn_id: TurnId,
    source: str,
    now: datetime,
    *,
    call_id: str = "",
) -> None:
    """Note that a session has read something.

    Args:
        tx: The transaction.
        session_id: The session.
        turn_id: The turn that read it.
        source: Where it comes from.
        now: When.
        call_id: The call whose result it is, if the addresses in it may be followed.
    """
    tx.run(
        _ADD,
        {
            "turn_id": turn_id,
            "call_id": call_id,
            "source": tx.redact(source),
            "session_id": session_id,
            "at": microseconds(now),
        },
    )


_SOURCES = Prepared(
    select(taints.c.source)
    .where(taints.c.session_id == bindparam("session"))
    .order_by(taints.c.at, taints.c.call_id)
)


def sources(tx: Transaction, session_id: SessionId) -> tuple[str, ...]:
    """What a session has read, each once, the oldest first."""
    rows = tx.run_all(_SOURCES, {"session": session_id})
    return tuple(dict.fromkeys(row[0] for row in rows))


def seen(tx: Transaction, session_id: SessionId) -> frozenset[str]:
    """The addresses that a user wrote in a session, or that stand in what was read there.

    What the model wrote or had a tool of ours say is not among it: it could be anything.
    """
    said = tx.execute(
        select(turns.c.prompt).where(
            turns.c.session_id == session_id, turns.c.origin == Origin.USER
        )
    )
    read = tx.execute(
        select(tool_calls.c.args, tool_calls.c.result)
        .join(
            taints,
            (taints.c.turn_id == tool_calls.c.turn_id) & (taints.c.call_id == tool_calls.c.call_id),
        )
        .where(taints.c.session_id == session_id, tool_calls.c.result.is_not(None))
    )
    return seen_in(
        [row.prompt for row in said],
        [(_base(row.args), text) for row in read for text in _texts(json.loads(row.result))],
    )


def _base(args: str) -> str:
    given: object = json.loads(args)
    address = cast("dict[str, object]", given).get("url") if isinstance(given, dict) else None
    return address if isinstance(address, str) else ""


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in cast("dict[str, object]", value).values():
            yield from _texts(item)
