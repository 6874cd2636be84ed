"""Taints: which foreign words a session has read, and which files hold some."""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any, cast

from sqlalchemy import bindparam, insert, select, text

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.taint import Taint, seen_in
from long_running_agents.domain.turn import TurnOrigin
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.tables import file_origins, microseconds, taints, tool_calls, turns

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

    With a call, the addresses in its result may be followed.
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


_SAID = Prepared(
    select(turns.c.prompt).where(
        turns.c.session_id == bindparam("session"), turns.c.origin == bindparam("origin")
    )
)
_READ = Prepared(
    select(taints.c.source, taints.c.call_id, tool_calls.c.args, tool_calls.c.result)
    .join(tool_calls, taints.c.turn_id == tool_calls.c.turn_id)
    .where(
        taints.c.session_id == bindparam("session"),
        (taints.c.call_id == bindparam("whole")) | (taints.c.call_id == tool_calls.c.call_id),
        tool_calls.c.result.is_not(None),
    )
)
_ANSWERED = Prepared(
    select(turns.c.answer, turns.c.prompt, turns.c.origin)
    .join(taints, taints.c.turn_id == turns.c.id)
    .where(taints.c.session_id == bindparam("session"), taints.c.call_id == bindparam("whole"))
)


def words(tx: Transaction, session_id: SessionId) -> Taint:
    """What a user wrote in a session and what was read there, with the addresses in both.

    What the model wrote or had a tool of ours say makes no address known: it could be anything.
    Where it is only known that a turn has read something, all it has read may be foreign.
    """
    here = {"session": session_id, "origin": TurnOrigin.USER.value, "whole": ""}
    said = [prompt for (prompt,) in tx.run_all(_SAID, here)]
    read = tx.all(_READ, here)
    answers = tx.run_all(_ANSWERED, here)
    # A job is begun with what it has seen, as a quotation in its prompt.
    begun = [prompt.splitlines() for _, prompt, origin in answers if origin == TurnOrigin.JOB]
    quoted = [[line[2:] for line in lines if line.startswith("> ")] for lines in begun]
    told = [
        (row.source if row.call_id else "", _base(row), text)
        for row in read
        for text in texts(json.loads(row.result))
    ]
    return Taint(
        seen=seen_in(said, [(base, text) for _, base, text in told if base is not None]),
        said=tuple(said),
        told=(
            *((place, text) for place, _, text in told),
            *(("", answer) for answer, _, _ in answers if answer),
            *(("", "\n".join(lines)) for lines in quoted if lines),
        ),
    )


def _base(row: Any) -> str | None:
    """What links in a result are relative to; None where none may be followed."""
    # What a foreign server repeats is the model's to choose.
    if not row.call_id or row.source.startswith("mcp:"):
        return None
    given: object = json.loads(row.args)
    address = cast("dict[str, object]", given).get("url") if isinstance(given, dict) else None
    return address if isinstance(address, str) else ""


def texts(value: object) -> Iterator[str]:
    """All texts in a value that JSON can hold."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from texts(item)
    elif isinstance(value, dict):
        for item in cast("dict[str, object]", value).values():
            yield from texts(item)


def digest(content: bytes) -> str:
    """What a content is known by."""
    return hashlib.sha256(content).hexdigest()


def note_file(tx: Transaction, owner: str, files: Iterable[tuple[str, str]], source: str) -> None:
    """Note that files hold foreign words."""
    where_from = tx.redact(source)
    rows = [
        {"owner": owner, "digest": known_by, "path": tx.redact(path), "source": where_from}
        for path, known_by in files
    ]
    if rows:
        tx.execute(insert(file_origins).prefix_with("OR IGNORE"), rows)


def of(tx: Transaction, owner: str, digests: Collection[str]) -> dict[str, str]:
    """Where the foreign words come from, for those of some contents that hold any."""
    mine = (file_origins.c.owner == owner) & file_origins.c.digest.in_(digests)
    rows = tx.execute(select(file_origins.c.digest, file_origins.c.source).where(mine))
    return {row.digest: row.source for row in rows}


def newest(tx: Transaction, owner: str, limit: int) -> list[str]:
    """The paths that foreign words were last written to."""
    query = select(file_origins.c.path).where(file_origins.c.owner == owner)
    latest = query.order_by(text("rowid DESC")).limit(limit)
    return list(dict.fromkeys(tx.execute(latest).scalars()))
