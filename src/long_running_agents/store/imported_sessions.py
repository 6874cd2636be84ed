"""Imports: a session that was written out somewhere, stored as one that is over."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from long_running_agents.domain.events import Event
from long_running_agents.domain.ids import RESERVED, SessionId, TurnId, new_id, session_id
from long_running_agents.domain.picture import Picture
from long_running_agents.domain.rule import RuleSource, news
from long_running_agents.domain.session import Mode, Session
from long_running_agents.domain.task import TaskStatus
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import UsageError
from long_running_agents.store import (
    events,
    memories,
    messages,
    rules,
    sessions,
    taints,
    tasks,
    turns,
)
from long_running_agents.store.database import Transaction
from long_running_agents.store.messages import StoredMessage, keep_pictures

_SOURCE = "an imported session"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTurn:
    """A turn that is over, with its log."""

    prompt: str
    answer: str
    error: str = ""
    created_at: datetime
    ended_at: datetime
    messages: tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEvent:
    """An event of the session."""

    turn: int | None
    """The place of its turn among those of the session."""
    at: datetime
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTask:
    """A task; its parent comes before it."""

    number: int
    title: str
    description: str
    status: TaskStatus
    parent: int | None
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """A session as somebody wrote it out."""

    wanted_id: str
    title: str
    mode: Mode
    created_at: datetime
    turns: tuple[ImportedTurn, ...]
    events: tuple[ImportedEvent, ...]
    tasks: tuple[ImportedTask, ...]
    rules: tuple[str, ...] = ()
    """What was a rule there; here it is suggested, since nobody knows who said it."""
    pictures: tuple[Picture, ...] = ()


def take_over(
    tx: Transaction,
    imported: ImportedSession,
    owner: str,
    key: Callable[[str], SessionId],
    now: datetime,
) -> Session:
    """Store a session as its owner's; where its id is taken, it gets another."""
    session = Session(
        id=_free_id(tx, imported.wanted_id, key, now),
        title=imported.title,
        mode=imported.mode,
        created_at=imported.created_at,
        updated_at=now,
        owner=owner,
    )
    sessions.create(tx, session)
    keep_pictures(tx, session.id, imported.pictures)
    # Not a user's: addresses in it were not named by anybody here.
    ids = [take_turn(tx, session, turn, TurnOrigin.JOB, now) for turn in imported.turns]
    for each in imported.events:
        turn_id = None if each.turn is None else ids[each.turn]
        events.append(tx, session.id, turn_id, [each.event], each.at)
    for rule in rules.suggest(tx, session, imported.rules, RuleSource.IMPORT, now):
        events.append(tx, session.id, None, [news(rule)], now)
    _take_tasks(tx, session.id, imported.tasks, ids[-1] if ids else "import", now)
    if ids:
        # Nobody knows who wrote it: what could do harm takes consent.
        taints.add(tx, session.id, ids[0], _SOURCE, now)
    return session


def _free_id(
    tx: Transaction, wanted: str, key: Callable[[str], SessionId], now: datetime
) -> SessionId:
    with suppress(UsageError):
        chosen = session_id(wanted)
        if chosen not in RESERVED and sessions.find(tx, key(chosen)) is None:
            return key(chosen)
    return key(new_id("session", now))


def take_turn(
    tx: Transaction, session: Session, imported: ImportedTurn, origin: TurnOrigin, now: datetime
) -> TurnId:
    """Store a turn that is over; nothing of it is taken up, retried or remembered."""
    turn = Turn(
        id=TurnId(new_id("turn", now)),
        session_id=session.id,
        number=turns.next_number(tx, session.id),
        prompt=imported.prompt,
        origin=origin,
        attended=False,
        status=TurnStatus.RUNNING,
        created_at=imported.created_at,
        owner=session.owner,
        mode=session.mode,
    )
    turn = turns.accept(tx, turn)
    # Done, however it ended: whatever is done is neither taken up nor retried.
    turns.move(
        tx,
        turn,
        TurnStatus.DONE,
        now=imported.ended_at,
        answer=imported.answer,
        error=imported.error,
    )
    messages.append(tx, session.id, turn.id, imported.messages, imported.created_at)
    # What was said elsewhere is no memory of what was said here.
    memories.mark(tx, replace(turn, ended_at=imported.ended_at))
    return turn.id


def _take_tasks(
    tx: Transaction,
    session_id: SessionId,
    imported: Sequence[ImportedTask],
    maker: str,
    now: datetime,
) -> None:
    numbers: dict[int, int] = {}
    for each in imported:
        task = tasks.create(
            tx,
            session_id,
            each.title,
            description=each.description,
            parent=None if each.parent is None else numbers[each.parent],
            made_by=f"{maker}/import-{each.number}",
            now=now,
        )
        numbers[each.number] = task.number
        tasks.change(tx, session_id, task.number, each.status, result=each.result, now=now)
