"""Filing: what lies in the folder of skills becomes proposals, and what cannot is listed."""

import asyncio
import logging

from long_running_agents.domain.skill import Problem
from long_running_agents.errors import LraError, StorageFailed
from long_running_agents.skills import shelving
from long_running_agents.skills.library import Library
from long_running_agents.skills.shelving import Found
from long_running_agents.skills.workroom import Workroom
from long_running_agents.store import skill_problems, skills

log = logging.getLogger(__name__)

_REST = 5.0
"""Seconds between two looks at one folder."""


class Filing:
    """Looks into the folders of owners, now and then, and in nobody's way."""

    def __init__(self, room: Workroom, library: Library) -> None:
        self._room = room
        self._library = library
        self._looked: dict[str, float] = {}
        self._seen: dict[str, tuple[str | None, set[str], list[Problem]]] = {}
        """What the last look began with: the stamp of the folder, and what was known."""
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def nudge(self, owner: str) -> None:
        """Look into an owner's folder soon, unless somebody just did."""
        now = self._room.clock.monotonic()
        running = self._tasks.get(owner)
        if (running is None or running.done()) and now - self._looked.get(owner, -_REST) >= _REST:
            self._looked[owner] = now
            self._tasks[owner] = asyncio.create_task(self._guarded(owner))

    async def settled(self) -> None:
        """Wait for the looks that were begun."""
        await asyncio.gather(*self._tasks.values())

    async def close(self) -> None:
        """Look no more."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def look(self, owner: str) -> list[Problem]:
        """Propose what is new in an owner's folder; what is wrong with the rest.

        A folder that has not changed is not read again, unless what is known of skills has.
        """
        workspace = self._room.place(owner).workspace
        # Before anything is read: what changes meanwhile is another stamp the next time.
        stamp = await asyncio.to_thread(shelving.stamp, workspace)
        known, before = await self._room.database.read(
            lambda tx: (skills.digests(tx, owner), skill_problems.every(tx, owner))
        )
        seen = stamp, known, before
        if stamp is not None and self._seen.get(owner) == seen:
            return before
        found = await asyncio.to_thread(shelving.found, workspace)
        old = {(problem.path, problem.digest): problem for problem in before}
        library = self._library.of(owner)
        problems: list[Problem] = []
        for each in found:
            if each.digest in known:
                continue
            problem = old.get((each.path, each.digest)) or await self._file(library, owner, each)
            if problem is not None:
                problems.append(problem)
        if problems != before:
            await self._room.database.write(lambda tx: skill_problems.put(tx, owner, problems))
        self._seen[owner] = seen
        return problems

    async def _file(self, library: Library, owner: str, found: Found) -> Problem | None:
        error = found.error
        if found.draft is not None:
            try:
                await library.offer(found.draft)
            except StorageFailed:
                raise
            except LraError as refusal:
                error = str(refusal)
            else:
                return None
        return Problem(
            owner=owner,
            path=found.path,
            digest=found.digest,
            error=error,
            seen_at=self._room.clock.now(),
        )

    async def _guarded(self, owner: str) -> None:
        try:
            await self.look(owner)
        except Exception:  # Whatever lies in a folder, the agent goes on.
            log.exception("the skills of %s could not be looked at", owner)
