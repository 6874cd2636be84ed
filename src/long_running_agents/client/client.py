"""A running server, for programs (`async with Client.at(url) as client`): turns and sessions."""

import json
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import quote

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from long_running_agents.api import (
    AgentApi,
    BudgetApi,
    JobApi,
    LearnedApi,
    RuleApi,
    SessionApi,
    TurnApi,
    WorkApi,
)
from long_running_agents.client import nouns
from long_running_agents.client.link import PATIENCE, Address, Find, Link
from long_running_agents.client.nouns import Heard, MemoryClient, NounClient, SkillClient
from long_running_agents.clock import SystemClock
from long_running_agents.domain.approval import Approval
from long_running_agents.domain.compaction import ContextProbe, Fold
from long_running_agents.domain.events import (
    DeltaEnvelope,
    EventEnvelope,
    FellBehind,
    ToolCalled,
    ToolReturned,
)
from long_running_agents.domain.ids import GrantId, SessionId, TurnId
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE, Session, SessionOrigin
from long_running_agents.domain.tool import CallState, Effect, ToolCallRecord
from long_running_agents.domain.turn import Terms, Turn
from long_running_agents.errors import Busy, Denied, NotFound, ServerAway, Unauthorized

_WAIT = 25
"""Seconds after which it is asked again whether a turn has settled."""
_SOCKET_CODES = 4000
_USUAL = Terms()
_REFUSALS = 20
"""How often in a row a server that answers may close a socket before anything was heard."""


_SUMMED_UP = 600.0
"""Seconds in which a model sums a session up, or answers all questions about it."""


class TurnClient(NounClient, TurnApi):
    """Start, stop, answer, retry and hear turns, as the server's own service does."""

    async def start(
        self,
        session_id: SessionId,
        text: str,
        *,
        attended: bool = True,
        model: str | None = None,
        terms: Terms = _USUAL,
    ) -> Turn:
        """Say something. When this returns, it is on the server's disk and will be answered.

        A server that is away is waited for; the message is one turn, however often it was sent.
        """
        reply = await self.link.insist(
            "POST",
            f"/api/chat/{quote(session_id)}",
            body={
                "message": text,
                "attended": attended,
                "model": model,
                "origin": terms.origin,
                "steer": terms.steer,
                "agent": terms.agent,
            },
            headers={"Idempotency-Key": secrets.token_urlsafe(18), "Prefer": "respond-async"},
        )
        return self.read(Turn, reply.body)

    async def stop(self, session_id: SessionId) -> Turn | None:
        """Stop the turn that runs or waits in a session; None when there is none."""
        try:
            return await self.one(Turn, "POST", f"{_path(session_id)}/stop")
        except Busy:
            return None

    async def get(self, turn_id: TurnId, *, wait: int = 0) -> Turn:
        """Look a turn up, once it has settled or so many seconds have passed."""
        path = f"/api/turns/{quote(turn_id)}"
        return self.read(Turn, (await self.link.insist("GET", path, query={"wait": wait})).body)

    async def settled(self, turn_id: TurnId) -> Turn:
        """Wait until a turn has ended or waits for an answer, also while the server is away."""
        while not (turn := await self.get(turn_id, wait=_WAIT)).status.settled:
            pass
        return turn

    async def open_questions(self, session_id: SessionId | None = None) -> Sequence[Approval]:
        """Questions that wait for an answer."""
        query = {} if session_id is None else {"session_id": session_id}
        try:
            reply = await self.link.insist("GET", "/api/approvals", query=query)
        except NotFound:
            # A session in which nothing was said yet asks nothing.
            return []
        return [self.read(Approval, told) for told in reply.body["approvals"]]

    async def listen(self, session_id: SessionId, after: int = 0) -> AsyncGenerator[Heard]:
        """Hear a session's events after a number, each once, then everything that happens.

        When the server goes away, it is waited for, and what was missed is heard.
        """
        last, current, refused = after, None, 0
        while refused < _REFUSALS:
            if current is not None:
                # The words of the step under way are told again from their beginning.
                yield self._fell_behind(session_id, current)
            refused += 1
            async for heard in self._socket(session_id, last):
                refused = 0
                if heard is None or (isinstance(heard, EventEnvelope) and heard.seq <= last):
                    continue
                if isinstance(heard, EventEnvelope):
                    last = heard.seq
                current = heard.turn_id
                yield heard
            self.link.lost()
            await self.link.back(rested=refused)
        raise ServerAway("The server refuses WebSocket connections.", hint="Try again later.")

    async def _socket(self, session_id: SessionId, after: int) -> AsyncGenerator[Heard | None]:
        """What is heard at one WebSocket, until it closes; None for what is said to it alone."""
        try:
            async with self.link.socket(f"/ws/{quote(session_id)}?after={after}") as socket:
                async for text in socket:
                    yield nouns.heard(text, self.owner)
        except InvalidStatus as error:
            _check(error.response.status_code)
        except ConnectionClosed as error:
            _check(0 if error.rcvd is None else error.rcvd.code)
        except (OSError, InvalidHandshake, ServerAway):
            # Nobody is there.
            return

    def _fell_behind(self, session_id: SessionId, turn_id: TurnId) -> DeltaEnvelope:
        return DeltaEnvelope(
            session_id=session_id, turn_id=turn_id, owner=self.owner, delta=FellBehind()
        )


def _check(code: int) -> None:
    """Raise what a server would refuse the next time, too, by its status or closing code."""
    match code % _SOCKET_CODES:
        case HTTPStatus.UNAUTHORIZED:
            raise Unauthorized("The server rejected this token.", hint="It may be revoked.")
        case HTTPStatus.FORBIDDEN | HTTPStatus.NOT_FOUND:
            raise Denied("The server refused access to this session.", hint="Is the session yours?")
        case _:
            return


_PAGE = 1000
_LOOKED_THROUGH = 1000
"""Events in which it is looked for calls that were cut off."""


class SessionClient(NounClient, SessionApi):
    """Look after sessions, as the server's own service does."""

    async def find(self, session_id: SessionId) -> Session | None:
        """Look a session up; None when nothing was said in it yet."""
        try:
            return await self.get(session_id)
        except NotFound:
            return None

    async def newest(self) -> Session | None:
        """The session something was said in last."""
        found = await self.previews(limit=1, origin=SessionOrigin.OWN)
        return found[0].session if found else None

    async def turns(self, session_id: SessionId) -> Sequence[Turn]:
        """A session's turns, in order."""
        return await self.pages(Turn, "turns", f"{_path(session_id)}/turns")

    async def events(
        self, session_id: SessionId, after: int = 0, *, limit: int = _PAGE
    ) -> Sequence[EventEnvelope]:
        """A session's events after a number."""
        reply = await self.link.ask(
            "GET", f"{_path(session_id)}/events", query={"after": after, "limit": limit}
        )
        return [nouns.recorded(told, self.owner) for told in reply.body["events"]]

    async def last_event(self, session_id: SessionId) -> int:
        """The number of a session's newest event; 0 for none."""
        try:
            # A message begins with it, and is itself sent until the server is there.
            reply = await self.link.insist("GET", f"{_path(session_id)}/events", query={"limit": 1})
        except NotFound:
            return 0
        return int(reply.body["newest_seq"])

    async def before(self, session_id: SessionId, turn_id: TurnId, newest: int) -> int:
        """The number of the last event before a turn's own, in a session with so many events."""
        after = newest
        while after > 0:
            after = max(0, after - _PAGE)
            page = await self.events(session_id, after)
            own = [each.seq for each in page if each.turn_id == turn_id]
            # One that begins its page may have begun on the page before.
            if own and own[0] > after + 1:
                return own[0] - 1
        return 0

    async def uncertain(self, session_id: SessionId) -> Sequence[ToolCallRecord]:
        """Calls that were cut off lately, and whose effect nobody knows."""
        newest = await self.last_event(session_id)
        found = await self.events(session_id, max(0, newest - _LOOKED_THROUGH))
        called = {
            each.event.tool_call_id: each.event
            for each in found
            if isinstance(each.event, ToolCalled)
        }
        return [
            _record(each, each.event, called.get(each.event.tool_call_id))
            for each in found
            if isinstance(each.event, ToolReturned) and each.event.outcome == "uncertain"
        ]

    async def context(self, session_id: SessionId) -> Mapping[str, Any]:
        """The next request of a session: model, window, total, shares."""
        return (await self.link.ask("GET", f"{_path(session_id)}/context")).body

    async def check(self, session_id: SessionId) -> Sequence[ContextProbe]:
        """Ask the model what rows can tell, with no more than its next request would show."""
        path = f"{_path(session_id)}/context/check"
        told = (await self.link.ask("POST", path, seconds=_SUMMED_UP)).body["probes"]
        return [self.read(ContextProbe, each) for each in told]

    async def compact(self, session_id: SessionId) -> Fold:
        """Let a summary, or a line for each turn, stand for all turns but the last one."""
        return await self.one(Fold, "POST", f"{_path(session_id)}/compact", seconds=_SUMMED_UP)

    async def take_over(self, text: str) -> Session:
        """Make a session of what an export in JSON lines says."""
        lines = {"Content-Type": "application/x-ndjson"}
        return await self.one(Session, "POST", "/api/sessions/import", text=text, headers=lines)

    async def export(self, session_id: SessionId, form: Literal["md", "jsonl"]) -> str:
        """Write a session out as text."""
        reply = await self.link.ask("GET", f"{_path(session_id)}/export", query={"format": form})
        return reply.text


class RuleClient(NounClient, RuleApi):
    """Pin, accept, dismiss, lift and enforce rules, as the server's own service does."""


class WorkClient(NounClient, WorkApi):
    """Begin, approve, pause and resume works, as the server's own service does."""


class BudgetClient(NounClient, BudgetApi):
    """Show and raise budgets, as the server's own service does."""


class AgentClient(NounClient, AgentApi):
    """Make, publish, route, import and export agents, as the server's own service does."""


class JobClient(NounClient, JobApi):
    """Add, edit, run, pause and resume jobs, as the server's own service does."""


class LearnedClient(NounClient, LearnedApi):
    """Show what was learned, reflect and curate, as the server's own service does."""


def _path(session_id: SessionId) -> str:
    return f"/api/sessions/{quote(session_id)}"


def _record(
    heard: EventEnvelope, returned: ToolReturned, called: ToolCalled | None
) -> ToolCallRecord:
    return ToolCallRecord(
        turn_id=heard.turn_id or TurnId(""),
        session_id=heard.session_id,
        call_id=returned.tool_call_id,
        step=0,
        position=0,
        tool=returned.tool,
        args="" if called is None else json.dumps(called.input, ensure_ascii=False),
        effect=Effect.ONCE,
        state=CallState.UNCERTAIN,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What a server is."""

    version: str
    agent: str
    model: str
    """The model that answers where a session has not chosen its own; empty for none."""


class Client:
    """Everything that a server does for somebody, by noun."""

    def __init__(self, link: Link, owner: str = MINE) -> None:
        self.link = link
        self.turns = TurnClient.at(link, owner)
        self.sessions = SessionClient.at(link, owner)
        self.rules = RuleClient.at(link, owner)
        self.budgets = BudgetClient.at(link, owner)
        self.works = WorkClient.at(link, owner)
        self.agents = AgentClient.at(link, owner)
        self.jobs = JobClient.at(link, owner)
        self.learned = LearnedClient.at(link, owner)
        self.memories = MemoryClient.at(link, owner)
        self.skills = SkillClient.at(link, owner)

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str, token: str = "") -> "AsyncGenerator[Client]":
        """A client of a server such as http://127.0.0.1:8000, while inside."""
        address = Address(url.rstrip("/"), token)
        async with cls.found(lambda: address, SystemClock()) as client:
            yield client

    @classmethod
    @asynccontextmanager
    async def found(
        cls, find: Find, clock: Clock, *, owner: str = MINE, patience: float = PATIENCE
    ) -> "AsyncGenerator[Client]":
        """A client of a server that may be somewhere else the next time, while inside."""
        link = Link(find, clock, patience=patience)
        try:
            yield cls(link, owner)
        finally:
            await link.close()

    async def status(self) -> ServerStatus:
        """Say what the server is."""
        return nouns.read(ServerStatus, (await self.link.ask("GET", "/api/status")).body)

    async def models(self) -> Sequence[str]:
        """The names of the models that can be asked there."""
        told = (await self.link.ask("GET", "/api/models")).body
        return [each["name"] for each in told["models"] if each["installed"]]

    async def tools(self) -> Sequence[str]:
        """The names of the tools that may be called there."""
        told = (await self.link.ask("GET", "/api/tools")).body
        return [each["name"] for each in told["tools"] if each["enabled"]]

    async def choose_model(self, name: str) -> str:
        """Have the server ask another model where none was chosen; say what one should know."""
        reply = await self.link.ask("POST", "/api/models/select", body={"model_id": name})
        return str(reply.body["note"])

    async def revoke(self, grant_id: GrantId) -> str:
        """Take a grant back, and say what it was for."""
        reply = await self.link.ask("DELETE", f"/api/grants/{quote(grant_id)}")
        return str(reply.body["scope"])
