"""Forks: a new session that begins with a copy of an old one."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Table, func, insert, literal, select, update

from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.session import Session
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import Busy, NotFound
from long_running_agents.store import memory_turns, sessions, turns
from long_running_agents.store.database import Transaction
from long_running_agents.store.tables import events, messages, taints, tasks, tool_calls
from long_running_agents.store.tables import sessions as session_table
from long_running_agents.store.tables import turns as turn_table

# Usage is not copied: what was spent was spent once.
_OF_A_TURN = (messages, events, tool_calls, taints)


def fork(tx: Transaction, session_id: SessionId, *, at: TurnId | None, now: datetime) -> Session:
    """Copy a session up to and including a turn, or up to its last ended one."""
    source = sessions.get(tx, session_id)
    kept = _kept(turns.of_session(tx, session_id), at)
    copy = Session(
        id=SessionId(new_id("session", now)),
        title=f"{source.title} (fork)",
        mode=source.mode,
        model=source.model,
        created_at=now,
        updated_at=now,
        forked_from=source.id,
        forked_at=kept[-1].id if kept else None,
        owner=source.owner,
    )
    sessions.create(tx, copy)
    for turn in kept:
        made_here = tasks.c.made_by.startswith(f"{turn.id}/", autoescape=True)
        _copy(tx, tasks, (tasks.c.session_id == source.id) & made_here, session_id=copy.id)
        new_turn = new_id("turn", now)
        _copy(tx, turn_table, turn_table.c.id == turn.id, session_id=copy.id, id=new_turn)
        for table in _OF_A_TURN:
            _copy(tx, table, table.c.turn_id == turn.id, session_id=copy.id, turn_id=new_turn)
        # What the old session said is remembered already.
        memory_turns.mark(tx, replace(turn, id=TurnId(new_turn)))
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
    return all_turns[: place + 1]


def _copy(tx: Transaction, table: Table, which: object, **changed: str) -> None:
    columns = [
        literal(changed[column.name]).label(column.name) if column.name in changed else column
        for column in table.c
    ]
    names = [column.name for column in table.c]
    tx.execute(insert(table).from_select(names, select(*columns).where(which)))  # pyright: ignore[reportArgumentType]


def _clear_as_before(tx: Transaction, source: SessionId, copy: SessionId) -> None:
    """What the model was not shown any more stays so, unless the copy ends before that."""
    table = session_table
    cleared = select(table.c.cleared).where(table.c.id == source).scalar_subquery()
    reached = (table.c.id == copy) & (table.c.last_message >= cleared)
    tx.execute(update(table).where(reached).values(cleared=cleared))


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
    tx.execute(update(session_table).where(session_table.c.id == copy).values(last))
