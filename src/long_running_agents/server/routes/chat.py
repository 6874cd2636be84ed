"""Chat and turns over HTTP: a message and its answer, at once or as a stream, and events."""

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Header, Path, Query
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field

from long_running_agents.agent.turns import TurnRest
from long_running_agents.domain.approval import Approval
from long_running_agents.domain.chain import Delegation
from long_running_agents.domain.events import TurnDone, TurnFailed, UsageTotals
from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.ids import session_id as accept_session
from long_running_agents.domain.session import Mode, SessionOrigin
from long_running_agents.domain.turn import Terms, Turn
from long_running_agents.errors import Busy, kind_of
from long_running_agents.server import http
from long_running_agents.server.auth import Chatting, Reading
from long_running_agents.server.errors import ErrorBody, response
from long_running_agents.server.http import Routes, attached, route
from long_running_agents.server.routes.approvals import Input, Offered
from long_running_agents.server.wire import (
    LONGEST,
    ShownSession,
    WireResponse,
    built,
    derived,
    example,
)


class PendingQuestion(
    derived(Approval, only=("id", "tool", "question", "expires_at"), renamed={"id": "approval_id"})
):
    """A question that a turn waits for."""

    input: Input
    scope: Offered


_WIRE_NAMES = {"id": "turn_id", "answer": "text"}
_ABOUT = ("number", "prompt", "error", "model", "created_at", "ended_at", "steer", "agent")


class _TurnState(derived(Turn, only=("id", "session_id", "answer"), renamed=_WIRE_NAMES)):
    """What every answer tells of a turn."""

    status: str
    mode: str
    iterations: Annotated[int, Field(validation_alias=AliasPath("spent", "steps"))]
    usage: Annotated[UsageTotals, BeforeValidator(UsageTotals.of), Field(validation_alias="spent")]


class TurnShape(derived(Turn, _TurnState, only=_ABOUT)):
    """A turn."""

    model_config = ConfigDict(title="Turn")

    origin: str
    tool_calls: Annotated[int, Field(validation_alias=AliasPath("spent", "tool_calls"))]


_EXAMPLE = """{"session_id": "my-session", "turn_id": "turn_01kag5v2m3x7q9f0t4bd",
  "status": "done", "text": "There are three files: …", "iterations": 2, "model": "openai:gpt-5",
  "usage": {"input_tokens": 812, "output_tokens": 64, "cost": 0.0021}, "mode": "bounded",
  "approvals": [], "not_seen": []}"""


class ChatResponse(_TurnState):
    """What came of a message."""

    model_config = example(_EXAMPLE)

    status: str
    """done, waiting (for an approval), stopped or limited."""
    model: str
    approvals: list[PendingQuestion]
    not_seen: list[str]
    """What the answer claims and no call of the session knows."""


class DelegationResponse(derived(Delegation)):
    """An agent that works for a turn, and its receipt once it has ended."""


class DelegateList(WireResponse):
    """The agents that work for a turn, in their order."""

    delegates: list[DelegationResponse]


class TurnResponse(TurnShape):
    """Where a turn stands, with everything that is known of it."""

    model_config = example(_EXAMPLE, title="TurnResponse")

    status: str
    """queued, running, waiting (for an approval), done, failed, stopped, limited or steered."""
    model: str
    approvals: list[PendingQuestion]
    not_seen: list[str]
    """What the answer claims and no call of the session knows."""


def _rest(rest: TurnRest) -> dict[str, object]:
    """What is known of a turn at rest beside the turn."""
    done = rest.closing if isinstance(rest.closing, TurnDone) else None
    return {
        "model": (rest.turn.model if done is None else done.model) or "",
        "approvals": rest.questions,
        "not_seen": [] if done is None else done.not_seen,
    }


Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]
Accept = Annotated[str | None, Header()]
Prefer = Annotated[
    str | None, Header(description="'respond-async' answers once the message is on disk.")
]
_AT_ONCE = "respond-async"
SessionName = Annotated[str, Path(description="The session; it begins with its first message.")]


class ChatBody(BaseModel):
    """One message."""

    model_config = example('{"message": "List the files in my workspace"}')

    message: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    mode: Mode | None = None
    """How far the turn may go on its own; as the session unless given."""
    model: Annotated[str, Field(max_length=200)] | None = None
    """Another model than the session's, for this message."""
    attended: bool = True
    """Whether somebody answers approvals; otherwise what needs one is refused."""
    origin: SessionOrigin = SessionOrigin.OWN
    """Through what the session came to be, if it begins with this message."""
    steer: bool = False
    """Give it to the turn that runs, at its next step; mode and model are that turn's, then."""
    agent: Annotated[str, Field(max_length=100)] | None = None
    """Who answers from now on: an agent such as coder or coder@2, "auto", "" for the home's own."""


class FailedTurn(ErrorBody):
    """A turn that could not go on; it can be retried."""

    session_id: ShownSession
    turn_id: str


class ChatRoutes(Routes, tag="chat"):
    """Say something, and hear what comes of it."""

    @route(
        "POST /api/chat/{session_id}",
        response_model=ChatResponse,
        responses={
            **http.RESPONSES,
            202: {"model": TurnShape, "description": "It is on disk and will be answered."},
            503: {"model": FailedTurn},
        },
    )
    async def chat(
        self,
        caller: Chatting,
        session_id: SessionName,
        asked: ChatBody,
        accept: Accept = None,
        key: Key = None,
        prefer: Prefer = None,
    ) -> ChatResponse | JSONResponse | StreamingResponse:
        """Say something and wait for the answer.

        With 'Accept: text/event-stream' everything that happens is streamed until the turn ends.
        With 'Prefer: respond-async' nothing is waited for, and the turn is told as it begins.
        So is a message that steers: the turn that runs answers it, or it is the next turn itself.
        The same request under the same Idempotency-Key is one turn, however often it is sent. A
        client that leaves loses nothing: the turn goes on.
        """
        session = caller.key(accept_session(session_id))
        turns = self._turns(caller)
        # A name may say where a conversation is sent.
        model = None if asked.model is None else await self._switching.nameable(asked.model)
        shown = await attached(self._app, caller.owner, asked.message)
        turn = await turns.start(
            session,
            asked.message,
            attended=asked.attended,
            model=model,
            terms=built(Terms, asked, key=key, pictures=shown),
        )
        if http.wants_stream(accept):
            return http.streamed(http.of_turn(turns, turn))
        if turn.steer or (prefer is not None and _AT_ONCE in prefer.lower()):
            return JSONResponse(TurnShape.of(turn).model_dump(mode="json"), HTTPStatus.ACCEPTED)
        await turns.settled(turn.id)
        rest = await turns.rest(turn.id)
        if isinstance(failed := rest.closing, TurnFailed):
            body = FailedTurn.of(failed, session_id=session, turn_id=turn.id)
            return response(kind_of(failed.code).http_status, body)
        return ChatResponse.of(rest.turn, **_rest(rest))


_MOST = 2**53

After = Annotated[int, Query(ge=0, le=_MOST, description="The last event that is known.")]
Wait = Annotated[
    float, Query(ge=0, le=60, description="Seconds to wait for it to end, or to ask something.")
]
Limit = Annotated[int, Query(ge=1, le=1000)]
LastSeen = Annotated[int | None, Header(alias="Last-Event-ID", ge=0, le=_MOST)]


class TurnList(BaseModel):
    """A session's turns, in order."""

    turns: list[TurnShape]
    total: int


class EventList(BaseModel):
    """A session's events after a number, in order."""

    events: list[dict[str, Any]]
    """As in docs/events.md, each with seq, session_id, turn_id and at."""
    last_seq: int
    """Ask for what comes after this next."""
    newest_seq: int
    """The number of the newest event there is."""
    more: bool
    """Whether there is more already."""


class TurnRoutes(Routes, tag="turns"):
    """Turns of a session, and what happened in them."""

    @route("GET /api/sessions/{session_id}/turns")
    async def every(
        self,
        caller: Reading,
        session_id: str,
        limit: Limit = 100,
        offset: Annotated[int, Query(ge=0, le=_MOST)] = 0,
    ) -> TurnList:
        """List a session's turns."""
        sessions, key = self._sessions(caller), caller.key(session_id)
        total = (await sessions.preview(key)).turns
        page = await sessions.turns(key, limit=limit, offset=offset)
        return TurnList(turns=[TurnShape.of(turn) for turn in page], total=total)

    @route("GET /api/turns")
    async def unfinished(self, caller: Reading) -> TurnList:
        """List the turns of all sessions that run or are in line."""
        found = await self._turns(caller).unfinished()
        return TurnList(turns=[TurnShape.of(turn) for turn in found], total=len(found))

    @route("GET /api/turns/{turn_id}")
    async def one(self, caller: Reading, turn_id: str, wait: Wait = 0) -> TurnResponse:
        """Say where a turn stands, and what it asks."""
        turns, key = self._turns(caller), TurnId(turn_id)
        if wait:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await turns.settled(key)
        rest = await turns.rest(key)
        return TurnResponse.of(rest.turn, **_rest(rest))

    @route("GET /api/turns/{turn_id}/delegates")
    async def delegates(self, caller: Reading, turn_id: str) -> DelegateList:
        """List the agents that work for a turn, and what came of them."""
        found = await self._turns(caller).delegates(TurnId(turn_id))
        return DelegateList(delegates=[DelegationResponse.of(each) for each in found])

    @route("POST /api/turns/{turn_id}/stop")
    async def stop_one(self, caller: Chatting, turn_id: str) -> TurnShape:
        """Stop one turn, wherever in its session's line it is; one that has ended stays so."""
        return TurnShape.of(await self._turns(caller).stop_turn(TurnId(turn_id)))

    @route("POST /api/sessions/{session_id}/stop")
    async def stop(self, caller: Chatting, session_id: str) -> TurnShape:
        """Stop the turn that runs, waits or is next in line."""
        session = (await self._sessions(caller).get(caller.key(session_id))).id
        stopped = await self._turns(caller).stop(session)
        if stopped is None:
            raise Busy("Nothing is running.")
        return TurnShape.of(stopped)

    @route("POST /api/sessions/{session_id}/retry")
    async def retry(self, caller: Chatting, session_id: str) -> TurnShape:
        """Let the last turn go on from where it failed, was stopped or ran out."""
        session = (await self._sessions(caller).get(caller.key(session_id))).id
        return TurnShape.of(await self._turns(caller).retry(session))

    @route(
        "GET /api/sessions/{session_id}/events", response_model=EventList, responses=http.RESPONSES
    )
    async def events(
        self,
        caller: Reading,
        session_id: str,
        after: After = 0,
        limit: Limit = 500,
        accept: Annotated[str | None, Header()] = None,
        last_seen: LastSeen = None,
    ) -> EventList | StreamingResponse:
        """Hear what happened after a number.

        With 'Accept: text/event-stream' what happens next is streamed, too; a client that
        reconnects with Last-Event-ID goes on where it was.
        """
        sessions = self._sessions(caller)
        session = (await sessions.get(caller.key(session_id))).id
        if http.wants_stream(accept):
            begin = after if last_seen is None else last_seen
            turns = self._turns(caller)
            return http.streamed(http.of_session(turns, session, begin))
        found = await sessions.events(session, after, limit=limit)
        last = found[-1].seq if found else after
        newest = await sessions.last_event(session)
        return EventList(
            events=[recorded.wire() for recorded in found],
            last_seq=last,
            newest_seq=newest,
            more=last < newest,
        )
