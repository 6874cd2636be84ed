"""Sessions at a running server."""

import json
from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote

from long_running_agents.client import shapes
from long_running_agents.client.link import Link
from long_running_agents.domain.events import Recorded, ToolCalled, ToolReturned
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.session import Session, SessionPreview
from long_running_agents.domain.task import Task
from long_running_agents.domain.tool import CallState, Effect, ToolCallRecord
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import NotFound

_PAGE = 1000
_LOOKED_THROUGH = 1000
"""Events in which it is looked for calls that were cut off."""


class Sessions:
    """Look after sessions, as the server's own service does."""

    def __init__(self, link: Link, owner: str) -> None:
        self._link = link
        self._owner = owner

    async def get(self, session_id: SessionId) -> Session:
        """Look a session up."""
        reply = await self._link.ask("GET", _path(session_id))
        return shapes.session(reply.body, self._owner)

    async def find(self, session_id: SessionId) -> Session | None:
        """Look a session up; None when nothing was said in it yet."""
        try:
            return await self.get(session_id)
        except NotFound:
            return None

    async def newest(self) -> Session | None:
        """The session something was said in last."""
        found = await self.previews(limit=1)
        return found[0].session if found else None

    async def previews(
        self, *, limit: int = 50, offset: int = 0, search: str = ""
    ) -> Sequence[SessionPreview]:
        """List sessions, the latest first."""
        query: dict[str, str | int] = {"limit": limit, "offset": offset}
        if search:
            query["q"] = search
        reply = await self._link.ask("GET", "/api/sessions", query=query)
        return [shapes.preview(told, self._owner) for told in reply.body["sessions"]]

    async def turns(self, session_id: SessionId) -> Sequence[Turn]:
        """A session's turns, in order."""
        found: list[Turn] = []
        while True:
            reply = await self._link.ask(
                "GET", f"{_path(session_id)}/turns", query={"limit": _PAGE, "offset": len(found)}
            )
            told = reply.body["turns"]
            found += [shapes.turn(each, self._owner) for each in told]
            if not told or len(found) >= reply.body["total"]:
                return found

    async def tasks(self, session_id: SessionId) -> Sequence[Task]:
        """A session's tasks."""
        reply = await self._link.ask("GET", f"{_path(session_id)}/tasks")
        return [shapes.task(told) for told in reply.body["tasks"]]

    async def events(
        self, session_id: SessionId, after: int = 0, *, limit: int = _PAGE
    ) -> Sequence[Recorded]:
        """A session's events after a number."""
        reply = await self._link.ask(
            "GET", f"{_path(session_id)}/events", query={"after": after, "limit": limit}
        )
        return [shapes.recorded(told, self._owner) for told in reply.body["events"]]

    async def last_event(self, session_id: SessionId) -> int:
        """The number of a session's newest event; 0 for none."""
        try:
            reply = await self._link.ask("GET", f"{_path(session_id)}/events", query={"limit": 1})
        except NotFound:
            return 0
        return int(reply.body["newest_seq"])

    async def before(self, session_id: SessionId, turn_id: TurnId, newest: int) -> int:
        """The number of the last event before a turn's own.

        Args:
            session_id: The turn's session.
            turn_id: The turn.
            newest: The number of the session's newest event.
        """
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
            _record(each, called.get(each.event.tool_call_id))
            for each in found
            if isinstance(each.event, ToolReturned) and each.event.outcome == "uncertain"
        ]

    async def rename(self, session_id: SessionId, title: str) -> None:
        """Give a session another title."""
        await self._link.ask("PATCH", _path(session_id), body={"title": title.strip()})

    async def choose_model(self, session_id: SessionId, model: str) -> None:
        """Use another model from the next step on, also in the turn that runs."""
        await self._link.ask("PATCH", _path(session_id), body={"model": model})

    async def fork(self, session_id: SessionId, *, at: TurnId | None = None) -> Session:
        """Begin a new session with a copy of an old one, up to and including a turn."""
        reply = await self._link.ask("POST", f"{_path(session_id)}/fork", body={"turn_id": at})
        return shapes.session(reply.body, self._owner)

    async def take_over(self, text: str) -> Session:
        """Make a session of what an export in JSON lines says."""
        lines = {"Content-Type": "application/x-ndjson"}
        reply = await self._link.ask("POST", "/api/sessions/import", text=text, headers=lines)
        return shapes.session(reply.body, self._owner)

    async def delete(self, session_id: SessionId) -> None:
        """Delete a session with everything in it."""
        await self._link.ask("DELETE", _path(session_id))

    async def export(self, session_id: SessionId, form: Literal["md", "jsonl"]) -> str:
        """Write a session out as text."""
        reply = await self._link.ask("GET", f"{_path(session_id)}/export", query={"format": form})
        return reply.text


def _path(session_id: SessionId) -> str:
    return f"/api/sessions/{quote(session_id)}"


def _record(returned: Recorded, called: ToolCalled | None) -> ToolCallRecord:
    assert isinstance(returned.event, ToolReturned)  # noqa: S101 - chosen for it
    return ToolCallRecord(
        turn_id=returned.turn_id or TurnId(""),
        session_id=returned.session_id,
        call_id=returned.event.tool_call_id,
        step=0,
        position=0,
        tool=returned.event.tool,
        args="" if called is None else json.dumps(called.input, ensure_ascii=False),
        effect=Effect.ONCE,
        state=CallState.UNCERTAIN,
    )
