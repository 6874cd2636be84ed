"""WebSockets: the frames that clients send, and one reader and one writer for each connection."""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from long_running_agents.agent.hub import PAGE
from long_running_agents.agent.turns import TurnService
from long_running_agents.app import App
from long_running_agents.domain import text
from long_running_agents.domain.approval import GrantDuration
from long_running_agents.domain.auth import Caller, TokenScope
from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.ids import ApprovalId, SessionId
from long_running_agents.domain.ids import session_id as accept_session
from long_running_agents.domain.session import Mode
from long_running_agents.domain.turn import Terms
from long_running_agents.errors import Busy, LraError, NotFound, UsageError
from long_running_agents.server.auth import caller_of, check
from long_running_agents.server.errors import wrong_fields
from long_running_agents.server.http import aside_json, attached, error_json, event_json
from long_running_agents.server.models import ModelSwitch
from long_running_agents.server.wire import LONGEST

_MOST_REPLIES = 1000
"""Replies that may wait for a client that asks much and reads nothing."""

After = Annotated[int | None, Query(ge=0, le=2**53)]
REFUSED, TOO_MUCH = 4403, 1008
"""Why a socket is closed; one that was never opened shows its client the status of a response."""
_LEFT = (WebSocketDisconnect, WebSocketDisconnected)
"""How it is told that a client has left, to whoever reads and to whoever writes."""


_Name = Annotated[str, Field(max_length=200)]


class _Frame(BaseModel):
    # Strict: "1" is no number and 1 is no yes. Fields of newer clients are let pass.
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class SendMessage(_Frame):
    """Say something; it queues while a turn runs."""

    type: Literal["message"] = "message"
    content: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    mode: Annotated[Mode | None, Field(strict=False)] = None
    model: _Name | None = None
    key: _Name | None = None
    """What names the message: the same sent twice under the same key is one turn."""
    steer: bool = False
    """Whether it is for the turn that runs, at its next step, instead of queueing behind it."""
    agent: Annotated[str, Field(max_length=100)] | None = None
    """Who answers from now on: an agent such as coder or coder@2, "auto", "" for the home's own."""


class SetMode(_Frame):
    """Let the session go farther on its own, or less far."""

    type: Literal["set_mode"] = "set_mode"
    mode: Annotated[Mode, Field(strict=False)]


class PlainFrame(_Frame):
    """What takes no more than a word.

    clear lets the model begin anew, ping asks whether anybody is there, stop stops the turn that
    runs, and retry lets the last turn go on from where it failed, was stopped or ran out.
    """

    type: Literal["clear", "ping", "stop", "retry"]


class ApprovalResponse(_Frame):
    """Answer a question."""

    type: Literal["approval_response"] = "approval_response"
    approval_id: _Name
    allowed: Annotated[bool, Field(validation_alias=AliasChoices("allowed", "approved"))]
    reason: Annotated[str, Field(max_length=2_000)] = ""
    lasting: Annotated[GrantDuration, Field(strict=False)] = GrantDuration.ONCE


class PlanAnswer(_Frame):
    """Let a plan be carried out, or ask for another."""

    type: Literal["approve_plan", "revise_plan"]
    feedback: Annotated[str, Field(max_length=LONGEST)] = ""


class Resume(_Frame):
    """Tell which event was heard last, to hear what was missed since."""

    type: Literal["resume"] = "resume"
    after: Annotated[int, Field(ge=0, le=2**53)]


Incoming = Annotated[
    SendMessage | SetMode | PlainFrame | ApprovalResponse | PlanAnswer | Resume,
    Field(discriminator="type"),
]

_INCOMING: TypeAdapter[Incoming] = TypeAdapter(Incoming)


def read_frame(message: str) -> Incoming:
    """What a client says."""
    try:
        return _INCOMING.validate_python(text.parse(message))
    except ValidationError as error:
        wrong = wrong_fields(error.errors(include_input=False, include_url=False))[0]
        raise UsageError(
            f"{wrong.field}: {wrong.message}.", hint="docs/websocket.md lists what can be said."
        ) from None


class Sockets:
    """The WebSockets of an open home."""

    def __init__(self, app: App, switching: ModelSwitch) -> None:
        self._app = app
        self._switching = switching

    def router(self) -> APIRouter:
        """Where clients connect; the fixed name first, or it would be taken for a session's."""
        router = APIRouter()
        router.websocket("/ws/activity")(self.activity)
        router.websocket("/ws/{session_id}")(self.session)
        return router

    async def session(self, socket: WebSocket, session_id: str, after: After = None) -> None:
        """Hear a session, and talk in it."""
        try:
            caller = check(caller_of(socket), TokenScope.READ)
            key, known = caller.key(accept_session(session_id)), 0
            # One that has not begun is like another's.
            with suppress(NotFound):
                known = await self._app.sessions.of(caller.owner).last_event(key)
        except LraError as error:
            await socket.close(REFUSED, error.message)
            return
        await socket.accept()
        begin = known if after is None else after
        await SessionSocket(socket, self._app, self._switching, caller, key, begin).run()

    async def activity(self, socket: WebSocket) -> None:
        """Hear all sessions."""
        try:
            caller = check(caller_of(socket), TokenScope.READ)
        except LraError as error:
            await socket.close(REFUSED, error.message)
            return
        await socket.accept()
        await ActivitySocket(socket, self._app.turns.of(caller.owner)).run()


class SocketPipe(ABC):
    """One reader and one writer: whoever has something to say leaves it for the writer."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._replies: deque[str] = deque()
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Read and write until the client leaves."""
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
        for outcome in done:
            if isinstance(outcome, Exception) and not isinstance(outcome, _LEFT):
                raise outcome
        if len(self._replies) >= _MOST_REPLIES:
            await self._socket.close(TOO_MUCH, "too many replies wait to be read")

    def reply(self, text: str) -> None:
        """Say something to this client only."""
        self._replies.append(text)
        self._news.set()

    @abstractmethod
    async def understood(self, text: str) -> None:
        """Do what a client asks for."""

    @abstractmethod
    async def next(self) -> str | None:
        """What else there is to write; None when there is nothing right now."""

    async def _read(self) -> None:
        while len(self._replies) < _MOST_REPLIES:
            received = await self._socket.receive()
            if received["type"] == "websocket.disconnect":
                return
            text = received.get("text")
            if text is None:
                self.reply(error_json(UsageError("Binary frames mean nothing here.")))
                continue
            try:
                await self.understood(text)
            except LraError as error:
                self.reply(error_json(error))

    async def _write(self) -> None:
        while True:
            self._news.clear()
            while self._replies:
                await self._socket.send_text(self._replies.popleft())
            if (text := await self.next()) is not None:
                self._news.set()
                await self._socket.send_text(text)
            else:
                await self._news.wait()


class SessionSocket(SocketPipe):
    """A window on one session."""

    def __init__(
        self,
        socket: WebSocket,
        app: App,
        switching: ModelSwitch,
        caller: Caller,
        session_id: SessionId,
        after: int,
    ) -> None:
        super().__init__(socket)
        self._app = app
        self._switching = switching
        self._caller = caller
        self._session_id = session_id
        self._turns = app.turns.of(caller.owner)
        self._sessions = app.sessions.of(caller.owner)
        self._floor = after
        """The listener hears everything after this number."""
        self._missed: deque[EventEnvelope] = deque()
        self._missed_after = self._upto = after
        """What is between these numbers was missed, and is sent first."""
        self._listener = self._turns.listen(session_id, after, self._news)
        self.reply(aside_json("connected", session_id, last_seq=after))

    async def next(self) -> str | None:
        """The next event or delta."""
        heard = await self._next_missed() or await self._listener.taken()
        return None if heard is None else event_json(heard)

    async def understood(self, text: str) -> None:
        """Do what a client asks for."""
        asked = read_frame(text)
        if asked.type not in ("ping", "resume"):
            approves = isinstance(asked, ApprovalResponse | PlanAnswer)
            check(self._caller, TokenScope.APPROVE if approves else TokenScope.CHAT)
        await self._do(asked)

    async def _do(self, asked: Incoming) -> None:  # noqa: C901 - a case for each thing to say
        key = self._session_id
        match asked:
            case SendMessage():
                await self._start(asked)
            case PlainFrame(type="stop"):
                if await self._turns.stop(key) is None:
                    raise Busy("Nothing is running.")
            case ApprovalResponse():
                await self._turns.answer(
                    ApprovalId(asked.approval_id),
                    allowed=asked.allowed,
                    reason=asked.reason,
                    lasting=asked.lasting,
                )
            case Resume(after=after):
                # What was missed before this window began to listen, each event once.
                if after < self._floor:
                    self._missed_after, self._upto, self._floor = after, self._floor, after
                    self._news.set()
            case SetMode():
                await self._sessions.ensure(key)
                await self._sessions.set_mode(key, asked.mode)
            case PlainFrame(type="clear"):
                await self._sessions.ensure(key)
                await self._sessions.clear(key)
            case PlainFrame(type="retry"):
                await self._turns.retry(key)
            case PlanAnswer():
                await self._answer_plan(asked)
            case PlainFrame():
                self.reply(aside_json("pong"))

    async def _answer_plan(self, asked: PlanAnswer) -> None:
        works = self._app.works.of(self._caller.owner)
        waiting = await works.every(ended=False, limit=1, session_id=self._session_id)
        if not waiting:
            raise Busy("No plan waits for an answer.")
        if asked.type == "approve_plan":
            await works.approve(waiting[0].id)
        else:
            await works.revise(waiting[0].id, asked.feedback)

    async def _start(self, asked: SendMessage) -> None:
        # A name may say where a conversation is sent.
        model = None if asked.model is None else await self._switching.nameable(asked.model)
        shown = await attached(self._app, self._caller.owner, asked.content)
        terms = Terms(
            mode=asked.mode,
            key=asked.key,
            pictures=shown,
            steer=asked.steer,
            agent=asked.agent,
        )
        await self._turns.start(self._session_id, asked.content, model=model, terms=terms)

    async def _next_missed(self) -> EventEnvelope | None:
        if not self._missed and self._missed_after < self._upto:
            limit = min(PAGE, self._upto - self._missed_after)
            page = await self._sessions.events(self._session_id, self._missed_after, limit=limit)
            self._missed.extend(page)
            self._missed_after = page[-1].seq if page else self._upto
        return self._missed.popleft() if self._missed else None


class ActivitySocket(SocketPipe):
    """A window on everything that an owner's sessions do."""

    def __init__(self, socket: WebSocket, turns: TurnService) -> None:
        super().__init__(socket)
        self._overhearer = turns.overhear(self._news)

    async def next(self) -> str | None:
        """The next event of any session."""
        heard = self._overhearer.taken()
        if isinstance(heard, int):
            return aside_json("catch_up", lost=heard)
        return None if heard is None else event_json(heard)

    async def understood(self, text: str) -> None:
        """Answer a ping; there is nothing else to ask for."""
        if read_frame(text).type != "ping":
            raise UsageError("Here one can only listen.", hint="Talk at /ws/{session_id}.")
        self.reply(aside_json("pong"))
