"""The second watch, from outside: for when what watches inside has been stopped itself."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox.spec import Limits

_Answer = TypeVar("_Answer")

_EVERY = 0.25
_MEMORY = 1.25
"""How much more than allowed is too much: the inner watch acts first, and keeps the state."""
_DISK = 8
"""The same for the room left on the disk, which others use as well."""


class Watcher:
    """Looks at a sandbox while a call runs, and ends the whole of it when it breaks its bounds."""

    def __init__(
        self,
        *,
        process: int,
        limits: Limits,
        workspace: Path,
        counted: bool,
        kill: Callable[[], None],
        clock: Clock,
    ) -> None:
        self.peak = 0
        """The most bytes of memory that were seen."""
        self._process = process
        self._limits = limits
        self._workspace = workspace
        self._counted = counted
        self._kill = kill
        self._clock = clock

    async def watching(self, calling: Coroutine[Any, Any, _Answer]) -> _Answer:
        """Wait for a call, and look at what it does now and then."""
        free = _free(self._workspace)
        call = asyncio.ensure_future(calling)
        try:
            while not await self._clock.wait(call, _EVERY):
                await self._look(free)
            return call.result()
        except asyncio.CancelledError:
            call.cancel()
            await asyncio.wait([call])
            raise

    async def _look(self, free: int) -> None:
        if free - _free(self._workspace) > _DISK * self._limits.workspace_bytes:
            self._kill()
        if not self._counted:
            used = await asyncio.to_thread(memory, self._process)
            self.peak = max(self.peak, used)
            if used > _MEMORY * self._limits.memory:
                self._kill()


def memory(top: int) -> int:
    """Bytes that a process and all below it hold together."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children.setdefault(_parent(entry), []).append(int(entry.name))
    tree = [top]
    for parent in tree:
        tree.extend(children.get(parent, []))
    return sum(_proportional(process) for process in tree)


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _proportional(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_bytes().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(b"Pss:")), 0)


def _free(folder: Path) -> int:
    try:
        about = os.statvfs(folder)
    except OSError:
        # The folder is gone, and the sandbox with it.
        return 0
    return about.f_bavail * about.f_frsize
