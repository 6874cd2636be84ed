"""Sessions: create, list with preview, rename, delete."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, delete, func, insert, select, update

from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.session import MINE, Mode, Session, SessionPreview
from long_running_agents.errors import NotFound
from long_running_agents.store import decisions
from long_running_agents.store.database import Transaction
from long_running_agents.store.prepared import Prepared
from long_running_agents.store.tables import microseconds, sessions, turns

_PREVIEW_LENGTH = 100


def _session(row: Row[Any]) -> Session:
    return Session(
        id=SessionId(row.id),
        title=row.title,
        mode=Mode(row.mode),
        model=row.model,
        created_at=row.created_at,
        updated_at=row.updated_at,
        forked_from=SessionId(row.forked_from) if row.forked_from else None,
        forked_at=TurnId(row.forked_at) if row.forked_at else None,
        owner=row.owner,
    )


def create(tx: Transaction, session: Session) -> None:
    """Store a new session."""
    tx.execute(
        insert(sessions),
        {
            "id": session.id,
            "title": tx.redact(session.title),
            "mode": session.mode,
            "model": session.model,
            "created_at": session.created_at,
            "updated_at": session.updated_at,
            "forked_from": session.forked_from,
            "forked_at": session.forked_at,
            "owner": session.owner,
        },
    )


_BY_ID = select(sessions).where(sessions.c.id == bindparam("session"))


def find(tx: Transaction, session_id: SessionId) -> Session | None:
    """Look a session up; None when there is none."""
    row = tx.execute(_BY_ID, {"session": session_id}).first()
    return None if row is None else _session(row)


def get(tx: Transaction, session_id: SessionId, *, owner: str | None = None) -> Session:
    """Look up a session that must exist, and belong to an owner if one asks."""
    session = find(tx, session_id)
    if session is None or owner not in (None, session.owner):
        raise NotFound(f"No session {session_id!r}.", hint="'lra sessions list' shows them.")
    return session


def newest(tx: Transaction, *, owner: str = MINE) -> Session | None:
    """The session of an owner in which something was said last."""
    query = select(sessions).where(sessions.c.owner == owner)
    row = tx.execute(query.order_by(sessions.c.updated_at.desc()).limit(1)).first()
    return None if row is None else _session(row)


def previews(
    tx: Transaction, *, owner: str = MINE, limit: int = 50, offset: int = 0, search: str = ""
) -> list[SessionPreview]:
    """List an owner's sessions, the latest first, each with the beginning of its last words."""
    last = (
        select(turns.c.session_id, func.max(turns.c.number).label("number"))
        .group_by(turns.c.session_id)
        .subquery()
    )
    words = func.substr(
        func.coalesce(func.nullif(turns.c.answer, ""), turns.c.prompt, ""), 1, _PREVIEW_LENGTH
    )
    query = (
        select(sessions, words.label("words"))
        .outerjoin(last, last.c.session_id == sessions.c.id)
        .outerjoin(turns, (turns.c.session_id == sessions.c.id) & (turns.c.number == last.c.number))
        .where(sessions.c.owner == owner)
        .order_by(sessions.c.updated_at.desc(), sessions.c.id)
        .limit(limit)
        .offset(offset)
    )
    if search:
        query = query.where(_mentions(search))
    return [
        SessionPreview(
            session=_session(row),
            turns=row.last_turn,
            last_words=" ".join((row.words or "").split()),
        )
        for row in tx.execute(query)
    ]


def _mentions(search: str) -> ColumnElement[bool]:
    said = select(turns.c.session_id).where(
        turns.c.prompt.icontains(search, autoescape=True)
        | turns.c.answer.icontains(search, autoescape=True)
    )
    return sessions.c.title.icontains(search, autoescape=True) | sessions.c.id.in_(said)


def preview(tx: Transaction, session_id: SessionId, *, owner: str) -> SessionPreview:
    """One session as a list shows it."""
    session = get(tx, session_id, owner=owner)
    row = tx.execute(
        select(turns.c.number, turns.c.answer, turns.c.prompt)
        .where(turns.c.session_id == session_id)
        .order_by(turns.c.number.desc())
        .limit(1)
    ).first()
    words = "" if row is None else (row.answer or row.prompt)[:_PREVIEW_LENGTH]
    return SessionPreview(
        session=session, turns=0 if row is None else row.number, last_words=" ".join(words.split())
    )


def count(tx: Transaction, *, owner: str = MINE, search: str = "") -> int:
    """How many sessions an owner has, in which something was said if that is asked for."""
    query = select(func.count()).select_from(sessions).where(sessions.c.owner == owner)
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


_TOUCH = Prepared(
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(updated_at=bindparam("now"))
)


def touch(tx: Transaction, session_id: SessionId, now: datetime) -> None:
    """Note that something happened in a session."""
    tx.run(_TOUCH, {"session": session_id, "now": microseconds(now)})


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
