"""Memory: search, list, remember, correct, forget, undo."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from long_running_agents.app import App
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    Draft,
    Kind,
    MemoryId,
    Merged,
    Refused,
    Scope,
    Selection,
    Similar,
    Stored,
    Viewer,
    Written,
)
from long_running_agents.domain.memory import Query as Question
from long_running_agents.errors import NotConfigured, NotFound, UsageError
from long_running_agents.memory.memories import Memories
from long_running_agents.memory.narrowing import narrowed
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Chatting, Reading
from long_running_agents.server.failures import ErrorBody, response
from long_running_agents.server.parameters import PLAIN, Key, Limit, Number, Offset, OneSession
from long_running_agents.server.wire.memory import (
    Forget,
    Forgotten,
    MemoryChange,
    MemoryFound,
    MemoryList,
    MemoryShown,
    MemoryStats,
    MemoryTold,
    MemoryWritten,
    NewMemory,
    Remembered,
    SimilarBody,
)

_MOST_HITS = 100


@dataclass(frozen=True, slots=True)
class _Also:
    """What is looked at beside the memories in use."""

    history: bool = False
    disabled: bool = False


_NOTHING = _Also()


async def _also(
    history: Annotated[bool, Query(description="Also what newer memories have replaced.")] = False,
    disabled: Annotated[
        bool, Query(description="Search also what is switched off; a list has it anyway.")
    ] = False,
) -> _Also:
    return _Also(history, disabled)


class MemoryRoutes:
    """What is remembered."""

    def __init__(self, app: App) -> None:
        self._app = app

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api/memory", tags=["memory"], route_class=JsonRoute)
        same = {200: {"model": MemoryWritten, "description": "The same was known already."}}
        refused = {
            409: {"model": SimilarBody, "description": "Something similar is known."},
            422: {"model": ErrorBody, "description": "It is not to be remembered."},
        }
        router.get("")(self.find)
        told = MemoryWritten
        router.post("", status_code=201, response_model=told, responses={**same, **refused})(
            self.remember
        )
        router.get("/stats")(self.stats)
        router.post("/forget")(self.forget)
        router.post("/undo/{batch}")(self.undo)
        router.get("/{number}")(self.show)
        router.patch("/{number}", response_model=told, responses={**refused})(self.change)
        router.delete("/{number}")(self.forget_one)
        return router

    async def find(
        self,
        caller: Reading,
        q: Annotated[
            str, Query(max_length=2000, description="What to search for; unset means a list.")
        ] = "",
        kind: Annotated[Kind | None, Query(description="Only of this kind.")] = None,
        session_id: OneSession = None,
        source: Annotated[
            str | None, Query(max_length=1000, pattern=PLAIN, description="Only from there.")
        ] = None,
        also: Annotated[_Also, Depends(_also)] = _NOTHING,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> MemoryList:
        """Search what is remembered, or list it, the latest first."""
        memories, viewer = self._memories, self._viewer(caller.owner, session_id)
        if q.strip():
            question = Question(
                text=q,
                limit=min(limit, _MOST_HITS),
                kinds=frozenset({kind} if kind else ()),
                session_id=session_id,
                source=source,
                disabled=also.disabled,
            )
            return MemoryList.of(await memories.find(viewer, question))
        meant = Selection(session_id=session_id, source=source, kind=kind)
        found = await memories.listed(
            viewer, meant, history=also.history, limit=limit + 1, offset=offset
        )
        return MemoryList(
            memories=[MemoryFound.listed(each) for each in found[:limit]],
            next=offset + limit if len(found) > limit else None,
        )

    async def remember(
        self, caller: Chatting, new: NewMemory, answer: Response
    ) -> MemoryWritten | JSONResponse:
        """Remember something, unless it is known, or like something known."""
        if (new.scope is Scope.SESSION) != (new.session_id is not None):
            raise UsageError(
                "A session and the scope of a session go together.",
                hint="Give both 'scope': 'session' and 'session_id', or neither.",
            )
        if new.session_id is not None:
            await self._app.sessions.of(caller.owner).get(new.session_id)
        viewer = self._viewer(caller.owner, new.session_id)
        draft = Draft(
            content=new.content,
            kind=Kind(new.kind),
            scope=new.scope,
            trust=new.trust,
            source=new.source,
            agent=viewer.agent if new.scope is Scope.AGENT else None,
            session_id=new.session_id,
        )
        old = None if new.supersedes is None else MemoryId(new.supersedes)
        written = await self._memories.write(viewer, draft, supersedes=old, keep_both=new.keep_both)
        if isinstance(written, Merged):
            answer.status_code = 200
        return _told(written)

    async def show(self, caller: Reading, number: Number) -> MemoryShown:
        """Show one memory: where it came from, what it replaced, what was derived from it."""
        return MemoryShown.of(await self._memories.show(caller.owner, MemoryId(number)))

    async def change(
        self, caller: Chatting, number: Number, change: MemoryChange
    ) -> MemoryWritten | JSONResponse:
        """Say what is true instead, keeping the old words as history, or switch it off or on."""
        key, viewer = MemoryId(number), Viewer(owner=caller.owner)
        if change.content is None:
            return await self._switched(viewer, key, bool(change.enabled))
        written = await self._memories.correct(viewer, key, change.content)
        if change.enabled is None or not isinstance(written, Stored | Merged):
            return _told(written)
        memory = await self._memories.switch(viewer, written.memory.id, enabled=change.enabled)
        return _told(replace(written, memory=memory))

    async def _switched(self, viewer: Viewer, key: MemoryId, enabled: bool) -> MemoryWritten:
        memory = await self._memories.switch(viewer, key, enabled=enabled)
        return MemoryWritten(status="switched", memory=MemoryTold.of(memory))

    async def forget_one(self, caller: Chatting, number: Number) -> Forgotten:
        """Forget a memory with everything derived from it; it can be undone for 30 days."""
        return await self._forgotten(caller.owner, Forget(ids=frozenset({MemoryId(number)})))

    async def forget(self, caller: Chatting, wanted: Forget) -> Forgotten:
        """Forget what a selection means, or say what that would be."""
        return await self._forgotten(caller.owner, wanted)

    async def undo(self, caller: Chatting, batch: Key) -> Remembered:
        """Bring back what was forgotten together."""
        back = await self._memories.undo(caller.owner, batch)
        return Remembered(memories=[MemoryTold.of(each) for each in back])

    async def stats(self, caller: Reading) -> MemoryStats:
        """Say how much is remembered, and how much of it is found by meaning."""
        memories = self._memories
        embedder = None if memories.embedder is None else memories.embedder.space
        return MemoryStats.of(await memories.stats(caller.owner), embedder)

    async def _forgotten(self, owner: str, wanted: Forget) -> Forgotten:
        memories = self._memories
        meant = Selection(
            ids=wanted.ids,
            session_id=wanted.session_id,
            source=wanted.source,
            kind=wanted.kind,
            before=wanted.before,
        )
        if wanted.ids:
            await self._expect(owner, wanted.ids)
        if wanted.query is not None:
            meant = await narrowed(memories.database, owner, meant, wanted.query)
        if wanted.dry_run:
            return Forgotten.of(await memories.would_forget(owner, meant))
        return Forgotten.of(await memories.forget(owner, meant, at_once=wanted.for_good))

    async def _expect(self, owner: str, ids: frozenset[MemoryId]) -> None:
        """Refuse numbers that are not there: one of them may be mistyped."""
        known = await self._memories.would_forget(owner, Selection(ids=ids))
        unknown = sorted(ids - {memory.id for memory in known.memories})
        if unknown:
            raise NotFound(f"No memory #{unknown[0]}.", hint="Nothing was forgotten.")

    def _viewer(self, owner: str, session_id: SessionId | None) -> Viewer:
        return Viewer(owner=owner, agent=self._app.settings.agent.name, session_id=session_id)

    @property
    def _memories(self) -> Memories:
        if self._app.memories is None:
            raise NotConfigured("Nothing is remembered here.", hint="Set memory.enabled.")
        return self._app.memories


def _told(written: Written) -> MemoryWritten | JSONResponse:
    match written:
        case Stored(memory, old):
            superseded = None if old is None else MemoryTold.of(old)
            return MemoryWritten(
                status="stored", memory=MemoryTold.of(memory), superseded=superseded
            )
        case Merged(memory):
            return MemoryWritten(status="merged", memory=MemoryTold.of(memory))
        case Similar(known):
            body = SimilarBody(
                code="similar",
                message="Not written: it is similar to what is known.",
                hint="Name one as 'supersedes', or send 'keep_both'.",
                memories=[MemoryTold.of(each) for each in known],
            )
            return JSONResponse(body.model_dump(mode="json"), 409)
        case Refused(reason):
            return response(422, ErrorBody(code="refused", message=f"Not written: {reason}."))
