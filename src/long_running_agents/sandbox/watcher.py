"""The second watch, from outside: for when what watches inside has been stopped itself."""

import asyncio
import contextlib
import os
import stat
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox.spec import Limits

_MEMORY = 1.25
"""How much more memory than allowed is too much."""
_MEMORY_PATIENCE = 0.5
_DISK = 2
"""How much more than allowed is too much in the workspace."""
_DISK_EVERY = 1.0
_DISK_SHARE = 20
"""How many times longer than a look at the workspace takes the next one waits at least."""
_DISK_PATIENCE = 1.5
"""Seconds for which it has to be too much. The inner watch acts sooner, and keeps the state."""


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
        self.process = process
        """The top of the sandbox's processes."""
        self._limits = limits
        self._workspace = workspace
        self._counted = counted
        self._kill = kill
        self._clock = clock
        self._full = False
        """Whether the workspace was too full when it was last looked at."""
        self._next_look = 0.0
        self._since: float | None = None
        """When it first was too much, if it still is."""

    def watch(self) -> Callable[[], Coroutine[Any, Any, None]]:
        """Begin with a call; hands back what is to be done now and then while it runs."""
        self._full, self._since = False, None
        self._next_look = self._clock.monotonic() + _DISK_EVERY
        return self._look

    async def _look(self) -> None:
        patience = await asyncio.to_thread(self._patience)
        now = self._clock.monotonic()
        if patience is None:
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since >= patience:
            self._kill()

    def _patience(self) -> float | None:
        """How long the present use can be borne; None if it is within its bounds."""
        if not self._counted:
            used = memory(self.process)
            self.peak = max(self.peak, used)
            if used > _MEMORY * self._limits.memory:
                return _MEMORY_PATIENCE
        begun = self._clock.monotonic()
        if begun >= self._next_look:
            self._full = self._is_full()
            spent = self._clock.monotonic() - begun
            self._next_look = begun + max(_DISK_EVERY, _DISK_SHARE * spent)
        return _DISK_PATIENCE if self._full else None

    def _is_full(self) -> bool:
        size, entries = usage(self._workspace, _DISK * self._limits.workspace_files)
        if entries > _DISK * self._limits.workspace_files:
            return True
        return size + nameless(self.process) > _DISK * self._limits.workspace_bytes


def memory(top: int) -> int:
    """Bytes that a process and all below it hold together."""
    return sum(_proportional(process) for process in living(top))


def usage(folder: Path, most: int) -> tuple[float, int]:
    """Bytes and entries below a folder, up to so many; without end, where it cannot be seen."""
    size = entries = 0
    left = [os.fspath(folder)]
    while left and entries <= most:
        try:
            with os.scandir(left.pop()) as found:
                for entry in found:
                    entries += 1
                    about = entry.stat(follow_symlinks=False)
                    size += about.st_blocks * 512
                    if stat.S_ISDIR(about.st_mode):
                        left.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            # Somebody works there while we look.
            continue
        except OSError:
            return float("inf"), entries
    return size, entries


def nameless(top: int) -> int:
    """Bytes of deleted files that a process or one below it still holds open."""
    found: dict[tuple[int, int], int] = {}
    for process in living(top):
        for held in _held(process):
            with contextlib.suppress(OSError):
                about = held.stat()
                if about.st_nlink == 0 and stat.S_ISREG(about.st_mode):
                    found[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sum(found.values())


def _held(process: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return []


def living(top: int) -> list[int]:
    """A process, and all below it that have not ended."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children.setdefault(_parent(entry), []).append(int(entry.name))
    tree = [top]
    for parent in tree:
        tree.extend(children.get(parent, []))
    return tree


def _parent(process: Path) -> int:
    """Whose child a process is; nobody's, if it has ended."""
    try:
        state, parent = (process / "stat").read_bytes().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return 0
    return 0 if state in b"ZX" else int(parent)


def _proportional(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_bytes().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(b"Pss:")), 0)
