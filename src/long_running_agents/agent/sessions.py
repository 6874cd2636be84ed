"""Sessions as a service: list, rename, fork, export, delete. No model is needed for any of it."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from long_running_agents.agent import export
from long_running_agents.domain.events import (
    Event,
    ModeChanged,
    ModelChanged,
    Recorded,
    SessionCleared,
    SessionRenamed,
)
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.memory import Kind, Selection
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE, UNTITLED, Mode, Session, SessionPreview
from long_running_agents.domain.task import Task, TaskStatus, news
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import Busy, Taken, UsageError
from long_running_agents.store import (
    events,
    forks,
    imports,
    ledger,
    memories,
    messages,
    sessions,
    tasks,
    turns,
)
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.events import Place
from long_running_agents.store.messages import LoggedMessage

Format = Literal["md", "jsonl"]


Announce = Callable[[Sequence[Recorded]], None]
"""Rings events that are on disk."""

Switched = Callable[[SessionId, str], None]
"""Hears that a session asks another model, once that is on disk."""


def _nobody(*_: object) -> None:
    """No turn runs here, and nobody listens."""


class SessionService:
    """Looks after sessions.

    Args:
        database: Where they are.
        clock: Tells the time.
        owner: Whose sessions; those of others are not there.
        announce: Rings what was stored.
        switched: Hears which model a session asks from now on.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        owner: str = MINE,
        announce: Announce = _nobody,
        switched: Switched = _nobody,
    ) -> None:
        self._database = database
        self._clock = clock
        self._owner = owner
        self._announce = announce
        self._switched = switched

    def of(self, owner: str) -> "SessionService":
        """The same service for somebody else's sessions."""
        return SessionService(
            self._database,
            self._clock,
            owner=owner,
            announce=self._announce,
            switched=self._switched,
        )

    async def create(
        self,
        *,
        session_id: SessionId | None = None,
        title: str = UNTITLED,
        model: str | None = None,
        mode: Mode = Mode.BOUNDED,
    ) -> Session:
        """Begin an empty session.

        Args:
            session_id: What it is called by programs; made up unless given.
            title: What it is called by people.
            model: The model to ask, instead of the configured one.
            mode: How far it may go on its own.

        Raises:
            Taken: There is a session of that id, of whomever.
        """
        made_up = SessionId(new_id("session", self._clock.now()))
        session = self._empty(session_id or made_up, title, model, mode)

        def work(tx: Transaction) -> Session:
            if sessions.find(tx, session.id) is not None:
                raise Taken(f"The id {session.id!r} is taken.", hint="Choose another, or none.")
            sessions.create(tx, session)
            # Read again: a title may have had a secret in it.
            return sessions.get(tx, session.id)

        return await self._database.write(work)

    async def ensure(self, session_id: SessionId) -> Session:
        """A session by its name, begun if it is not there."""

        def work(tx: Transaction) -> Session:
            if sessions.find(tx, session_id) is None:
                sessions.create(tx, self._empty(session_id))
            return self._mine(tx, session_id)

        return await self._database.write(work)

    def _empty(
        self,
        session_id: SessionId,
        title: str = UNTITLED,
        model: str | None = None,
        mode: Mode = Mode.BOUNDED,
    ) -> Session:
        now = self._clock.now()
        return Session(
            id=session_id,
            title=title,
            mode=mode,
            model=model,
            created_at=now,
            updated_at=now,
            owner=self._owner,
        )

    async def get(self, session_id: SessionId) -> Session:
        """Look a session up."""
        return await self._database.read(lambda tx: self._mine(tx, session_id))

    async def newest(self) -> Session | None:
        """The session something was said in last."""
        return await self._database.read(lambda tx: sessions.newest(tx, owner=self._owner))

    async def previews(
        self, *, limit: int = 50, offset: int = 0, search: str = ""
    ) -> Sequence[SessionPreview]:
        """List sessions, the latest first."""
        return await self._database.read(
            lambda tx: sessions.previews(
                tx, owner=self._owner, limit=limit, offset=offset, search=search
            )
        )

    async def preview(self, session_id: SessionId) -> SessionPreview:
        """One session as a list shows it."""
        return await self._database.read(
            lambda tx: sessions.preview(tx, session_id, owner=self._owner)
        )

    async def count(self, search: str = "") -> int:
        """How many sessions there are, in which something was said if that is asked for."""
        return await self._database.read(
            lambda tx: sessions.count(tx, owner=self._owner, search=search)
        )

    async def log(
        self, session_id: SessionId, *, after: int = 0, limit: int = 100
    ) -> Sequence[LoggedMessage]:
        """What model and tools said to each other, after a number."""

        def work(tx: Transaction) -> list[LoggedMessage]:
            self._mine(tx, session_id)
            return messages.page(tx, session_id, after, limit)

        return await self._database.read(work)

    async def activity(
        self, *, limit: int = 50, types: Collection[str] = (), before: Place | None = None
    ) -> Sequence[Recorded]:
        """The latest events of all sessions, the newest first."""
        return await self._database.read(
            lambda tx: events.newest(tx, self._owner, limit=limit, types=types, before=before)
        )

    async def turns(
        self, session_id: SessionId, *, limit: int | None = None, offset: int = 0
    ) -> Sequence[Turn]:
        """A session's turns, in order."""

        def work(tx: Transaction) -> list[Turn]:
            self._mine(tx, session_id)
            return turns.of_session(tx, session_id, limit=limit, offset=offset)

        return await self._database.read(work)

    async def tasks(self, session_id: SessionId) -> Sequence[Task]:
        """A session's tasks."""

        def work(tx: Transaction) -> list[Task]:
            self._mine(tx, session_id)
            return tasks.of_session(tx, session_id)

        return await self._database.read(work)

    async def every_task(
        self, *, status: TaskStatus | None = None, limit: int = 100, offset: int = 0
    ) -> Sequence[Task]:
        """The tasks of all sessions, those changed last first."""
        return await self._database.read(
            lambda tx: tasks.of_owner(tx, self._owner, status=status, limit=limit, offset=offset)
        )

    async def change_task(
        self,
        session_id: SessionId,
        number: int,
        *,
        status: TaskStatus | None = None,
        title: str | None = None,
    ) -> Task:
        """Move a task to another status, or call it otherwise."""
        now = self._clock.now()

        def work(tx: Transaction) -> tuple[Task, list[Recorded]]:
            self._mine(tx, session_id)
            task = tasks.change(tx, session_id, number, status, title=title, now=now)
            told = news(tasks.of_session(tx, session_id))
            return task, events.append(tx, session_id, None, [told], now)

        task, recorded = await self._database.write(work)
        self._announce(recorded)
        return task

    async def events(
        self, session_id: SessionId, after: int = 0, *, limit: int | None = None
    ) -> Sequence[Recorded]:
        """A session's events after a number."""

        def work(tx: Transaction) -> list[Recorded]:
            self._mine(tx, session_id)
            return events.after(tx, session_id, after, limit=limit)

        return await self._database.read(work)

    async def last_event(self, session_id: SessionId) -> int:
        """The number of a session's newest event; 0 for none."""

        def work(tx: Transaction) -> int:
            self._mine(tx, session_id)
            return events.last(tx, session_id)

        return await self._database.read(work)

    async def taken(self, session_id: SessionId) -> bool:
        """Whether anybody has a session of this name."""
        return await self._database.read(lambda tx: sessions.find(tx, session_id) is not None)

    async def uncertain(self, session_id: SessionId | None = None) -> Sequence[ToolCallRecord]:
        """Calls that were cut off and whose effect nobody knows."""
        return await self._database.read(lambda tx: ledger.uncertain(tx, session_id))

    async def rename(self, session_id: SessionId, title: str) -> None:
        """Give a session another title."""
        named = title.strip()
        if not named:
            raise UsageError("The title is empty.", hint="Give the session a name.")
        await self._change(
            session_id,
            lambda tx: sessions.rename(tx, session_id, named),
            SessionRenamed(title=named),
        )

    async def set_mode(self, session_id: SessionId, mode: Mode) -> None:
        """Let a session go farther on its own, or less far, from the next turn on."""
        await self._change(
            session_id, lambda tx: sessions.set_mode(tx, session_id, mode), ModeChanged(mode=mode)
        )

    async def clear(self, session_id: SessionId) -> None:
        """Let the model begin anew; the log keeps what was said."""

        def work(tx: Transaction) -> None:
            if turns.current(tx, session_id) is not None:
                raise Busy("A turn of this session is not finished.", hint="Stop it first.")
            sessions.clear(tx, session_id)

        await self._change(session_id, work, SessionCleared())

    async def choose_model(self, session_id: SessionId, model: str) -> Sequence[Recorded]:
        """Use another model from the next step on, also in the turn that runs."""

        def work(tx: Transaction) -> None:
            sessions.choose_model(tx, session_id, model)
            turns.ask_anew(tx, session_id)

        return await self._change(
            session_id,
            work,
            ModelChanged(model=model),
            before=lambda: self._switched(session_id, model),
        )

    async def _change(
        self,
        session_id: SessionId,
        work: Callable[[Transaction], None],
        event: Event,
        before: Callable[[], None] = _nobody,
    ) -> list[Recorded]:
        """Change a session, then ring it; before that, tell whoever has to know first."""
        now = self._clock.now()

        def change(tx: Transaction) -> list[Recorded]:
            self._mine(tx, session_id)
            work(tx)
            return events.append(tx, session_id, None, [event], now)

        recorded = await self._database.write(change)
        before()
        self._announce(recorded)
        return recorded

    async def fork(self, session_id: SessionId, *, at: TurnId | None = None) -> Session:
        """Begin a new session with a copy of an old one, up to and including a turn."""
        now = self._clock.now()

        def work(tx: Transaction) -> Session:
            self._mine(tx, session_id)
            return forks.fork(tx, session_id, at=at, now=now)

        return await self._database.write(work)

    async def delete(self, session_id: SessionId) -> None:
        """Delete a session with everything in it, and what is remembered of its words."""

        def work(tx: Transaction) -> None:
            self._mine(tx, session_id)
            if turns.current(tx, session_id) is not None:
                raise Busy("A turn of this session is not finished.", hint="Stop it first.")
            said = Selection(session_id=session_id, kind=Kind.CONVERSATION)
            heard = memories.selected(tx, self._owner, said)
            memories.remove(tx, self._owner, [memory.id for memory in heard])
            sessions.remove(tx, session_id)

        await self._database.write(work)

    async def export(self, session_id: SessionId, form: Format) -> str:
        """Write a session out as text."""

        def work(tx: Transaction) -> str:
            session = self._mine(tx, session_id)
            told = turns.of_session(tx, session_id)
            facts = events.after(tx, session_id, 0)
            if form == "md":
                return export.markdown(session, told, facts)
            logs = {turn.id: messages.of_turn(tx, turn.id) for turn in told}
            work = tasks.of_session(tx, session_id)
            return export.json_lines(session, told, logs, facts, work)

        return await self._database.read(work)

    async def take_over(self, text: str) -> Session:
        """Store a session that was written out somewhere; nothing of it is ever run again.

        Args:
            text: The lines of JSON that an export has written.

        Raises:
            UsageError: It is nothing of the kind.
        """
        # Only here: it loads the agent library, which nothing else of sessions needs.
        from long_running_agents.agent import importing  # noqa: PLC0415

        told = await asyncio.to_thread(importing.read, text)
        now = self._clock.now()
        return await self._database.write(lambda tx: imports.take_over(tx, told, self._owner, now))

    def _mine(self, tx: Transaction, session_id: SessionId) -> Session:
        return sessions.get(tx, session_id, owner=self._owner)
