"""Turns: accept, claim and settle them, and find those of a request or of a client."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import String, bindparam, delete, func, insert, literal_column, select, update

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.picture import Picture
from long_running_agents.domain.tool import CallState
from long_running_agents.domain.turn import MAY_BECOME, Turn, TurnStatus
from long_running_agents.errors import Busy, NotFound, UsageError
from long_running_agents.store import messages, sql
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import (
    new_values,
    row_reader,
    row_values,
    stored_values,
    update_by_id,
)
from long_running_agents.store.tables import (
    conversations,
    microseconds,
    requests,
    sessions,
    tool_calls,
    turns,
)

_ENDED = [status for status in TurnStatus if status.ended]
# Written into the statement: a list of parameters would be expanded at every use.
_OPEN = [literal_column(f"'{status}'", String) for status in TurnStatus if not status.ended]


turn_of = row_reader(Turn, spent=row_reader(Spent), after=lambda _: 0)
_SPENT = Spent.__dataclass_fields__
_ACCEPT = Prepared(insert(turns), [each.name for each in turns.c if each.name not in _SPENT])


def next_number(tx: Transaction, session_id: SessionId, running: Turn | None = None) -> int:
    """The place at the end of a session's line; whoever asks takes it.

    For a message that steers the turn that runs, the place before all that queue: each of those
    moves to the next one's place. Whatever that turn does not hear any more comes next after it.
    """
    end = sql.take(tx, session_id, "last_turn")
    if running is None:
        return end
    rows = tx.all(_LINE, {"session": session_id, "steer": False})
    line = [turn for turn in map(turn_of, rows) if turn.id != running.id]
    places = [*(turn.number for turn in line), end]
    for turn, place in reversed(list(zip(line, places[1:], strict=True))):
        tx.execute(update(turns).where(turns.c.id == turn.id).values(number=place))
    return places[0]


def accept(tx: Transaction, turn: Turn, shown: Sequence[Picture] = ()) -> Turn:
    """Store a new turn and what it shows; it comes back without the secrets that were in it."""
    messages.keep_pictures(tx, turn.session_id, shown)
    tools = turn.client_tools
    turn = replace(
        turn,
        prompt=tx.redact(turn.prompt),
        client_tools=None if tools is None else tx.redact.json(tools),
    )
    tx.run(_ACCEPT, stored_values(turns, turn))
    return turn


_BY_ID = Prepared(select(turns).where(turns.c.id == bindparam("turn")))


def get(tx: Transaction, turn_id: TurnId, *, owner: str | None = None) -> Turn:
    """Look up a turn that must exist, and belong to an owner if one asks."""
    row = tx.first(_BY_ID, {"turn": turn_id})
    if row is None or owner not in (None, row.owner):
        raise NotFound(f"No turn {turn_id!r}.", hint="'lra sessions show' lists a session's turns.")
    return turn_of(row)


def of_session(
    tx: Transaction, session_id: SessionId, *, limit: int | None = None, offset: int = 0
) -> list[Turn]:
    """The turns of a session, in order; all of them unless so many are asked for."""
    query = select(turns).where(turns.c.session_id == session_id).order_by(turns.c.number)
    return [turn_of(row) for row in tx.execute(query.limit(limit).offset(offset))]


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


_CURRENT = Prepared(
    select(turns)
    .where(turns.c.session_id == bindparam("session"), turns.c.status.in_(_OPEN))
    # By the plain column, SQLite would go through all turns of a session for their order.
    .order_by(turns.c.number + literal_column("0"))
)


def current(tx: Transaction, session_id: SessionId) -> Turn | None:
    """The first turn of a session that has not ended: running, waiting, or next in line."""
    row = tx.first(_CURRENT, {"session": session_id})
    return None if row is None else turn_of(row)


def newest_number(tx: Transaction, session_id: SessionId) -> int:
    """The place of the newest turn of a session; 0 for none."""
    query = select(func.max(turns.c.number)).where(turns.c.session_id == session_id)
    return tx.execute(query).scalar() or 0


def last(tx: Transaction, session_id: SessionId) -> Turn | None:
    """The newest turn of a session, but for messages that another one answers."""
    own = turns.c.status != TurnStatus.STEERED
    query = select(turns).where(turns.c.session_id == session_id, own)
    row = tx.execute(query.order_by(turns.c.number.desc()).limit(1)).first()
    return None if row is None else turn_of(row)


def limited(tx: Transaction, owner: str, session_id: SessionId | None) -> list[Turn]:
    """The turns that a budget stopped and nothing followed, in a session or all of an owner's."""
    query = select(turns).where(turns.c.owner == owner, turns.c.status == TurnStatus.LIMITED)
    if session_id is not None:
        query = query.where(turns.c.session_id == session_id)
    found = [turn_of(row) for row in tx.execute(query.order_by(turns.c.created_at))]
    return [turn for turn in found if last(tx, turn.session_id) == turn]


_CLAIM = update_by_id(turns, ["status", "attempts", "steer"])


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
    attempts = turn.attempts + 1
    claimed = replace(turn, status=TurnStatus.RUNNING, attempts=attempts, steer=False)
    tx.run(_CLAIM, new_values(turn_id, status=claimed.status, attempts=attempts, steer=False))
    return claimed


_LINE = Prepared(
    select(turns)
    .where(
        turns.c.status == literal_column(f"'{TurnStatus.QUEUED}'", String),
        turns.c.session_id == bindparam("session"),
        turns.c.steer == bindparam("steer"),
    )
    .order_by(turns.c.number)
)


def steering(tx: Transaction, session_id: SessionId) -> list[Turn]:
    """The messages that wait for the next step of the turn that runs, in order."""
    return [turn_of(row) for row in tx.all(_LINE, {"session": session_id, "steer": True})]


def steer(tx: Transaction, given: Sequence[Turn], now: datetime) -> None:
    """Note that messages were given to the turn that runs."""
    ended = {"status": TurnStatus.STEERED, "ended_at": now}
    tx.execute(update(turns).where(turns.c.id.in_([turn.id for turn in given])).values(ended))


_MOVE = update_by_id(turns, ["status", "error", "ended_at", "answer", "attempts"])


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

    The turn is as it was read in this transaction; it keeps its answer where none is given.
    """
    if status not in MAY_BECOME[turn.status]:
        raise Busy(f"A turn that is {turn.status} cannot become {status}.")
    tx.run(
        _MOVE,
        new_values(
            turn.id,
            status=status,
            error=tx.redact(error),
            ended_at=microseconds(now) if status.ended else None,
            answer=turn.answer if answer is None else tx.redact(answer),
            # Whoever asks for a turn again gives it all its attempts.
            attempts=0 if status is TurnStatus.QUEUED else turn.attempts,
        ),
    )


def release(tx: Transaction, turn_id: TurnId) -> None:
    """Put a turn back that was claimed and not driven to its end."""
    tx.execute(update(turns).where(turns.c.id == turn_id).values(attempts=turns.c.attempts - 1))


_SPEND = update_by_id(turns, [*_SPENT, "attempts"])


def spend(tx: Transaction, turn_id: TurnId, spent: Spent) -> None:
    """Write down what a turn has used so far."""
    # A turn that gets on is not in a loop of deaths.
    tx.run(_SPEND, new_values(turn_id, attempts=1, **stored_values(turns, spent)))


def renew(tx: Transaction, turn_id: TurnId) -> None:
    """Give a turn that hit a limit another budget of the same size."""
    tx.execute(update(turns).where(turns.c.id == turn_id).values(renewals=turns.c.renewals + 1))


_BEFORE = Prepared(
    select(turns)
    .where(
        turns.c.session_id == bindparam("session"),
        turns.c.number < bindparam("number"),
        turns.c.status != literal_column(f"'{TurnStatus.STEERED}'", String),
    )
    .order_by(turns.c.number.desc())
)


def before(tx: Transaction, turn: Turn) -> Turn | None:
    """The turn that came before another in its session, with a log of its own."""
    row = tx.first(_BEFORE, {"session": turn.session_id, "number": turn.number})
    return None if row is None else turn_of(row)


KEPT = timedelta(days=7)
"""How long a key is known."""


def find(tx: Transaction, owner: str, key: str, digest: str) -> TurnId | None:
    """The turn that a request began; None if nobody has asked under this key.

    Raises:
        UsageError: The key was used for another request.
    """
    row = tx.execute(
        select(requests).where(requests.c.owner == owner, requests.c.key == key)
    ).first()
    if row is None:
        return None
    if row.digest != digest:
        raise UsageError(
            "The idempotency key was used for another request.", hint="Use a new key for it."
        )
    return TurnId(row.turn_id)


def keep(
    tx: Transaction, owner: str, key: str, digest: str, turn_id: TurnId, now: datetime
) -> None:
    """Remember which turn a request began, and forget old keys."""
    tx.execute(delete(requests).where(requests.c.at < now - KEPT))
    tx.execute(
        insert(requests),
        {"owner": owner, "key": key, "digest": digest, "turn_id": turn_id, "at": now},
    )


def keep_conversation(tx: Transaction, owner: str, digest: str, turn: Turn, now: datetime) -> None:
    """Remember which turn a conversation ended with; the newest of those that sound alike."""
    tx.execute(
        insert(conversations).prefix_with("OR REPLACE"),
        row_values(conversations, turn, owner=owner, digest=digest, turn_id=turn.id, at=now),
    )


def find_conversation(tx: Transaction, owner: str, digest: str) -> TurnId | None:
    """The turn that a conversation ended with."""
    query = select(conversations.c.turn_id).where(
        conversations.c.owner == owner, conversations.c.digest == digest
    )
    found = tx.execute(query).scalar()
    return None if found is None else TurnId(found)


def begun_under(tx: Transaction, owner: str, key: str) -> TurnId | None:
    """The turn that a request began under a key, whatever it asked for."""
    query = select(requests.c.turn_id).where(requests.c.owner == owner, requests.c.key == key)
    found = tx.execute(query).scalar()
    return None if found is None else TurnId(found)


def waiting_for(tx: Transaction, owner: str, call_ids: Sequence[str]) -> list[Turn]:
    """An owner's turns that wait, with a call of such an id that waits, too."""
    query = (
        select(turns)
        .join(tool_calls, tool_calls.c.turn_id == turns.c.id)
        .where(
            turns.c.owner == owner,
            turns.c.status == TurnStatus.WAITING,
            tool_calls.c.state == CallState.WAITING,
            tool_calls.c.call_id.in_(call_ids),
        )
        .distinct()
    )
    return [turn_of(row) for row in tx.execute(query)]
