"""Small furnishings for the store's stories."""

from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy import event

from long_running_agents.config import load
from long_running_agents.domain.approval import Approval, ApprovalState
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId
from long_running_agents.domain.session import MINE, Mode, Session
from long_running_agents.domain.tool import CallState, Effect, ToolCallRecord
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.store import messages, sessions, turns
from long_running_agents.store.messages import StoredMessage
from long_running_agents.store.schema import open_database
from long_running_agents.testing import FrozenClock

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SESSION = SessionId("s")


@contextmanager
def every_connection(database, prepare):
    """Prepare the connections a database has, and those it takes from its pool meanwhile."""

    def taken(connection, *_):
        prepare(connection)

    event.listen(database.engine, "checkout", taken)
    for kept in list(database._kept_open.values()):
        prepare(kept._cursor.connection)
    yield
    event.remove(database.engine, "checkout", taken)


def later(minutes):
    return NOON + timedelta(minutes=minutes)


@asynccontextmanager
async def house(home, *, environ=None, read_only=False):
    loaded = load(home=home, environ=environ or {})
    async with open_database(loaded, FrozenClock(NOON), read_only=read_only) as database:
        yield database


def add_session(tx, name=SESSION, *, title="A title", at=NOON, owner=MINE):
    session = Session(
        id=SessionId(name),
        title=title,
        mode=Mode.BOUNDED,
        model=None,
        created_at=at,
        updated_at=at,
        owner=owner,
    )
    sessions.create(tx, session)
    return session


def add_turn(tx, name, session=SESSION, *, prompt="hello", at=NOON, owner=MINE, steers=None):
    turn = Turn(
        id=TurnId(name),
        session_id=SessionId(session),
        number=turns.next_number(tx, SessionId(session), steers),
        prompt=prompt,
        origin=TurnOrigin.USER,
        attended=True,
        status=TurnStatus.QUEUED,
        model=None,
        created_at=at,
        owner=owner,
        steer=steers is not None,
    )
    return turns.accept(tx, turn)


def move_turn(tx, name, status, **options):
    turns.move(tx, turns.get(tx, TurnId(name)), status, now=NOON, **options)


def end_turn(tx, name, *, answer="hi", status=TurnStatus.DONE):
    turns.claim(tx, TurnId(name))
    move_turn(tx, name, status, answer=answer)


def add_messages(tx, turn, steps, session=SESSION):
    """The messages of a turn with so many steps: two for each."""
    new = []
    for step in range(1, steps + 1):
        new.append(StoredMessage(step=step, kind="request", body=f'["{turn}", {step}, "asked"]'))
        new.append(StoredMessage(step=step, kind="response", body=f'["{turn}", {step}, "said"]'))
    messages.append(tx, SessionId(session), TurnId(turn), new, NOON)


def a_call(turn, call_id, **changed):
    values = {
        "turn_id": TurnId(turn),
        "session_id": SESSION,
        "call_id": call_id,
        "step": 1,
        "position": 0,
        "tool": "shell",
        "args": "{}",
        "effect": Effect.ONCE,
        "state": CallState.REQUESTED,
    }
    return ToolCallRecord(**{**values, **changed})


def a_question(name, turn, call_id, **changed):
    values = {
        "id": ApprovalId(name),
        "session_id": SESSION,
        "turn_id": TurnId(turn),
        "call_id": call_id,
        "tool": "shell",
        "args": "{}",
        "question": "May it?",
        "state": ApprovalState.OPEN,
        "asked_at": NOON,
    }
    return Approval(**{**values, **changed})
