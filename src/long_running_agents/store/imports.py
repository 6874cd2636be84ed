"""Imports: a session that was written out somewhere, stored as one that is over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from long_running_agents.domain.events import Event
from long_running_agents.domain.ids import SessionId, TurnId, new_id, session_id
from long_running_agents.domain.session import Mode, Session
from long_running_agents.domain.task import TaskStatus
from long_running_agents.domain.turn import Origin, Turn, TurnStatus
from long_running_agents.errors import UsageError
from long_running_agents.store import events, memory_turns, messages, sessions, taints, tasks, turns
from long_running_agents.store.database import Transaction
from long_running_agents.store.messages import StoredMessage

_SOURCE = "an imported session"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTurn:
    """A turn that is over, with its log."""

    prompt: str
    answer: str
    error: str
    created_at: datetime
    ended_at: datetime
    messages: tuple[StoredMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEvent:
    """Something that was told."""

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


def take_over(tx: Transaction, told: ImportedSession, owner: str, now: datetime) -> Session:
    """Store a session as its owner's; where its id is taken, it gets another."""
    session = Session(
        id=_free_id(tx, told.wanted_id, now),
        title=told.title,
        mode=told.mode,
        model=None,
        created_at=told.created_at,
        updated_at=now,
        owner=owner,
    )
    sessions.create(tx, session)
    ids = [_take_turn(tx, session, turn, now) for turn in told.turns]
    for each in told.events:
        turn_id = None if each.turn is None else ids[each.turn]
        events.append(tx, session.id, turn_id, [each.event], each.at)
    _take_tasks(tx, session.id, told.tasks, ids[-1] if ids else "import", now)
    if ids:
        # Nobody knows who wrote it: what could do harm takes consent.
        taints.add(tx, session.id, ids[0], _SOURCE, now)
    return session


def _free_id(tx: Transaction, wanted: str, now: datetime) -> SessionId:
    try:
        chosen = session_id(wanted)
    except UsageError:
        chosen = None
    if chosen is None or sessions.find(tx, chosen) is not None:
        return SessionId(new_id("session", now))
    return chosen


def _take_turn(tx: Transaction, session: Session, told: ImportedTurn, now: datetime) -> TurnId:
    turn = Turn(
        id=TurnId(new_id("turn", now)),
        session_id=session.id,
        number=turns.next_number(tx, session.id),
        prompt=told.prompt,
        # Not a user's: addresses in it were not named by anybody here.
        origin=Origin.JOB,
        attended=False,
        status=TurnStatus.RUNNING,
        model=None,
        created_at=told.created_at,
        owner=session.owner,
        mode=session.mode,
    )
    turn = turns.accept(tx, turn)
    # Done, however it ended: whatever is done is neither taken up nor retried.
    turns.move(tx, turn, TurnStatus.DONE, now=told.ended_at, answer=told.answer, error=told.error)
    messages.append(tx, session.id, turn.id, told.messages, told.created_at)
    # What was said elsewhere is no memory of what was said here.
    memory_turns.mark(tx, replace(turn, ended_at=told.ended_at))
    return turn.id


def _take_tasks(
    tx: Transaction,
    session_id: SessionId,
    told: Sequence[ImportedTask],
    maker: str,
    now: datetime,
) -> None:
    numbers: dict[int, int] = {}
    for each in told:
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
