"""Talking over HTTP: one message, and its answer at once or as a stream."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Path
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from long_running_agents.app import App
from long_running_agents.domain.events import TurnFailed
from long_running_agents.domain.ids import session_id as accept_session
from long_running_agents.domain.session import Mode
from long_running_agents.domain.turn import Terms
from long_running_agents.errors import kind_of
from long_running_agents.server import streaming
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Chatting
from long_running_agents.server.failures import ErrorBody, response
from long_running_agents.server.switching import Switching
from long_running_agents.server.wire.incoming import LONGEST
from long_running_agents.server.wire.turns import Answer, TurnShape

Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]
Accept = Annotated[str | None, Header()]
Prefer = Annotated[
    str | None, Header(description="'respond-async' answers once the message is on disk.")
]
_AT_ONCE = "respond-async"
SessionName = Annotated[str, Path(description="The session; it begins with its first message.")]


class ChatRequest(BaseModel):
    """One message."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"message": "List the files in my workspace"}}
    )

    message: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    mode: Mode | None = None
    """How far the turn may go on its own; as the session unless given."""
    model: Annotated[str, Field(max_length=200)] | None = None
    """Another model than the session's, for this message."""
    attended: bool = True
    """Whether somebody answers approvals; otherwise what needs one is refused."""


class FailedTurn(ErrorBody):
    """A turn that could not go on; it can be retried."""

    session_id: str
    turn_id: str


class ChatRoutes:
    """Say something, and hear what comes of it."""

    def __init__(self, app: App, switching: Switching) -> None:
        self._app = app
        self._switching = switching

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(tags=["chat"], route_class=JsonRoute)
        router.post(
            "/api/chat/{session_id}",
            response_model=Answer,
            responses={
                **streaming.RESPONSES,
                202: {"model": TurnShape, "description": "It is on disk and will be answered."},
                503: {"model": FailedTurn},
            },
        )(self.chat)
        return router

    async def chat(
        self,
        caller: Chatting,
        session_id: SessionName,
        asked: ChatRequest,
        accept: Accept = None,
        key: Key = None,
        prefer: Prefer = None,
    ) -> Answer | JSONResponse | StreamingResponse:
        """Say something and wait for the answer.

        With 'Accept: text/event-stream' everything that happens is streamed until the turn ends.
        With 'Prefer: respond-async' nothing is waited for, and the turn is told as it begins.
        The same request under the same Idempotency-Key is one turn, however often it is sent. A
        client that leaves loses nothing: the turn goes on.
        """
        session = accept_session(session_id)
        turns = self._app.turns.of(caller.owner)
        # A name may say where a conversation is sent.
        model = None if asked.model is None else await self._switching.nameable(asked.model)
        turn = await turns.start(
            session,
            asked.message,
            attended=asked.attended,
            model=model,
            terms=Terms(mode=asked.mode, key=key),
        )
        if streaming.wants_stream(accept):
            return streaming.streamed(streaming.of_turn(turns, turn))
        if prefer is not None and _AT_ONCE in prefer.lower():
            return JSONResponse(TurnShape.of(turn).model_dump(mode="json"), HTTPStatus.ACCEPTED)
        await turns.settled(turn.id)
        rest = await turns.rest(turn.id)
        if isinstance(rest.closing, TurnFailed):
            failed = rest.closing
            body = FailedTurn(
                code=failed.code,
                message=failed.message,
                hint=failed.hint,
                session_id=session,
                turn_id=turn.id,
            )
            return response(kind_of(failed.code).http_status, body)
        return Answer.of(rest)
