"""Approvals and grants: see what waits, answer it, take an answer back."""

from typing import Annotated

from fastapi import APIRouter, Query

from long_running_agents.agent.approvals import ApprovalService
from long_running_agents.app import App
from long_running_agents.domain.ids import ApprovalId, GrantId
from long_running_agents.domain.ports import Clock
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Approving, Reading
from long_running_agents.server.parameters import Key, Limit, OneSession
from long_running_agents.server.wire.approvals import (
    ApprovalAnswer,
    ApprovalList,
    ApprovalTold,
    GrantList,
    GrantTold,
    JudgementList,
    JudgementTold,
)


class ApprovalRoutes:
    """What a person decides about calls."""

    def __init__(self, app: App, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api", tags=["approvals"], route_class=JsonRoute)
        router.get("/approvals")(self.list_open)
        router.get("/approvals/log")(self.log)
        router.post("/approvals/{approval_id}")(self.answer)
        router.get("/grants")(self.list_grants)
        router.delete("/grants/{grant_id}")(self.revoke)
        return router

    async def list_open(self, caller: Reading, session_id: OneSession = None) -> ApprovalList:
        """List calls that wait for an answer."""
        found = await self._of(caller.owner).open_questions(session_id)
        return ApprovalList(approvals=[ApprovalTold.of(each) for each in found])

    async def answer(
        self, caller: Approving, approval_id: Key, said: ApprovalAnswer
    ) -> ApprovalTold:
        """Let a call run, or refuse it; when it was the last open one, the turn goes on."""
        key = ApprovalId(approval_id)
        await self._app.turns.of(caller.owner).answer(
            key, allowed=said.allowed, reason=said.reason, lasting=said.lasting
        )
        return ApprovalTold.of(await self._of(caller.owner).get(key))

    async def log(
        self, caller: Reading, session_id: OneSession = None, limit: Limit = 50
    ) -> JudgementList:
        """Show what was decided about calls, why, and by whom."""
        found = await self._of(caller.owner).log(limit=limit, session_id=session_id)
        return JudgementList(log=[JudgementTold.of(each) for each in found])

    async def list_grants(
        self,
        caller: Reading,
        revoked: Annotated[bool, Query(description="Also those that were revoked.")] = False,
    ) -> GrantList:
        """List what was allowed for a session or for always."""
        found = await self._of(caller.owner).grants(revoked=revoked)
        return GrantList(grants=[GrantTold.of(each) for each in found])

    async def revoke(self, caller: Approving, grant_id: Key) -> GrantTold:
        """Take a grant back: the next such call asks again."""
        service = self._of(caller.owner)
        key = GrantId(grant_id)
        await service.revoke(key)
        found = await service.grants(revoked=True)
        return next(GrantTold.of(each) for each in found if each.id == key)

    def _of(self, owner: str) -> ApprovalService:
        return ApprovalService(self._app.database, self._clock, owner)
