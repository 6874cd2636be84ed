"""The doctor: is everything in order, as `lra doctor` tells it."""

import asyncio

from fastapi import APIRouter
from pydantic import ConfigDict

from long_running_agents.checks import Check, State, examine_all
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.redaction import Redactor
from long_running_agents.server.bodies import JsonRoute
from long_running_agents.server.callers import Administering
from long_running_agents.server.switching import Switching
from long_running_agents.server.wire.shapes import Told


class CheckTold(Told):
    """One finding."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "disk",
                "state": "warning",
                "detail": "0.4 GB free",
                "fix": "Free some space soon.",
            }
        }
    )

    name: str
    state: State
    detail: str
    fix: str
    """What to do about it; empty where nothing has to be done."""

    @classmethod
    def of(cls, check: Check, redact: Redactor) -> "CheckTold":
        """A finding, told without secrets."""
        return cls(
            name=check.name,
            state=check.state,
            detail=redact(check.detail),
            fix=redact(check.fix),
        )


class Examination(Told):
    """Everything that was looked at."""

    sound: bool
    """Whether there is no problem; warnings are none."""
    checks: list[CheckTold]


class DoctorRoutes:
    """What `lra doctor` looks at."""

    def __init__(self, clock: Clock, switching: Switching) -> None:
        self._clock = clock
        self._switching = switching
        self._turn = asyncio.Lock()

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(prefix="/api/doctor", tags=["doctor"], route_class=JsonRoute)
        router.get("")(self.examine)
        return router

    async def examine(self, caller: Administering) -> Examination:
        """Check that everything is in order; nothing is changed, and no model is asked."""
        del caller
        loaded = self._switching.loaded
        # One after another, and not in our way: some look at disks and start programs.
        async with self._turn:
            found = await asyncio.to_thread(examine_all, loaded, self._clock)
        return Examination(
            sound=all(check.state is not State.PROBLEM for check in found),
            checks=[CheckTold.of(check, loaded.redact) for check in found],
        )
