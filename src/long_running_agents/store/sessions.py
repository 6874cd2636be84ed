"""Sessions: create, list with preview, rename, fork, delete."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)

from long_running_agents.domain.ids import RESERVED, SessionId, TurnId, beside, new_id, shown
from long_running_agents.domain.session import MINE, Mode, Session, SessionOrigin, SessionPreview
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import Busy, NotFound, UsageError
from long_running_agents.store import decisions, memories, rules, turns
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import new_values, row_reader, row_values, update_by_id
from long_running_agents.store.tables import (
    events,
    folds,
    messages,
    microseconds,
    pictures,
    sessions,
    taints,
    tasks,
    tool_calls,
)
from long_running_agents.store.tables import turns as turn_table

_PREVIEW_LENGTH = 100


_session = row_reader(Session)


def create(tx: Transaction, session: Session) -> None:
    """Store a new session.

    Raises:
        UsageError: It is called what no session may be called.
    """
    if (name := shown(session.id)) in RESERVED:
        raise UsageError(f"No session can be called {name!r}.", hint="Choose another id.")
    tx.execute(insert(sessions), row_values(sessions, session, title=tx.redact(session.title)))


_BY_ID = Prepared(select(sessions).where(sessions.c.id == bindparam("session")))


def find(tx: Transaction, session_id: SessionId) -> Session | None:
    """Look a session up; None when there is none."""
    row = tx.first(_BY_ID, {"session": session_id})
    return None if row is None else _session(row)


def get(tx: Transaction, session_id: SessionId, *, owner: str | None = None) -> Session:
    """Look up a session that must exist, and belong to an owner if one asks."""
    session = find(tx, session_id)
    if session is None or owner not in (None, session.owner):
        raise NotFound(f"No session {shown(session_id)!r}.", hint="'lra sessions list' shows them.")
    return session


def newest(tx: Transaction, *, owner: str = MINE) -> Session | None:
    """The session of an owner, and not of another program, in which something was said last."""
    query = select(sessions).where(_of(owner, SessionOrigin.OWN))
    row = tx.execute(query.order_by(sessions.c.updated_at.desc()).limit(1)).first()
    return None if row is None else _session(row)


def previews(
    tx: Transaction,
    *,
    owner: str = MINE,
    limit: int = 50,
    offset: int = 0,
    search: str = "",
    origin: SessionOrigin | None = None,
) -> list[SessionPreview]:
    """List an owner's sessions, the latest first, each with the beginning of its last words."""
    page = (
        select(sessions)
        .where(_of(owner, origin))
        .order_by(sessions.c.updated_at.desc(), sessions.c.id)
        .limit(limit)
        .offset(offset)
    )
    return _previews(tx, page.where(_mentions(search)) if search else page)


def _previews(tx: Transaction, page: Select[Any]) -> list[SessionPreview]:
    # Only for what is shown: looking up the last words of all takes the longer the more there are.
    shown = page.subquery()
    said = func.coalesce(func.nullif(turn_table.c.answer, ""), turn_table.c.prompt, "")
    words = (
        select(func.substr(said, 1, _PREVIEW_LENGTH))
        .where(turn_table.c.session_id == shown.c.id)
        .order_by(turn_table.c.number.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = select(shown, words.label("words")).order_by(shown.c.updated_at.desc(), shown.c.id)
    return [
        SessionPreview(
            session=_session(row),
            turns=row.last_turn,
            last_words=" ".join((row.words or "").split()),
        )
        for row in tx.execute(query)
    ]


def _of(owner: str, origin: SessionOrigin | None) -> ColumnElement[bool]:
    mine = sessions.c.owner == owner
    return mine if origin is None else mine & (sessions.c.origin == origin)


def _mentions(search: str) -> ColumnElement[bool]:
    said = select(turn_table.c.session_id).where(
        turn_table.c.prompt.icontains(search, autoescape=True)
        | turn_table.c.answer.icontains(search, autoescape=True)
    )
    return sessions.c.title.icontains(search, autoescape=True) | sessions.c.id.in_(said)


def set_agent(tx: Transaction, session_id: SessionId, agent: str | None) -> None:
    """Hold a session with another agent from now on; None for the home's own."""
    tx.execute(update(sessions).where(sessions.c.id == session_id).values(agent=agent))


def preview(tx: Transaction, session_id: SessionId, *, owner: str) -> SessionPreview:
    """One session as a list shows it."""
    get(tx, session_id, owner=owner)
    return _previews(tx, select(sessions).where(sessions.c.id == session_id))[0]


def count(
    tx: Transaction, *, owner: str = MINE, search: str = "", origin: SessionOrigin | None = None
) -> int:
    """How many sessions an owner has, in which something was said if that is asked for."""
    query = select(func.count()).select_from(sessions).where(_of(owner, origin))
    if search:
        query = query.where(_mentions(search))
    return tx.execute(query).scalar_one()


def rename(tx: Transaction, session_id: SessionId, title: str) -> None:
    """Give a session another title."""
    _change(tx, session_id, title=tx.redact(title))


def choose_model(tx: Transaction, session_id: SessionId, model: str | None) -> None:
    """Set the session's own model, or None to follow the settings."""
    _change(tx, session_id, model=model)


def set_mode(tx: Transaction, session_id: SessionId, mode: Mode) -> None:
    """Say how far a session may go on its own."""
    _change(tx, session_id, mode=mode)


def clear(tx: Transaction, session_id: SessionId) -> None:
    """Show the model nothing of what was said so far; the log keeps it."""
    _change(tx, session_id, cleared=sessions.c.last_message)


def compact(tx: Transaction, session_id: SessionId, before: TurnId) -> None:
    """Show the model what stands for the turns before one in their place."""
    last = select(func.min(messages.c.seq) - 1).where(messages.c.turn_id == before)
    _change(tx, session_id, compacted=func.coalesce(last.scalar_subquery(), 0))


_TOUCH = update_by_id(sessions, ["updated_at"])


def touch(tx: Transaction, session_id: SessionId, now: datetime) -> None:
    """Note that something happened in a session."""
    tx.run(_TOUCH, new_values(session_id, updated_at=microseconds(now)))


def remove(tx: Transaction, session_id: SessionId) -> None:
    """Delete a session with everything in it; what it cost stays on the books."""
    get(tx, session_id)
    decisions.forget_words(tx, session_id)
    tx.execute(delete(sessions).where(sessions.c.id == session_id))


def _change(tx: Transaction, session_id: SessionId, **values: object) -> None:
    get(tx, session_id)
    tx.execute(update(sessions).where(sessions.c.id == session_id).values(**values))


def titles(
    tx: Transaction, session_ids: Sequence[SessionId], *, owner: str
) -> dict[SessionId, str]:
    """The titles of those sessions that are there, and an owner's."""
    query = select(sessions.c.id, sessions.c.title).where(sessions.c.owner == owner)
    wanted = set(session_ids)
    return {
        SessionId(row.id): row.title for row in tx.execute(query) if SessionId(row.id) in wanted
    }


# Usage is not copied: what was spent was spent once.
_OF_A_TURN = (messages, events, tool_calls, taints)


def _own_of(origin: SessionOrigin) -> SessionOrigin:
    return SessionOrigin.OWN if origin is SessionOrigin.DELEGATE else origin


def fork(tx: Transaction, session_id: SessionId, *, at: TurnId | None, now: datetime) -> Session:
    """Copy a session up to and including a turn, or up to its last ended one."""
    source = get(tx, session_id)
    kept = _kept(turns.of_session(tx, session_id), at)
    copy = replace(
        source,
        id=beside(source.id, now),
        title=f"{source.title} (fork)",
        # Whoever goes on with what a delegate did talks to it.
        origin=_own_of(source.origin),
        created_at=now,
        updated_at=now,
        forked_from=source.id,
        forked_at=kept[-1].id if kept else None,
    )
    create(tx, copy)
    _copy(tx, pictures, pictures.c.session_id == source.id, session_id=copy.id)
    copied: dict[TurnId, TurnId] = {}
    for turn in kept:
        made_here = tasks.c.made_by.startswith(f"{turn.id}/", autoescape=True)
        mine = (tasks.c.session_id == source.id) & made_here
        # The work stays where it is; a fork has its tasks.
        _copy(tx, tasks, mine, session_id=copy.id, work_id=None, planned=False)
        copied[turn.id] = new_turn = TurnId(new_id("turn", now))
        own: dict[str, object] = {"session_id": copy.id, "id": new_turn, "work_id": None}
        _copy(tx, turn_table, turn_table.c.id == turn.id, **own)
        for table in _OF_A_TURN:
            _copy(tx, table, table.c.turn_id == turn.id, session_id=copy.id, turn_id=new_turn)
        # What the old session said is remembered already.
        memories.mark(tx, replace(turn, id=new_turn))
    # Nor is it told of a work, which it does not have.
    told = (events.c.session_id == copy.id) & (events.c.type == "work_phase")
    tx.execute(delete(events).where(told))
    rules.copy(tx, source.id, copy.id, copied)
    if kept:
        whole = (folds.c.session_id == source.id) & (folds.c.last <= kept[-1].number)
        _copy(tx, folds, whole, session_id=copy.id)
    _set_counters(tx, copy.id)
    _clear_as_before(tx, source.id, copy.id)
    return copy


def _kept(all_turns: list[Turn], at: TurnId | None) -> list[Turn]:
    if at is None:
        return [turn for turn in all_turns if turn.status.ended]
    place = next((place for place, turn in enumerate(all_turns) if turn.id == at), None)
    if place is None:
        raise NotFound(f"No turn {at!r} in this session.", hint="'lra sessions show' lists them.")
    if not all_turns[place].status.ended:
        raise Busy("That turn is not finished.", hint="Wait for it, or stop it.")
    # With what was said to it while it ran.
    steered = takewhile(lambda turn: turn.status is TurnStatus.STEERED, all_turns[place + 1 :])
    return [*all_turns[: place + 1], *steered]


def _copy(tx: Transaction, table: Table, which: object, **changed: object) -> None:
    columns = [
        literal(changed[column.name]).label(column.name) if column.name in changed else column
        for column in table.c
    ]
    names = [column.name for column in table.c]
    tx.execute(insert(table).from_select(names, select(*columns).where(which)))  # pyright: ignore[reportArgumentType]


def _clear_as_before(tx: Transaction, source: SessionId, copy: SessionId) -> None:
    """What the model was not shown any more stays so, unless the copy ends before that."""
    for column in (sessions.c.cleared, sessions.c.compacted):
        past = select(column).where(sessions.c.id == source).scalar_subquery()
        reached = (sessions.c.id == copy) & (sessions.c.last_message >= past)
        tx.execute(update(sessions).where(reached).values({column: past}))


def _set_counters(tx: Transaction, copy: SessionId) -> None:
    # Counting goes on after what was copied, as if the rest had never been.
    counted = {
        "last_turn": turn_table.c.number,
        "last_message": messages.c.seq,
        "last_event": events.c.seq,
        "last_task": tasks.c.number,
    }
    last = {
        name: tx.execute(
            select(func.coalesce(func.max(column), 0)).where(column.table.c.session_id == copy)
        ).scalar_one()
        for name, column in counted.items()
    }
    tx.execute(update(sessions).where(sessions.c.id == copy).values(last))
