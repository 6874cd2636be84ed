"""What was learned: shown, read from finished turns, put aside, and taken back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.reflection import Learned, LearnedState, ReflectionReport
from long_running_agents.errors import NotConfigured
from long_running_agents.jobs.curator import Curator
from long_running_agents.store import learned


class Reflect(Protocol):
    """Reads the turns of an owner that were not read yet: `jobs.reflection.Reflector.reflect`."""

    async def __call__(self, owner: str, session_id: SessionId | None = None) -> ReflectionReport:
        """Read those of one session, or of all that are quiet."""
        ...


@dataclass(frozen=True, slots=True)
class LearnedService:
    """Shows an owner what was learned, and takes it back."""

    curator: Curator
    reflector: Reflect | None
    """Whoever reads finished turns; None when nothing is remembered."""
    owner: str

    def of(self, owner: str) -> "LearnedService":
        """The same service for somebody else."""
        return replace(self, owner=owner)

    async def every(
        self, *, state: LearnedState | None = None, limit: int = 100
    ) -> Sequence[Learned]:
        """What was learned, merged, put aside or refused, the newest first."""
        return await self.curator.database.read(
            lambda tx: learned.every(tx, self.owner, state=state, limit=limit)
        )

    async def reflect(self, session_id: SessionId | None = None) -> ReflectionReport:
        """Read the turns that were not read yet, of one session or of all that are quiet."""
        if self.reflector is None:
            raise NotConfigured(
                "Nothing is remembered, so nothing can be learned.",
                hint="Set memory.enabled to true.",
            )
        return await self.reflector(self.owner, session_id)

    async def curate(self) -> ReflectionReport:
        """Put aside what is unused, outdated or there twice."""
        return ReflectionReport(learned=tuple(await self.curator.curate(self.owner)))

    async def undo(self, number: int) -> Learned:
        """Take back what reflection or the curator did with one thing, within 30 days."""
        return await self.curator.undo(self.owner, number)
