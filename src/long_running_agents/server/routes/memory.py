"""Memory: search, list, remember, correct, forget, undo; and what was learned from sessions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fastapi import Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BeforeValidator, Field, model_validator

from long_running_agents.domain.auth import Caller
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    Memory,
    MemoryDraft,
    MemoryId,
    MemoryKind,
    MemoryScope,
    Merged,
    Refused,
    Selection,
    Similar,
    Stored,
    Trust,
    Viewer,
    Written,
)
from long_running_agents.domain.memory import Query as Question
from long_running_agents.domain.reflection import Learned, LearnedState, ReflectionReport
from long_running_agents.errors import NotConfigured, NotFound, UsageError
from long_running_agents.jobs.learned import LearnedService
from long_running_agents.memory.search import narrowed
from long_running_agents.memory.service import MemoryService, Stats
from long_running_agents.server import http
from long_running_agents.server.auth import Chatting, Reading
from long_running_agents.server.errors import ErrorBody, response
from long_running_agents.server.http import SESSION_ID, Limit, Number, Routes, route
from long_running_agents.server.wire import WireRequest, WireResponse, built, derived, example

_LONGEST = 100_000


class MemoryResponse(derived(Memory, without=("agent", "previous"))):
    """One remembered item."""

    model_config = example("""{"id": 12, "kind": "fact", "scope": "user", "trust": "user",
      "actor": "user", "source": "user", "content": "The heron eats frogs.", "session_id": null,
      "turn_id": null, "event_at": "2026-11-16T09:00:00Z", "recorded_at": "2026-11-16T09:00:00Z",
      "valid_to": null, "superseded_by": null, "expires_at": null, "seen": 1, "enabled": true}""")


class MemoryFound(MemoryResponse):
    """A memory that answers a question, and why."""

    score: float | None = None
    """How well it answers, from 0 to 1; null in a list."""
    why: Mapping[str, float] = {}
    """What each part of the search gave it."""


class MemoryList(WireResponse):
    """Memories: the best hits of a search, or a list with the latest first."""

    memories: list[MemoryFound]
    degraded: str = ""
    """Why only a part of the search was available; empty when all of it was."""
    next: int | None = None
    """The offset of the next page of a list; null on the last one."""


class MemoryShown(WireResponse):
    """A memory and what hangs on it."""

    memory: MemoryResponse
    history: list[MemoryResponse]
    """What it has superseded, the latest first."""
    origins: list[MemoryResponse]
    derived: list[MemoryResponse]


class NewMemory(WireRequest):
    """Something to remember."""

    model_config = example('{"content": "The heron eats frogs."}')

    content: str = Field(min_length=1, max_length=_LONGEST)
    kind: Literal["fact", "lesson", "summary", "note", "task"] = "fact"
    scope: MemoryScope = MemoryScope.USER
    session_id: SessionId | None = Field(default=None, pattern=http.SESSION_ID)
    """The session, for the scope of one."""
    supersedes: int | None = Field(default=None, ge=1)
    """The memory that it corrects or replaces."""
    keep_both: bool = False
    """Whether it is written although something similar is known."""
    trust: Trust = Trust.USER
    """Who said it; programs that pass on what they have heard say so."""
    source: str = Field(default="user", min_length=1, max_length=200, pattern=http.PLAIN)
    """Where it came from."""


class MemoryChange(WireRequest):
    """What becomes of a memory; at least one of these."""

    model_config = example('{"content": "The heron eats fish."}')

    content: str | None = Field(default=None, min_length=1, max_length=_LONGEST)
    """What is true instead."""
    enabled: bool | None = None
    """Whether it is in use."""

    @model_validator(mode="after")
    def _something(self) -> "MemoryChange":
        if self.content is None and self.enabled is None:
            raise ValueError("expected 'content', 'enabled' or both")
        return self


class MemoryWritten(WireResponse):
    """What became of it."""

    status: Literal["stored", "merged", "switched"]
    """Merged means that the same was known already, switched that no words were changed."""
    memory: MemoryResponse
    superseded: MemoryResponse | None = None


class SimilarBody(ErrorBody):
    """Nothing was written, since something similar is known."""

    # What is known; name one as `supersedes`, or send `keep_both`.
    memories: list[MemoryResponse]


class Forget(WireRequest):
    """Which memories to forget; every condition that is given must hold."""

    model_config = example('{"ids": [12], "dry_run": true}')

    ids: frozenset[MemoryId] | None = Field(default=None, max_length=1000)
    query: str | None = Field(default=None, max_length=1000)
    """Every memory that has all of these words."""
    session_id: SessionId | None = Field(default=None, pattern=http.SESSION_ID)
    source: str | None = Field(default=None, max_length=1000, pattern=http.PLAIN)
    kind: MemoryKind | None = None
    before: http.When | None = None
    """What was written before this moment."""
    dry_run: bool = False
    """Only say what would go."""
    for_good: bool = False
    """It cannot be undone."""


class Forgotten(WireResponse):
    """What was forgotten, or would be."""

    batch: str | None
    """The name to undo it by; null for a rehearsal or when it cannot be undone."""
    memories: list[MemoryResponse]
    derived: Annotated[list[int], BeforeValidator(sorted)]
    """Those among them that were only derived from the ones that were named."""


class MemoryRemembered(WireResponse):
    """What came back."""

    memories: list[MemoryResponse]


class MemoryStats(derived(Stats, without=("counts",))):
    """How much is remembered."""

    embedder: str | None
    counts: dict[str, int]


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


_SAME: http.Documented = {
    200: {"model": MemoryWritten, "description": "The same was known already."}
}
_REFUSED: http.Documented = {
    409: {"model": SimilarBody, "description": "Something similar is known."},
    422: {"model": ErrorBody, "description": "It is not to be remembered."},
}


class MemoryRoutes(Routes, tag="memory"):
    """What is remembered."""

    @route("GET /api/memory")
    async def find(
        self,
        caller: Reading,
        q: Annotated[
            str, Query(max_length=2000, description="What to search for; unset means a list.")
        ] = "",
        kind: Annotated[MemoryKind | None, Query(description="Only of this kind.")] = None,
        session_id: http.OneSession = None,
        source: Annotated[
            str | None, Query(max_length=1000, pattern=http.PLAIN, description="Only from there.")
        ] = None,
        also: Annotated[_Also, Depends(_also)] = _NOTHING,
        limit: http.Limit = 20,
        offset: http.Offset = 0,
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
            best = await memories.find(viewer, question)
            told = [MemoryFound.of(hit.memory, score=hit.score, why=hit.why) for hit in best.hits]
            return MemoryList(memories=told, degraded=best.degraded)
        meant = Selection(session_id=session_id, source=source, kind=kind)
        found = await memories.listed(
            viewer, meant, history=also.history, limit=limit + 1, offset=offset
        )
        return MemoryList(
            memories=[MemoryFound.of(each) for each in found[:limit]],
            next=offset + limit if len(found) > limit else None,
        )

    @route(
        "POST /api/memory",
        status_code=201,
        response_model=MemoryWritten,
        responses={**_SAME, **_REFUSED},
    )
    async def remember(
        self, caller: Chatting, new: NewMemory, answer: Response
    ) -> MemoryWritten | JSONResponse:
        """Remember something, unless it is known, or like something known."""
        if (new.scope is MemoryScope.SESSION) != (new.session_id is not None):
            raise UsageError(
                "A session and the scope of a session go together.",
                hint="Give both 'scope': 'session' and 'session_id', or neither.",
            )
        key = None if new.session_id is None else caller.key(new.session_id)
        if key is not None:
            await self._sessions(caller).get(key)
        viewer = self._viewer(caller.owner, key)
        agent = viewer.agent if new.scope is MemoryScope.AGENT else None
        draft = built(MemoryDraft, new, kind=MemoryKind(new.kind), agent=agent, session_id=key)
        old = None if new.supersedes is None else MemoryId(new.supersedes)
        written = await self._memories.write(viewer, draft, supersedes=old, keep_both=new.keep_both)
        if isinstance(written, Merged):
            answer.status_code = 200
        return _told_memory(written)

    @route("GET /api/memory/stats")
    async def stats(self, caller: Reading) -> MemoryStats:
        """Say how much is remembered, and how much of it is found by meaning."""
        memories = self._memories
        embedder = None if memories.embedder is None else memories.embedder.space
        return MemoryStats.of(await memories.stats(caller.owner), embedder=embedder)

    @route("POST /api/memory/forget")
    async def forget(self, caller: Chatting, wanted: Forget) -> Forgotten:
        """Forget what a selection means, or say what that would be."""
        return await self._forgotten(caller, wanted)

    @route("POST /api/memory/undo/{batch}")
    async def undo(self, caller: Chatting, batch: http.Key) -> MemoryRemembered:
        """Bring back what was forgotten together."""
        return MemoryRemembered.of({"memories": await self._memories.undo(caller.owner, batch)})

    @route("GET /api/memory/{number}")
    async def show(self, caller: Reading, number: http.Number) -> MemoryShown:
        """Show one memory: where it came from, what it replaced, what was derived from it."""
        return MemoryShown.of(await self._memories.show(caller.owner, MemoryId(number)))

    @route("PATCH /api/memory/{number}", response_model=MemoryWritten, responses=_REFUSED)
    async def change(
        self, caller: Chatting, number: http.Number, change: MemoryChange
    ) -> MemoryWritten | JSONResponse:
        """Say what is true instead, keeping the old words as history, or switch it off or on."""
        key, viewer = MemoryId(number), Viewer(owner=caller.owner)
        if change.content is None:
            memory = await self._memories.switch(viewer, key, enabled=bool(change.enabled))
            return MemoryWritten(status="switched", memory=MemoryResponse.of(memory))
        written = await self._memories.correct(viewer, key, change.content)
        if change.enabled is None or not isinstance(written, Stored | Merged):
            return _told_memory(written)
        memory = await self._memories.switch(viewer, written.memory.id, enabled=change.enabled)
        return _told_memory(replace(written, memory=memory))

    @route("DELETE /api/memory/{number}")
    async def forget_one(self, caller: Chatting, number: http.Number) -> Forgotten:
        """Forget a memory with everything derived from it; it can be undone for 30 days."""
        return await self._forgotten(caller, Forget(ids=frozenset({MemoryId(number)})))

    async def _forgotten(self, caller: Caller, wanted: Forget) -> Forgotten:
        memories, owner = self._memories, caller.owner
        key = None if wanted.session_id is None else caller.key(wanted.session_id)
        meant = built(Selection, wanted, session_id=key)
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
    def _memories(self) -> MemoryService:
        if self._app.memories is None:
            raise NotConfigured("Nothing is remembered here.", hint="Set memory.enabled.")
        return self._app.memories


def _told_memory(written: Written) -> MemoryWritten | JSONResponse:
    match written:
        case Stored() | Merged():
            status = "stored" if isinstance(written, Stored) else "merged"
            return MemoryWritten.of(written, status=status)
        case Similar(known):
            body = SimilarBody(
                code="similar",
                message="Not written: it is similar to what is known.",
                hint="Name one as 'supersedes', or send 'keep_both'.",
                memories=[MemoryResponse.of(each) for each in known],
            )
            return JSONResponse(body.model_dump(mode="json"), 409)
        case Refused(reason):
            return response(422, ErrorBody(code="refused", message=f"Not written: {reason}."))


OneState = Annotated[LearnedState | None, Query(description="Only of this state.")]


class LearnedResponse(derived(Learned)):
    """Something that was learned, or was not and why."""


class LearnedList(WireResponse):
    """What was learned, the newest first."""

    learned: list[LearnedResponse]


class ReflectionResponse(derived(ReflectionReport)):
    """What one run of reflection, or of the curator, did."""


class ReflectionBody(WireRequest):
    """What is to be read."""

    session_id: Annotated[str | None, Field(pattern=SESSION_ID)] = None
    """Only this session; all that are quiet unless given."""


class LearnedRoutes(Routes, tag="learned"):
    """What whoever asks has taught the agent."""

    def _of(self, caller: Caller) -> LearnedService:
        return self._app.learned.of(caller.owner)

    @route("GET /api/learned")
    async def every(
        self, caller: Reading, state: OneState = None, limit: Limit = 100
    ) -> LearnedList:
        """List what was learned, merged, put aside or refused, the newest first."""
        found = await self._of(caller).every(state=state, limit=limit)
        return LearnedList(learned=[LearnedResponse.of(each) for each in found])

    @route("POST /api/learned/reflect")
    async def reflect(self, caller: Chatting, body: ReflectionBody) -> ReflectionResponse:
        """Read finished turns that were not read yet."""
        session = None if body.session_id is None else caller.key(body.session_id)
        return ReflectionResponse.of(await self._of(caller).reflect(session))

    @route("POST /api/learned/curate")
    async def curate(self, caller: Chatting) -> ReflectionResponse:
        """Put aside what is unused, outdated or there twice."""
        return ReflectionResponse.of(await self._of(caller).curate())

    @route("POST /api/learned/{number}/undo")
    async def undo(self, caller: Chatting, number: Number) -> LearnedResponse:
        """Take back what was done with one thing, within 30 days."""
        return LearnedResponse.of(await self._of(caller).undo(number))
