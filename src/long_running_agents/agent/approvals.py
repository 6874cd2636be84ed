"""Approvals as a service: what waits for an answer, what was granted, what was decided."""

from collections.abc import Sequence

from long_running_agents.domain.approval import Approval
from long_running_agents.domain.grant import Grant
from long_running_agents.domain.ids import ApprovalId, GrantId, SessionId
from long_running_agents.domain.judgement import Judgement
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE
from long_running_agents.store import approvals, decisions, grants, sessions
from long_running_agents.store.database import Database, Transaction


class ApprovalService:
    """Looks after the questions about one owner's calls; the front desk takes the answers."""

    def __init__(self, database: Database, clock: Clock, owner: str = MINE) -> None:
        self._database = database
        self._clock = clock
        self._owner = owner

    async def open_questions(self, session_id: SessionId | None = None) -> Sequence[Approval]:
        """Questions that can still be answered, the oldest first."""
        now = self._clock.now()

        def work(tx: Transaction) -> list[Approval]:
            self._check(tx, session_id)
            found = approvals.open_questions(tx, session_id, owner=self._owner)
            # An alarm writes down that they have expired; looking changes nothing.
            return [each for each in found if not each.overdue(now)]

        return await self._database.read(work)

    async def get(self, approval_id: ApprovalId) -> Approval:
        """Look a question up."""
        return await self._database.read(
            lambda tx: approvals.get(tx, approval_id, owner=self._owner)
        )

    async def grants(self, *, revoked: bool = False) -> Sequence[Grant]:
        """What was allowed for a session or for always, the newest first."""
        return await self._database.read(
            lambda tx: grants.of_owner(tx, self._owner, revoked=revoked)
        )

    async def revoke(self, grant_id: GrantId) -> Grant:
        """Take a grant back: the next such call asks again."""
        now = self._clock.now()
        return await self._database.write(lambda tx: grants.revoke(tx, self._owner, grant_id, now))

    async def log(
        self, *, limit: int = 50, session_id: SessionId | None = None
    ) -> Sequence[Judgement]:
        """What was decided about calls, the newest first."""
        return await self._database.read(
            lambda tx: decisions.newest(tx, self._owner, limit=limit, session_id=session_id)
        )

    def _check(self, tx: Transaction, session_id: SessionId | None) -> None:
        if session_id is not None:
            sessions.get(tx, session_id, owner=self._owner)
