"""Sessions: begin, list, read, rename, copy, take out and in, delete."""

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Query, Request, Response

from long_running_agents.agent import importing, saying
from long_running_agents.app import App
from long_running_agents.domain.ids import SessionId
from long_running_agents.errors import UsageError
from long_running_agents.server import bodies
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Chatting, Reading
from long_running_agents.server.parameters import After, Limit, Offset, Search, SessionKey
from long_running_agents.server.switching import Switching
from long_running_agents.server.wire.context import ContextTold
from long_running_agents.server.wire.sessions import (
    Fork,
    History,
    MessageTold,
    NewSession,
    SessionChange,
    SessionList,
    SessionTold,
)

_LONGEST_PROMPT = 2_000
"""Characters; addresses that are much longer are not read."""
_LINES = "application/x-ndjson"
_FORMS = {"md": "text/markdown; charset=utf-8", "jsonl": f"{_LINES}; charset=utf-8"}


class SessionRoutes:
    """What can be done with sessions, without asking a model."""

    def __init__(self, app: App, switching: Switching) -> None:
        self._app = app
        self._switching = switching

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api/sessions", tags=["sessions"], route_class=JsonRoute)
        router.get("")(self.list_all)
        router.post("", status_code=201)(self.create)
        lines = {"content": {_LINES: {"schema": {"type": "string"}}}, "required": True}
        router.post("/import", status_code=201, openapi_extra={"requestBody": lines})(
            self.take_over
        )
        router.get("/{session_id}")(self.get)
        router.patch("/{session_id}")(self.change)
        router.delete("/{session_id}", status_code=204)(self.delete)
        router.get("/{session_id}/history")(self.history)
        router.get("/{session_id}/context")(self.context)
        router.post("/{session_id}/fork", status_code=201)(self.fork)
        router.post("/{session_id}/clear")(self.clear)
        text = {"schema": {"type": "string"}}
        router.get(
            "/{session_id}/export",
            response_class=Response,
            responses={200: {"content": {"text/markdown": text, _LINES: text}}},
        )(self.export)
        return router

    async def list_all(
        self, caller: Reading, q: Search = "", limit: Limit = 50, offset: Offset = 0
    ) -> SessionList:
        """List sessions, the latest first."""
        service = self._app.sessions.of(caller.owner)
        found = await service.previews(limit=limit, offset=offset, search=q)
        total = await service.count(q)
        end = offset + len(found)
        return SessionList(
            sessions=[SessionTold.of(each) for each in found],
            total=total,
            next=end if found and end < total else None,
        )

    async def create(self, caller: Chatting, new: NewSession) -> SessionTold:
        """Begin an empty session."""
        model = None if new.model is None else await self._switching.nameable(new.model)
        session = await self._app.sessions.of(caller.owner).create(
            session_id=new.id, title=new.title, model=model, mode=new.mode
        )
        return SessionTold.new(session)

    async def get(self, caller: Reading, session_id: SessionKey) -> SessionTold:
        """Look at one session."""
        return await self._told(caller.owner, session_id)

    async def change(
        self, caller: Chatting, session_id: SessionKey, change: SessionChange
    ) -> SessionTold:
        """Rename a session, or choose its mode or model."""
        service = self._app.sessions.of(caller.owner)
        await service.get(session_id)
        model = None if change.model is None else await self._switching.nameable(change.model)
        if change.title is not None:
            await service.rename(session_id, change.title)
        if change.mode is not None:
            await service.set_mode(session_id, change.mode)
        if model is not None:
            await service.choose_model(session_id, model)
        return await self._told(caller.owner, session_id)

    async def delete(self, caller: Chatting, session_id: SessionKey) -> None:
        """Delete a session with everything in it."""
        await self._app.sessions.of(caller.owner).delete(session_id)

    async def history(
        self, caller: Reading, session_id: SessionKey, after: After = 0, limit: Limit = 200
    ) -> History:
        """Read what was said in a session, in order."""
        service = self._app.sessions.of(caller.owner)
        # One more than is told, to know whether there is one.
        logged = await service.log(session_id, after=after, limit=limit + 1)
        shown = logged[:limit]
        return History(
            session_id=session_id,
            messages=[MessageTold.of(each) for each in saying.said(shown)],
            next=shown[-1].seq if len(logged) > limit else None,
        )

    async def context(
        self,
        caller: Reading,
        session_id: SessionKey,
        prompt: Annotated[
            str | None,
            Query(max_length=_LONGEST_PROMPT, description="What would be said next."),
        ] = None,
    ) -> ContextTold:
        """Show the next request as it would be made; no model is asked, and nothing is stored."""
        contexts = self._app.contexts.of(caller.owner)
        return ContextTold.of(await contexts.next(session_id, prompt))

    async def fork(
        self,
        caller: Chatting,
        session_id: SessionKey,
        fork: Annotated[Fork | None, Body()] = None,
    ) -> SessionTold:
        """Begin a new session with a copy of an old one."""
        at = None if fork is None else fork.turn_id
        copy = await self._app.sessions.of(caller.owner).fork(session_id, at=at)
        return await self._told(caller.owner, copy.id)

    async def clear(self, caller: Chatting, session_id: SessionKey) -> SessionTold:
        """Let the model begin anew; the log keeps what was said."""
        await self._app.sessions.of(caller.owner).clear(session_id)
        return await self._told(caller.owner, session_id)

    async def export(
        self,
        caller: Reading,
        session_id: SessionKey,
        form: Annotated[
            Literal["md", "jsonl"],
            Query(alias="format", description="Markdown for people, JSON lines without loss."),
        ] = "md",
    ) -> Response:
        """Write a session out as text."""
        text = await self._app.sessions.of(caller.owner).export(session_id, form)
        name = f'attachment; filename="{session_id}.{form}"'
        headers = {"Content-Disposition": name, "X-Content-Type-Options": "nosniff"}
        # What was cut in the middle of a character cannot be sent otherwise.
        return Response(text.encode("utf-8", "replace"), 200, headers, _FORMS[form])

    async def take_over(self, caller: Chatting, request: Request) -> SessionTold:
        """Make a session of what an export in JSON lines says; its calls are never run again."""
        bodies.expect(request, _LINES)
        raw = await bodies.read(request, importing.MOST)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError("The body is not UTF-8.", hint="Send an export as it is.") from None
        # Long ones take a while.
        session = await self._app.sessions.of(caller.owner).take_over(text)
        return await self._told(caller.owner, session.id)

    async def _told(self, owner: str, session_id: SessionId) -> SessionTold:
        return SessionTold.of(await self._app.sessions.of(owner).preview(session_id))
