"""Turns: accept, claim, settle, and find the unfinished."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, String, bindparam, insert, literal_column, select, update

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.session import Mode
from long_running_agents.domain.turn import MAY_BECOME, Origin, Turn, TurnStatus
from long_running_agents.errors import Busy, NotFound
from long_running_agents.store import counters
from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds, nanodollars, sessions, turns

_ENDED = [status for status in TurnStatus if status.ended]
# Written into the statement: a list of parameters would be expanded at every use.
_OPEN = [literal_column(f"'{status}'", String) for status in TurnStatus if not status.ended]


def turn_of(row: Row[Any]) -> Turn:
    """A row as the rest of the house knows it."""
    return Turn(
        id=TurnId(row.id),
        session_id=SessionId(row.session_id),
        number=row.number,
        prompt=row.prompt,
        origin=Origin(row.origin),
        attended=row.attended,
        status=TurnStatus(row.status),
        model=row.model,
        answer=row.answer,
        error=row.error,
        spent=Spent(
            steps=row.steps,
            tool_calls=row.tool_calls,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cost=row.cost,
            seconds=row.seconds,
        ),
        renewals=row.renewals,
        attempts=row.attempts,
        created_at=row.created_at,
        ended_at=row.ended_at,
        owner=row.owner,
        mode=Mode(row.mode),
        client_tools=row.client_tools,
    )


_ACCEPT = Prepared(
    insert(turns),
    [
        "id",
        "session_id",
        "number",
        "prompt",
        "origin",
        "attended",
        "status",
        "model",
        "created_at",
        "owner",
        "mode",
        "client_tools",
    ],
)


def next_number(tx: Transaction, session_id: SessionId) -> int:
    """The place at the end of a session's line; whoever asks takes it."""
    return counters.take(tx, session_id, "last_turn")


def accept(tx: Transaction, turn: Turn) -> Turn:
    """Store a new turn; it comes back without the secrets that were in it."""
    tools = turn.client_tools
    turn = replace(
        turn,
        prompt=tx.redact(turn.prompt),
        client_tools=None if tools is None else tx.redact.json(tools),
    )
    tx.run(
        _ACCEPT,
        {
            "id": turn.id,
            "session_id": turn.session_id,
            "number": turn.number,
            "prompt": turn.prompt,
            "origin": turn.origin,
            "attended": turn.attended,
            "status": turn.status,
            "model": turn.model,
            "created_at": microseconds(turn.created_at),
            "owner": turn.owner,
            "mode": turn.mode,
            "client_tools": turn.client_tools,
        },
    )
    return turn


_BY_ID = select(turns).where(turns.c.id == bindparam("turn"))


def get(tx: Transaction, turn_id: TurnId, *, owner: str | None = None) -> Turn:
    """Look up a turn that must exist, and belong to an owner if one asks."""
    row = tx.execute(_BY_ID, {"turn": turn_id}).first()
    if row is None or owner not in (None, row.owner):
        raise NotFound(f"No turn {turn_id!r}.", hint="'lra sessions show' lists a session's turns.")
    return turn_of(row)


def of_session(
    tx: Transaction, session_id: SessionId, *, limit: int | None = None, offset: int = 0
) -> list[Turn]:
    """The turns of a session, in order; all of them unless so many are asked for."""
    query = (
        select(turns)
        .where(turns.c.session_id == session_id)
        .order_by(turns.c.number)
        .limit(limit)
        .offset(offset)
    )
    return [turn_of(row) for row in tx.execute(query)]


def recent(
    tx: Transaction, limit: int, *, owner: str, session_id: SessionId | None, before: TurnId
) -> list[Turn]:
    """The newest turns that ended, of one session or of all an owner's, without the asking one."""
    query = select(turns).where(turns.c.id != before, turns.c.status.in_(_ENDED)).limit(limit)
    if session_id is None:
        mine = select(sessions.c.id).where(sessions.c.owner == owner)
        query = query.where(turns.c.session_id.in_(mine))
        query = query.order_by(turns.c.created_at.desc(), turns.c.number.desc())
    else:
        query = query.where(turns.c.session_id == session_id).order_by(turns.c.number.desc())
    return [turn_of(row) for row in tx.execute(query)]


def unfinished(tx: Transaction) -> list[Turn]:
    """Turns that should go on when the home is opened, in their order."""
    query = (
        select(turns)
        .where(turns.c.status.in_([TurnStatus.QUEUED, TurnStatus.RUNNING]))
        # By number: a clock that was set back must not turn a session's line around.
        .order_by(turns.c.session_id, turns.c.number)
    )
    return [turn_of(row) for row in tx.execute(query)]


def ask_anew(tx: Transaction, session_id: SessionId) -> None:
    """Let every turn that is not done follow its session's model, whatever it was begun with."""
    unanswered = (turns.c.session_id == session_id) & (turns.c.status != TurnStatus.DONE)
    tx.execute(update(turns).where(unanswered).values(model=None))


_CURRENT = (
    select(turns)
    .where(turns.c.session_id == bindparam("session"), turns.c.status.in_(_OPEN))
    .order_by(turns.c.number)
    .limit(1)
)


def current(tx: Transaction, session_id: SessionId) -> Turn | None:
    """The first turn of a session that has not ended: running, waiting, or next in line."""
    row = tx.execute(_CURRENT, {"session": session_id}).first()
    return None if row is None else turn_of(row)


def last(tx: Transaction, session_id: SessionId) -> Turn | None:
    """The newest turn of a session."""
    query = (
        select(turns)
        .where(turns.c.session_id == session_id)
        .order_by(turns.c.number.desc())
        .limit(1)
    )
    row = tx.execute(query).first()
    return None if row is None else turn_of(row)


_CLAIM = Prepared(
    update(turns)
    .where(turns.c.id == bindparam("turn"))
    .values(status=bindparam("new_status"), attempts=bindparam("new_attempts"))
)


def claim(tx: Transaction, turn_id: TurnId) -> Turn | None:
    """Begin or resume a turn, if it is the first of its session that has not ended.

    None means that there is nothing to do: the turn ended, waits for an answer, or an earlier one
    of its session does.
    """
    turn = get(tx, turn_id)
    if turn.status not in (TurnStatus.QUEUED, TurnStatus.RUNNING):
        return None
    first = current(tx, turn.session_id)
    if first is None or first.id != turn_id:
        return None
    claimed = replace(turn, status=TurnStatus.RUNNING, attempts=turn.attempts + 1)
    tx.run(
        _CLAIM,
        {"turn": turn_id, "new_status": claimed.status, "new_attempts": claimed.attempts},
    )
    return claimed


_MOVE = Prepared(
    update(turns)
    .where(turns.c.id == bindparam("turn"))
    .values(
        status=bindparam("new_status"),
        error=bindparam("new_error"),
        ended_at=bindparam("new_end"),
        answer=bindparam("new_answer"),
        attempts=bindparam("new_attempts"),
    )
)


def move(
    tx: Transaction,
    turn: Turn,
    status: TurnStatus,
    *,
    now: datetime,
    answer: str | None = None,
    error: str = "",
) -> None:
    """Change a turn's status along a legal transition.

    Args:
        tx: The transaction in which the turn was read.
        turn: The turn as it is.
        status: What it becomes.
        now: When.
        answer: Its answer; the one it has when None.
        error: Why it ended early.
    """
    if status not in MAY_BECOME[turn.status]:
        raise Busy(f"A turn that is {turn.status} cannot become {status}.")
    tx.run(
        _MOVE,
        {
            "turn": turn.id,
            "new_status": status,
            "new_error": tx.redact(error),
            "new_end": microseconds(now) if status.ended else None,
            "new_answer": turn.answer if answer is None else tx.redact(answer),
            # Whoever asks for a turn again gives it all its attempts.
            "new_attempts": 0 if status is TurnStatus.QUEUED else turn.attempts,
        },
    )


def release(tx: Transaction, turn_id: TurnId) -> None:
    """Put a turn back that was claimed and not driven to its end."""
    tx.execute(update(turns).where(turns.c.id == turn_id).values(attempts=turns.c.attempts - 1))


_SPEND = Prepared(
    update(turns)
    .where(turns.c.id == bindparam("turn"))
    .values(
        steps=bindparam("new_steps"),
        tool_calls=bindparam("new_tool_calls"),
        input_tokens=bindparam("new_input"),
        output_tokens=bindparam("new_output"),
        cost=bindparam("new_cost"),
        seconds=bindparam("new_seconds"),
        # A turn that gets on is not in a loop of deaths.
        attempts=bindparam("new_attempts"),
    )
)


def spend(tx: Transaction, turn_id: TurnId, spent: Spent) -> None:
    """Write down what a turn has used so far."""
    tx.run(
        _SPEND,
        {
            "turn": turn_id,
            "new_steps": spent.steps,
            "new_tool_calls": spent.tool_calls,
            "new_input": spent.input_tokens,
            "new_output": spent.output_tokens,
            "new_cost": nanodollars(spent.cost),
            "new_seconds": spent.seconds,
            "new_attempts": 1,
        },
    )


def renew(tx: Transaction, turn_id: TurnId) -> None:
    """Give a turn that hit a limit another budget of the same size."""
    tx.execute(update(turns).where(turns.c.id == turn_id).values(renewals=turns.c.renewals + 1))


_BEFORE = (
    select(turns)
    .where(turns.c.session_id == bindparam("session"), turns.c.number < bindparam("number"))
    .order_by(turns.c.number.desc())
    .limit(1)
)


def before(tx: Transaction, turn: Turn) -> Turn | None:
    """The turn that came before another in its session."""
    key = {"session": turn.session_id, "number": turn.number}
    row = tx.execute(_BEFORE, key).first()
    return None if row is None else turn_of(row)
