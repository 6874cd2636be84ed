"""Calling a skill: always in a sandbox, with JSON in and JSON out."""

import json
from dataclasses import dataclass

from long_running_agents.domain.events import Recorded
from long_running_agents.domain.skill import Brought, Json, Version
from long_running_agents.errors import NotFound, SkillFailed, UsageError
from long_running_agents.sandbox.result import ExecResult
from long_running_agents.skills import changing
from long_running_agents.skills.running import run
from long_running_agents.skills.validating import complaints
from long_running_agents.skills.workroom import Workroom
from long_running_agents.store import skills
from long_running_agents.store.database import Transaction

_PRINTED = 4000
_TRACED = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What a call gave."""

    value: object
    printed: str = ""
    duration_ms: float = 0.0

    def __str__(self) -> str:
        text = (
            self.value
            if isinstance(self.value, str)
            else json.dumps(self.value, ensure_ascii=False)
        )
        return f"{text}\n[printed]\n{self.printed}" if self.printed else text


class Calling:
    """Calls the skills of one owner, and keeps count."""

    def __init__(self, room: Workroom, owner: str) -> None:
        self._room = room
        self._owner = owner

    async def call(
        self, name: str, args: Json, *, where: Brought, context: Json, attended: bool = True
    ) -> Returned:
        """Call a skill in use.

        Args:
            name: The skill.
            args: What it is given.
            where: The conversation that asks.
            context: What a function that takes a context is given.
            attended: Whether somebody watches, so that a home without walls may run it.

        Raises:
            NotFound: No such skill is in use.
            UsageError: The arguments are not what it takes; nothing has run.
            SkillFailed: It broke, or returned something else than it said.
            SandboxUnavailable: No code can be run here.
        """
        version = (await self._room.shelves.of(self._owner)).get(name)
        if version is None or not version.interface.function:
            raise NotFound(f"No function {name!r} is in use.", hint="See 'lra skills list'.")
        if wrong := complaints(version.interface.parameters, args):
            raise UsageError(f"{name} cannot be called like this: {wrong}.")
        session = where.session_id or "skills"
        sandboxes = self._room.place(self._owner).sandboxes
        async with sandboxes.entered(session, attended=attended) as entered:
            result = await run(entered.sandbox, version, args, context)
        failure = _failure(version, result)
        await self._count(version, where, failure)
        if failure:
            raise SkillFailed(failure)
        return Returned(
            value=result.value,
            printed=result.stdout[:_PRINTED].rstrip(),
            duration_ms=result.duration_ms,
        )

    async def _count(self, version: Version, where: Brought, failure: str) -> None:
        now = self._room.clock.now()
        most = self._room.settings.failures

        def work(tx: Transaction) -> list[Recorded] | None:
            there = skills.count(tx, version.owner, version.name, failed=bool(failure), now=now)
            if not there or not failure or not most:
                return None
            skill = skills.get(tx, version.owner, version.name)
            if not skill.uses(version.number) or skill.failures_in_a_row < most:
                return None
            last = failure.splitlines()[0]
            why = f"it failed {skill.failures_in_a_row} times in a row; the last time: {last}"
            skills.disable(tx, version.owner, version.name, why, now)
            changing.note(tx, "disable", version, "policy", now)
            return changing.tell(tx, where, version, "disabled", why, now)

        news = await self._room.database.write(work)
        if news is not None:
            # Only then: to read a thousand skills anew after each failure would slow every step.
            self._room.shelves.changed(self._owner)
            self._room.announce(news)


def _failure(version: Version, result: ExecResult) -> str:
    """Why a call failed; empty when it did not."""
    if result.error is not None:
        told = f"{version.name} failed: {result.error.name}: {result.error.message}"
        trace = result.error.traceback[-_TRACED:].strip()
        return f"{told}\n{trace}" if trace else told
    if wrong := complaints(version.interface.returns, result.value):
        return f"{version.name} returned something else than it says: {wrong}."
    return ""
