"""Sessions as a service: list, rename, fork, export, delete; and what was spent."""

import asyncio
import base64
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar

from long_running_agents.domain import ids
from long_running_agents.domain.events import (
    Event,
    EventEnvelope,
    MemoriesRecalled,
    MessageSteered,
    ModeChanged,
    ModelChanged,
    RecalledMemory,
    SessionCleared,
    SessionRenamed,
    TextWritten,
    ToolCalled,
    ToolReturned,
    TurnDone,
    TurnFailed,
    TurnLimited,
    TurnStopped,
)
from long_running_agents.domain.ids import DayRange, SessionId, TurnId, new_id
from long_running_agents.domain.memory import MemoryKind, Selection
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.rule import PinnedRule, RuleState
from long_running_agents.domain.session import (
    MINE,
    UNTITLED,
    Mode,
    Session,
    SessionOrigin,
    SessionPreview,
)
from long_running_agents.domain.task import Task, TaskStatus, news
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import Turn, TurnOrigin, brought
from long_running_agents.errors import Busy, Taken, UsageError
from long_running_agents.store import (
    events,
    imported_sessions,
    ledger,
    memories,
    messages,
    rules,
    sessions,
    tasks,
    turns,
    usage,
)
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.events import Place
from long_running_agents.store.messages import LoggedMessage, StoredMessage
from long_running_agents.store.tables import moment
from long_running_agents.store.usage import Share, UsageTotal

Format = Literal["md", "jsonl"]
T = TypeVar("T")

Announce = Callable[[Sequence[EventEnvelope]], None]
"""Publishes events that are on disk."""

Switched = Callable[[SessionId, str], None]
"""Hears that a session asks another model, once that is on disk."""


def _nobody(*_: object) -> None:
    """No turn runs here, and nobody listens."""


@dataclass(frozen=True, slots=True)
class SessionService:
    """Looks after sessions."""

    database: Database
    clock: Clock
    owner: str = MINE
    """Whose sessions; those of others are not there."""
    announce: Announce = _nobody
    switched: Switched = _nobody
    archives: Path | None = None
    """The folder with what has left the view, if there is one."""

    def of(self, owner: str) -> "SessionService":
        """The same service for somebody else's sessions."""
        return replace(self, owner=owner)

    async def create(
        self,
        *,
        session_id: SessionId | None = None,
        title: str = UNTITLED,
        model: str | None = None,
        mode: Mode = Mode.BOUNDED,
        agent: str | None = None,
    ) -> Session:
        """Begin an empty session.

        Args:
            session_id: What it is called by programs; made up unless given.
            title: What it is called by people.
            model: The model to ask, instead of the configured one.
            mode: How far it may go on its own.
            agent: The agent it is held with, instead of the home's own.

        Raises:
            Taken: There is a session of that id.
        """
        now = self.clock.now()
        session = Session(
            id=session_id or SessionId(new_id("session", now)),
            title=title,
            mode=mode,
            model=model,
            agent=agent,
            created_at=now,
            updated_at=now,
            owner=self.owner,
        )

        def work(tx: Transaction) -> Session:
            if sessions.find(tx, session.id) is not None:
                raise Taken(
                    f"The id {ids.shown(session.id)!r} is taken.", hint="Choose another, or none."
                )
            sessions.create(tx, session)
            # Read again: a title may have had a secret in it.
            return sessions.get(tx, session.id)

        return await self.database.write(work)

    async def ensure(self, session_id: SessionId) -> Session:
        """A session by its name, begun if it is not there."""
        now = self.clock.now()
        new = Session(id=session_id, created_at=now, updated_at=now, owner=self.owner)

        def work(tx: Transaction) -> Session:
            if sessions.find(tx, session_id) is None:
                sessions.create(tx, new)
            return self._mine(tx, session_id)

        return await self.database.write(work)

    async def get(self, session_id: SessionId) -> Session:
        """Look a session up."""
        return await self.database.read(lambda tx: self._mine(tx, session_id))

    async def newest(self) -> Session | None:
        """The session something was said in last."""
        return await self.database.read(lambda tx: sessions.newest(tx, owner=self.owner))

    async def previews(
        self,
        *,
        limit: int = 50,
        offset: int = 0,
        search: str = "",
        origin: SessionOrigin | None = None,
    ) -> Sequence[SessionPreview]:
        """List sessions, the latest first; those of one origin if that is asked for."""
        return await self.database.read(
            lambda tx: sessions.previews(
                tx, owner=self.owner, limit=limit, offset=offset, search=search, origin=origin
            )
        )

    async def preview(self, session_id: SessionId) -> SessionPreview:
        """One session as a list shows it."""
        return await self.database.read(
            lambda tx: sessions.preview(tx, session_id, owner=self.owner)
        )

    async def count(self, search: str = "", origin: SessionOrigin | None = None) -> int:
        """How many sessions there are, in which something was said if that is asked for."""
        return await self.database.read(
            lambda tx: sessions.count(tx, owner=self.owner, search=search, origin=origin)
        )

    async def log(
        self, session_id: SessionId, *, after: int = 0, limit: int = 100
    ) -> Sequence[LoggedMessage]:
        """What model and tools said to each other, after a number."""
        return await self._of(session_id, lambda tx: messages.page(tx, session_id, after, limit))

    async def activity(
        self, *, limit: int = 50, types: Collection[str] = (), before: Place | None = None
    ) -> Sequence[EventEnvelope]:
        """The latest events of all sessions, the newest first."""
        return await self.database.read(
            lambda tx: events.newest(tx, self.owner, limit=limit, types=types, before=before)
        )

    async def turns(
        self, session_id: SessionId, *, limit: int | None = None, offset: int = 0
    ) -> Sequence[Turn]:
        """A session's turns, in order."""
        return await self._of(
            session_id, lambda tx: turns.of_session(tx, session_id, limit=limit, offset=offset)
        )

    async def tasks(self, session_id: SessionId) -> Sequence[Task]:
        """A session's tasks."""
        return await self._of(session_id, lambda tx: tasks.of_session(tx, session_id))

    async def every_task(
        self, *, status: TaskStatus | None = None, limit: int = 100, offset: int = 0
    ) -> Sequence[Task]:
        """The tasks of all sessions, those changed last first."""
        return await self.database.read(
            lambda tx: tasks.of_owner(tx, self.owner, status=status, limit=limit, offset=offset)
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
        now = self.clock.now()

        def work(tx: Transaction) -> tuple[Task, list[EventEnvelope]]:
            self._mine(tx, session_id)
            task = tasks.change(tx, session_id, number, status, title=title, now=now)
            told = news(tasks.of_session(tx, session_id))
            return task, events.append(tx, session_id, None, [told], now)

        task, recorded = await self.database.write(work)
        self.announce(recorded)
        return task

    async def events(
        self, session_id: SessionId, after: int = 0, *, limit: int | None = None
    ) -> Sequence[EventEnvelope]:
        """A session's events after a number."""
        return await self._of(
            session_id, lambda tx: events.after(tx, session_id, after, limit=limit)
        )

    async def last_event(self, session_id: SessionId) -> int:
        """The number of a session's newest event; 0 for none."""
        return await self._of(session_id, lambda tx: events.last(tx, session_id))

    async def uncertain(self, session_id: SessionId | None = None) -> Sequence[ToolCallRecord]:
        """Calls that were cut off and whose effect nobody knows."""
        return await self.database.read(lambda tx: ledger.uncertain(tx, session_id))

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

    async def choose_model(self, session_id: SessionId, model: str) -> Sequence[EventEnvelope]:
        """Use another model from the next step on, also in the turn that runs."""

        def work(tx: Transaction) -> None:
            sessions.choose_model(tx, session_id, model)
            turns.ask_anew(tx, session_id)

        return await self._change(
            session_id,
            work,
            ModelChanged(model=model),
            before=lambda: self.switched(session_id, model),
        )

    async def _change(
        self,
        session_id: SessionId,
        work: Callable[[Transaction], None],
        event: Event,
        before: Callable[[], None] = _nobody,
    ) -> list[EventEnvelope]:
        """Change a session, then publish it; before that, tell whoever has to know first."""
        now = self.clock.now()

        def change(tx: Transaction) -> list[EventEnvelope]:
            self._mine(tx, session_id)
            work(tx)
            return events.append(tx, session_id, None, [event], now)

        recorded = await self.database.write(change)
        before()
        self.announce(recorded)
        return recorded

    async def fork(self, session_id: SessionId, *, at: TurnId | None = None) -> Session:
        """Begin a new session with a copy of an old one, up to and including a turn."""
        now = self.clock.now()

        def work(tx: Transaction) -> Session:
            self._mine(tx, session_id)
            return sessions.fork(tx, session_id, at=at, now=now)

        return await self.database.write(work)

    async def delete(self, session_id: SessionId) -> None:
        """Delete a session with everything in it, and what is remembered of its words."""

        def work(tx: Transaction) -> None:
            self._mine(tx, session_id)
            if turns.current(tx, session_id) is not None:
                raise Busy("A turn of this session is not finished.", hint="Stop it first.")
            said = Selection(session_id=session_id, kind=MemoryKind.CONVERSATION)
            heard = memories.selected(tx, self.owner, said)
            memories.remove(tx, self.owner, [memory.id for memory in heard])
            sessions.remove(tx, session_id)

        await self.database.write(work)
        if self.archives is not None:
            await asyncio.to_thread(shutil.rmtree, self.archives / session_id, ignore_errors=True)

    async def export(self, session_id: SessionId, form: Format) -> str:
        """Write a session out as text."""

        def work(tx: Transaction) -> str:
            session = self._mine(tx, session_id)
            told = turns.of_session(tx, session_id)
            facts = events.after(tx, session_id, 0)
            if form == "md":
                return _markdown(session, told, facts)
            logs = {turn.id: messages.of_turn(tx, turn.id) for turn in told}
            work = tasks.of_session(tx, session_id)
            pinned = [
                rule
                for rule in rules.of_owner(tx, self.owner, session_id)
                if rule.session_id and rule.state in (RuleState.ACTIVE, RuleState.SUGGESTED)
            ]
            shown = messages.find_pictures(tx, session_id)
            return _json_lines(session, told, logs, facts, {"task": work, "rule": pinned}, shown)

        return await self.database.read(work)

    async def take_over(self, text: str, key: Callable[[str], SessionId] = SessionId) -> Session:
        """Store a session that was written out somewhere; nothing of it is ever run again.

        Args:
            text: What was written out.
            key: What a session is stored as that its owner calls so.

        Raises:
            UsageError: It is nothing of the kind.
        """
        # Only here: it loads the agent library, which nothing else of sessions needs.
        from long_running_agents.agent import session_import  # noqa: PLC0415

        told = await asyncio.to_thread(session_import.read, text)
        now = self.clock.now()
        return await self.database.write(
            lambda tx: imported_sessions.take_over(tx, told, self.owner, key, now)
        )

    async def _of(self, session_id: SessionId, look: Callable[[Transaction], T]) -> T:
        """Look at a session that is the owner's."""

        def work(tx: Transaction) -> T:
            self._mine(tx, session_id)
            return look(tx)

        return await self.database.read(work)

    def _mine(self, tx: Transaction, session_id: SessionId) -> Session:
        return sessions.get(tx, session_id, owner=self.owner)


def _markdown(session: Session, turns: Sequence[Turn], events: Sequence[EventEnvelope]) -> str:
    """A session as a person reads it."""
    by_turn: dict[TurnId | None, list[EventEnvelope]] = {turn.id: [] for turn in turns}
    elsewhere: set[TurnId | None] = set()
    for recorded in events:
        place = recorded.turn_id
        if isinstance(recorded.event, MessageSteered):
            # Told where it was heard; a copy does not say where that was.
            place = TurnId(recorded.event.into)
            elsewhere |= {recorded.turn_id} if place in by_turn else set()
        by_turn.setdefault(place, []).append(recorded)
    lines = [
        f"# {session.title}",
        "",
        f"Session `{ids.shown(session.id)}`, begun {_time(session.created_at)}",
    ]
    for turn in (each for each in turns if each.id not in elsewhere):
        who = "The work" if turn.origin is TurnOrigin.WORK else "You"
        lines += ["", f"## {who}, {_time(turn.created_at)}", "", turn.prompt]
        if shown := len(brought(turn.client_tools).pictures):
            lines += ["", f"*Pictures: {shown}, which are in the export in JSON lines.*"]
        for recorded in by_turn.get(turn.id, []):
            lines += _event_lines(recorded)
    return "\n".join(lines) + "\n"


def _event_lines(recorded: EventEnvelope) -> Iterator[str]:
    match recorded.event:
        case TextWritten(text=text):
            yield from ("", "**Agent**", "", text)
        case MessageSteered(content=text):
            yield from ("", "**You**", "", text)
        case MemoriesRecalled(memories=memories):
            yield from (line for memory in memories for line in ("", _recalled(memory)))
        case ToolCalled(tool=tool, input=given):
            yield from ("", f"- called `{tool}` with `{json.dumps(given, ensure_ascii=False)}`")
        case ToolReturned(tool=tool, result_preview=preview, outcome=outcome):
            yield from ("", f"- `{tool}` {outcome}: {' '.join(preview.split())}")
        case ending:
            yield from _ended(ending)


def _ended(event: Event) -> Iterator[str]:
    match event:
        case TurnDone(not_seen=[_, *_] as unknown):
            yield from ("", f"*Not seen in any tool call of this session:* {', '.join(unknown)}")
        case TurnStopped():
            yield from ("", "*Stopped by the user.*")
        case TurnLimited(text=text):
            yield from ("", f"*{text}*")
        case TurnFailed(message=message):
            yield from ("", f"*Failed: {message}*")
        case _:
            return


def _recalled(memory: RecalledMemory) -> str:
    about = f"said by {memory.trust}, source {memory.source}, {memory.at:%Y-%m-%d}"
    return f"- recalled #{memory.id} ({about}): {' '.join(memory.text.split())}"


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _json_lines(
    session: Session,
    turns: Sequence[Turn],
    messages: Mapping[TurnId, Sequence[StoredMessage]],
    events: Sequence[EventEnvelope],
    parts: Mapping[str, Sequence[Task] | Sequence[PinnedRule]],
    pictures: Mapping[str, bytes],
) -> str:
    """A session without loss: one object a line, each with its kind."""
    called = ids.shown(session.id)

    def objects() -> Iterator[dict[str, Any]]:
        origin = None if session.forked_from is None else ids.shown(session.forked_from)
        yield {"kind": "session", **asdict(session), "id": called, "forked_from": origin}
        for turn in turns:
            yield {"kind": "turn", **asdict(turn), "session_id": called}
            for message in messages.get(turn.id, ()):
                yield {
                    "kind": "message",
                    "turn_id": turn.id,
                    "step": message.step,
                    "message": json.loads(message.body),
                }
        for recorded in events:
            yield {"kind": "event", **recorded.wire()}
        for kind, listed in parts.items():
            yield from ({"kind": kind, **asdict(each), "session_id": called} for each in listed)
        for name, data in pictures.items():
            yield {"kind": "picture", "id": name, "data": base64.b64encode(data).decode()}

    return "".join(json.dumps(item, default=str, ensure_ascii=False) + "\n" for item in objects())


_NOTHING = UsageTotal(requests=0, input_tokens=0, output_tokens=0, cost=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was spent over some days."""

    since: datetime | None
    until: datetime
    total: UsageTotal
    models: Mapping[str, UsageTotal]
    days: Mapping[date, UsageTotal]
    """The latest first; days on which nothing was spent are not among them."""
    sessions: Mapping[SessionId, UsageTotal]
    titles: Mapping[SessionId, str]
    """Of the sessions that are still there."""


@dataclass(frozen=True, slots=True)
class UsageService:
    """Reads the books of one owner."""

    database: Database
    clock: Clock
    owner: str = MINE

    async def spent(self, wanted: DayRange, zone: tzinfo | None = None) -> Spending:
        """What was spent in a range of days, as they are counted in a time zone."""
        now = self.clock.now()
        since = ids.beginning(wanted, now, zone)

        def work(tx: Transaction) -> Spending:
            models = usage.shares(tx, self.owner, since, by="model")
            by_session = usage.shares(tx, self.owner, since, by="session")
            by_time = usage.shares(tx, self.owner, since, by="time")
            keys = [SessionId(share.key) for share in by_session]
            return Spending(
                since=since,
                until=now,
                total=_sum(share.total for share in models),
                models={share.key: share.total for share in models},
                days=_by_day(by_time, zone),
                sessions={SessionId(share.key): share.total for share in by_session},
                titles=sessions.titles(tx, keys, owner=self.owner),
            )

        return await self.database.read(work)


def _by_day(shares: Sequence[Share], zone: tzinfo | None) -> dict[date, UsageTotal]:
    found: dict[date, list[UsageTotal]] = {}
    for share in shares:
        found.setdefault(ids.day_of(moment(int(share.key)), zone), []).append(share.total)
    return {day: _sum(found[day]) for day in sorted(found, reverse=True)}


def _sum(totals: Iterable[UsageTotal]) -> UsageTotal:
    """The sum; its cost is that of the requests whose price is known."""
    every = [_NOTHING, *totals]
    costs = [total.cost for total in every if total.cost is not None]
    return UsageTotal(
        requests=sum(total.requests for total in every),
        input_tokens=sum(total.input_tokens for total in every),
        output_tokens=sum(total.output_tokens for total in every),
        cost=sum(costs, Decimal(0)) if costs else None,
    )
