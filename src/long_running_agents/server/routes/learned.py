"""What was learned, over HTTP: shown, read from finished turns, put aside, and taken back."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from long_running_agents.domain.auth import Caller
from long_running_agents.domain.reflection import Learned, LearnedState, ReflectionReport
from long_running_agents.jobs.learned import LearnedService
from long_running_agents.server.auth import Chatting, Reading
from long_running_agents.server.http import SESSION_ID, Limit, Number, Routes, route
from long_running_agents.server.wire import WireRequest, WireResponse, derived

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
