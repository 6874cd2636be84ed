"""Turns: look, stop, retry, and hear what happened after a number."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from long_running_agents.app import App
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.errors import Busy
from long_running_agents.server import streaming
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Chatting, Reading
from long_running_agents.server.wire.turns import Standing, TurnShape

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


class TurnRoutes:
    """Turns of a session, and what happened in them."""

    def __init__(self, app: App) -> None:
        self._app = app

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(tags=["turns"], route_class=JsonRoute)
        session = "/api/sessions/{session_id}"
        router.get(f"{session}/turns")(self.every)
        router.get("/api/turns")(self.unfinished)
        router.get("/api/turns/{turn_id}")(self.one)
        router.post("/api/turns/{turn_id}/stop")(self.stop_one)
        router.post(f"{session}/stop")(self.stop)
        router.post(f"{session}/retry")(self.retry)
        router.get(f"{session}/events", response_model=EventList, responses=streaming.RESPONSES)(
            self.events
        )
        return router

    async def every(
        self,
        caller: Reading,
        session_id: str,
        limit: Limit = 100,
        offset: Annotated[int, Query(ge=0, le=_MOST)] = 0,
    ) -> TurnList:
        """List a session's turns."""
        sessions, key = self._app.sessions.of(caller.owner), SessionId(session_id)
        total = (await sessions.preview(key)).turns
        page = await sessions.turns(key, limit=limit, offset=offset)
        return TurnList(turns=[TurnShape.of(turn) for turn in page], total=total)

    async def unfinished(self, caller: Reading) -> TurnList:
        """List the turns of all sessions that run or are in line."""
        found = await self._app.turns.of(caller.owner).unfinished()
        return TurnList(turns=[TurnShape.of(turn) for turn in found], total=len(found))

    async def one(self, caller: Reading, turn_id: str, wait: Wait = 0) -> Standing:
        """Say where a turn stands, and what it asks."""
        turns, key = self._app.turns.of(caller.owner), TurnId(turn_id)
        if wait:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await turns.settled(key)
        return Standing.of(await turns.rest(key))

    async def stop(self, caller: Chatting, session_id: str) -> TurnShape:
        """Stop the turn that runs, waits or is next in line."""
        session = (await self._app.sessions.of(caller.owner).get(SessionId(session_id))).id
        stopped = await self._app.turns.of(caller.owner).stop(session)
        if stopped is None:
            raise Busy("Nothing is running.")
        return TurnShape.of(stopped)

    async def stop_one(self, caller: Chatting, turn_id: str) -> TurnShape:
        """Stop one turn, wherever in its session's line it is; one that has ended stays so."""
        return TurnShape.of(await self._app.turns.of(caller.owner).stop_turn(TurnId(turn_id)))

    async def retry(self, caller: Chatting, session_id: str) -> TurnShape:
        """Let the last turn go on from where it failed, was stopped or ran out."""
        session = (await self._app.sessions.of(caller.owner).get(SessionId(session_id))).id
        return TurnShape.of(await self._app.turns.of(caller.owner).retry(session))

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
        sessions = self._app.sessions.of(caller.owner)
        session = (await sessions.get(SessionId(session_id))).id
        if streaming.wants_stream(accept):
            begin = after if last_seen is None else last_seen
            turns = self._app.turns.of(caller.owner)
            return streaming.streamed(streaming.of_session(turns, session, begin))
        found = await sessions.events(session, after, limit=limit)
        last = found[-1].seq if found else after
        newest = await sessions.last_event(session)
        return EventList(
            events=[recorded.wire() for recorded in found],
            last_seq=last,
            newest_seq=newest,
            more=last < newest,
        )
