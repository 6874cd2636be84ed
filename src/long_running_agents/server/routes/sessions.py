"""Sessions and their tasks: begin, list, read, change, copy, export, import, delete."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Body, Query, Request, Response
from pydantic import AliasPath, Field

from long_running_agents.agent import session_import, transcript
from long_running_agents.agent.context_view import ContextPreview
from long_running_agents.agent.transcript import TranscriptEntry
from long_running_agents.domain.auth import Caller
from long_running_agents.domain.compaction import ContextProbe, Fold
from long_running_agents.domain.ids import SessionId, TurnId, new_id, shown
from long_running_agents.domain.routing import AUTO
from long_running_agents.domain.session import Mode, SessionOrigin, SessionPreview
from long_running_agents.domain.task import Task, TaskStatus, summary
from long_running_agents.errors import UsageError
from long_running_agents.server import http
from long_running_agents.server.auth import Chatting, Reading
from long_running_agents.server.http import Routes, attachment, route
from long_running_agents.server.wire import (
    ShownSession,
    WireRequest,
    WireResponse,
    derived,
    example,
)


class FoldResponse(derived(Fold)):
    """Turns that one text stands for."""

    model_config = example("""{"session_id": "my-session", "first": 1, "last": 12,
      "text": "They planned a trip.", "digest": "0a1b2c", "model": "openai:gpt-5", "tokens": 900,
      "cost": null, "faults": [], "steps": 20, "created_at": "2026-11-17T09:00:00Z"}""")


class ContextResponse(derived(ContextPreview, flat="context")):
    """The next request as it would be made."""

    model_config = example("""{"session_id": "my-session", "model": "ollama:qwen3", "window": 32768,
      "prompt": "What does the heron eat?", "instructions": [{"source": "base",
      "text": "You are lra, an agent that works …", "tokens": 160}], "memories": [], "degraded": "",
      "earlier": 0, "history": [{"role": "user", "text": "Hello", "tokens": 22, "shown": "whole",
      "reason": ""}], "tools": [{"name": "list_tasks", "kind": "built_in", "tokens": 80,
      "state": "offered"}], "shares": {"instructions": 160, "memories": 0, "history": 22,
      "prompt": 29, "tools": 80, "protocol": 200}, "total": 491, "problem": ""}""")

    total: Annotated[int, Field(validation_alias=AliasPath("context", "shares", "total"))]


class ProbeResponse(derived(ContextProbe)):
    """A question about a session, and whether the model could answer it."""

    model_config = example("""{"kind": "artifact", "question": "Which files were written last?",
      "expected": ["report.md"], "answer": "report.md", "missing": []}""")


class ProbeList(WireResponse):
    """What the model could answer."""

    probes: list[ProbeResponse]


class SessionResponse(
    derived(
        SessionPreview, without=("forked_at",), renamed={"last_words": "preview"}, flat="session"
    )
):
    """A session as a list shows it."""

    model_config = example("""{"id": "my-session", "title": "Herons at the mill", "mode": "bounded",
      "model": null, "created_at": "2026-11-16T09:00:00Z", "updated_at": "2026-11-16T09:05:00Z",
      "turns": 2, "preview": "Two herons, both grey.", "forked_from": null, "origin": "own"}""")


class SessionList(WireResponse):
    """Sessions, the latest first."""

    sessions: list[SessionResponse]
    total: int
    """How many there are in all."""
    next: int | None
    """The offset of the next page; null on the last one."""


class NewSession(WireRequest):
    """A session to begin."""

    model_config = example('{"id": "my-session", "title": "Herons at the mill"}')

    id: SessionId | None = Field(default=None, pattern=http.SESSION_ID)
    """What programs call it; made up unless given."""
    title: http.Line = "New session"
    model: http.Line | None = None
    """The model to ask, as provider:model; the server's unless given."""
    mode: Mode = Mode.BOUNDED
    agent: http.Line | None = None
    """The agent it is held with, as in coder or coder@2, or "auto"; the home's own unless given."""


class SessionChange(WireRequest):
    """What becomes of a session; what is not given stays."""

    model_config = example('{"title": "Herons"}')

    title: http.Line | None = None
    mode: Mode | None = None
    model: http.Line | None = None


class Fork(WireRequest):
    """How much of a session to copy."""

    model_config = example('{"turn_id": null}')

    turn_id: TurnId | None = Field(default=None, pattern=http.ID)
    """The last turn to copy; the newest that ended unless given."""


class MessageResponse(
    derived(TranscriptEntry, renamed={"calls": "tool_calls", "call_id": "tool_call_id"})
):
    """One thing that was said."""

    model_config = example("""{"seq": 1, "role": "user", "content": "Which birds are at the mill?",
      "turn_id": "turn_01k9x0000000abcdefgh", "step": 1, "at": "2026-11-16T09:00:00Z",
      "tool_calls": [], "tool": "", "tool_call_id": ""}""")


class SessionHistory(WireResponse):
    """What was said in a session, in order."""

    session_id: ShownSession
    messages: list[MessageResponse]
    next: int | None
    """What to ask for as ``after`` to read on; null at the end."""


class TaskResponse(derived(Task)):
    """A piece of work."""

    model_config = example("""{"session_id": "my-session", "number": 1, "title": "Count the herons",
      "description": "", "status": "pending", "parent": null, "result": "",
      "created_at": "2026-11-16T09:00:00Z", "updated_at": "2026-11-16T09:00:00Z"}""")


class TaskNode(TaskResponse):
    """A task with its parts."""

    children: list["TaskNode"]


class TaskTree(WireResponse):
    """A session's tasks."""

    session_id: ShownSession
    tasks: list[TaskResponse]
    """In the order they were made."""
    tree: list[TaskNode]
    """The same, children within their parents."""
    summary: str


class TaskList(WireResponse):
    """Tasks of several sessions, those changed last first."""

    tasks: list[TaskResponse]
    next: int | None
    """The offset of the next page; null on the last one."""


class TaskChange(WireRequest):
    """What becomes of a task; what is not given stays."""

    model_config = example('{"status": "completed"}')

    status: TaskStatus | None = None
    title: http.Line | None = None


_DEEPEST = 50


def tree(tasks: Sequence[Task]) -> list[TaskNode]:
    """Tasks as a tree; one whose parent is not among them stands at the root.

    Below a depth that no person makes, there is nothing: JSON is not nested for ever.
    """
    known = {task.number for task in tasks}
    children: dict[int | None, list[Task]] = {}
    for task in tasks:
        children.setdefault(task.parent if task.parent in known else None, []).append(task)

    def below(parent: int | None, depth: int) -> list[TaskNode]:
        return [
            TaskNode.of(task, children=below(task.number, depth + 1))
            for task in (children.get(parent, []) if depth < _DEEPEST else [])
        ]

    return below(None, 0)


OfOrigin = Annotated[
    SessionOrigin | Literal["all"], Query(description="Only those that came to be through this.")
]
_LONGEST_PROMPT = 2_000
"""Characters; addresses that are much longer are not read."""
_LINES = "application/x-ndjson"
_FORMS = {"md": "text/markdown", "jsonl": _LINES}
_TEXT = {"schema": {"type": "string"}}
_TEXTS: http.Documented = {200: {"content": dict.fromkeys(_FORMS.values(), _TEXT)}}
_IMPORT = {"requestBody": {"content": {_LINES: _TEXT}, "required": True}}


class SessionRoutes(Routes, tag="sessions"):
    """What can be done with sessions, without asking a model."""

    @route("GET /api/sessions")
    async def list_all(
        self,
        caller: Reading,
        q: http.Search = "",
        limit: http.Limit = 50,
        offset: http.Offset = 0,
        origin: OfOrigin = "all",
    ) -> SessionList:
        """List sessions, the latest first."""
        service = self._sessions(caller)
        only = None if origin == "all" else origin
        found = await service.previews(limit=limit, offset=offset, search=q, origin=only)
        total = await service.count(q, only)
        end = offset + len(found)
        return SessionList(
            sessions=[SessionResponse.of(each) for each in found],
            total=total,
            next=end if found and end < total else None,
        )

    @route("POST /api/sessions", status_code=201)
    async def create(self, caller: Chatting, new: NewSession) -> SessionResponse:
        """Begin an empty session."""
        model = None if new.model is None else await self._switching.nameable(new.model)
        key = caller.key(new.id or new_id("session", self._clock.now()))
        if new.agent is not None and new.agent != AUTO:
            await self._app.registry.of(caller.owner).published(new.agent)
        session = await self._sessions(caller).create(
            session_id=key, title=new.title, model=model, mode=new.mode, agent=new.agent
        )
        return SessionResponse.of(SessionPreview(session=session, turns=0, last_words=""))

    @route("POST /api/sessions/import", status_code=201, openapi_extra=_IMPORT)
    async def take_over(self, caller: Chatting, request: Request) -> SessionResponse:
        """Make a session of what an export in JSON lines says; its calls are never run again."""
        http.expect(request, _LINES)
        raw = await http.read(request, session_import.MOST)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError("The body is not UTF-8.", hint="Send an export as it is.") from None
        # Long ones take a while.
        session = await self._sessions(caller).take_over(text, caller.key)
        return await self._told(caller, session.id)

    @route("GET /api/sessions/{session_id}")
    async def get(self, caller: Reading, session_id: http.SessionKey) -> SessionResponse:
        """Look at one session."""
        return await self._told(caller, session_id)

    @route("PATCH /api/sessions/{session_id}")
    async def change(
        self, caller: Chatting, session_id: http.SessionKey, change: SessionChange
    ) -> SessionResponse:
        """Rename a session, or choose its mode or model."""
        service = self._sessions(caller)
        await service.get(session_id)
        if change.model is not None:
            await self._switching.check(change.model)
        if change.title is not None:
            await service.rename(session_id, change.title)
        if change.mode is not None:
            await service.set_mode(session_id, change.mode)
        if change.model is not None:
            await service.choose_model(session_id, change.model)
        return await self._told(caller, session_id)

    @route("DELETE /api/sessions/{session_id}", status_code=204)
    async def delete(self, caller: Chatting, session_id: http.SessionKey) -> None:
        """Delete a session with everything in it."""
        await self._sessions(caller).delete(session_id)

    @route("GET /api/sessions/{session_id}/history")
    async def history(
        self,
        caller: Reading,
        session_id: http.SessionKey,
        after: http.After = 0,
        limit: http.Limit = 200,
    ) -> SessionHistory:
        """Read what was said in a session, in order."""
        service = self._sessions(caller)
        # One more than is told, to know whether there is one.
        logged = await service.log(session_id, after=after, limit=limit + 1)
        shown = logged[:limit]
        return SessionHistory(
            session_id=session_id,
            messages=[MessageResponse.of(each) for each in transcript.said(shown)],
            next=shown[-1].seq if len(logged) > limit else None,
        )

    @route("GET /api/sessions/{session_id}/context")
    async def context(
        self,
        caller: Reading,
        session_id: http.SessionKey,
        prompt: Annotated[
            str | None,
            Query(max_length=_LONGEST_PROMPT, description="What would be said next."),
        ] = None,
    ) -> ContextResponse:
        """Show the next request as it would be made; no model is asked, and nothing is stored."""
        contexts = self._app.contexts.of(caller.owner)
        return ContextResponse.of(await contexts.next(session_id, prompt))

    @route("POST /api/sessions/{session_id}/context/check")
    async def check(self, caller: Chatting, session_id: http.SessionKey) -> ProbeList:
        """Ask the model what rows can tell, with no more than its next request would show."""
        found = await self._app.contexts.of(caller.owner).check(session_id)
        return ProbeList(probes=[ProbeResponse.of(each) for each in found])

    @route("POST /api/sessions/{session_id}/fork", status_code=201)
    async def fork(
        self,
        caller: Chatting,
        session_id: http.SessionKey,
        fork: Annotated[Fork | None, Body()] = None,
    ) -> SessionResponse:
        """Begin a new session with a copy of an old one."""
        at = None if fork is None else fork.turn_id
        copy = await self._sessions(caller).fork(session_id, at=at)
        return await self._told(caller, copy.id)

    @route("POST /api/sessions/{session_id}/clear")
    async def clear(self, caller: Chatting, session_id: http.SessionKey) -> SessionResponse:
        """Let the model begin anew; the log keeps what was said."""
        await self._sessions(caller).clear(session_id)
        return await self._told(caller, session_id)

    @route("POST /api/sessions/{session_id}/compact")
    async def compact(self, caller: Chatting, session_id: http.SessionKey) -> FoldResponse:
        """Let a summary, or a line for each turn, stand for all turns but the last one."""
        return FoldResponse.of(await self._app.contexts.of(caller.owner).compact(session_id))

    @route("GET /api/sessions/{session_id}/export", response_class=Response, responses=_TEXTS)
    async def export(
        self,
        caller: Reading,
        session_id: http.SessionKey,
        form: Annotated[
            Literal["md", "jsonl"],
            Query(alias="format", description="Markdown for people, JSON lines without loss."),
        ] = "md",
    ) -> Response:
        """Write a session out as text."""
        text = await self._sessions(caller).export(session_id, form)
        return attachment(text, f"{shown(session_id)}.{form}", _FORMS[form])

    async def _told(self, caller: Caller, session_id: SessionId) -> SessionResponse:
        return SessionResponse.of(await self._sessions(caller).preview(session_id))


class TaskRoutes(Routes, tag="tasks"):
    """The tasks of one session, and of all."""

    @route("GET /api/tasks")
    async def list_all(
        self,
        caller: Reading,
        session_id: http.OneSession = None,
        status: Annotated[TaskStatus | None, Query(description="Only in this status.")] = None,
        limit: http.Limit = 100,
        offset: http.Offset = 0,
    ) -> TaskList:
        """List tasks of all sessions, those changed last first."""
        service = self._sessions(caller)
        if session_id is None:
            found = await service.every_task(status=status, limit=limit + 1, offset=offset)
        else:
            every = await service.tasks(session_id)
            chosen = [task for task in every if status in (None, task.status)]
            found = chosen[offset : offset + limit + 1]
        return TaskList(
            tasks=[TaskResponse.of(task) for task in found[:limit]],
            next=offset + limit if len(found) > limit else None,
        )

    @route("GET /api/sessions/{session_id}/tasks")
    async def of_session(self, caller: Reading, session_id: http.SessionKey) -> TaskTree:
        """Show a session's tasks as a list and as a tree."""
        found = await self._sessions(caller).tasks(session_id)
        told = [TaskResponse.of(task) for task in found]
        return TaskTree(session_id=session_id, tasks=told, tree=tree(found), summary=summary(found))

    @route("PATCH /api/sessions/{session_id}/tasks/{number}")
    async def change(
        self, caller: Chatting, session_id: http.SessionKey, number: http.Number, change: TaskChange
    ) -> TaskResponse:
        """Move a task to another status, or call it otherwise."""
        if change.status is None and change.title is None:
            raise UsageError("Nothing is to change.", hint="Give a status or a title.")
        task = await self._sessions(caller).change_task(
            session_id, number, status=change.status, title=change.title
        )
        return TaskResponse.of(task)
