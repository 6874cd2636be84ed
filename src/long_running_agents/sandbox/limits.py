"""How the limits of a sandbox are kept: a cgroup of either version, or a watcher."""

import asyncio
import contextlib
import fcntl
import os
import secrets
import signal
import stat
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox.base import FailureName, SandboxLimits

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_PREFIX = "lra-"
_PERIOD = 100_000
"""Microseconds over which the processor's share is counted."""
_TRIES = 200
_PAUSE = 0.01
_YOUNG = 60
"""Seconds in which a group without a lock may still be in the making."""

_NEEDED = {"memory.max", "memory.limit_in_bytes", "pids.max"}

_Values = Callable[[SandboxLimits], dict[str, object]]


@dataclass(frozen=True, slots=True)
class Cgroup:
    """Folders that hold a sandbox's processes: one in version 2, one per kind in version 1."""

    folders: tuple[Path, ...]
    locks: list[int] = field(default_factory=list[int])
    """Held as long as this process lives: whoever gets one may take its folder away."""

    def add(self, process: int) -> None:
        """Put a process in; its children will be in too.

        Raises:
            FileNotFoundError: Somebody took the group away.
        """
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(process))

    def kills(self) -> int:
        """How many processes were killed for their memory."""
        for name in ("memory.oom_control", "memory.events"):
            # Asked before and after every call, so in the fast way.
            with contextlib.suppress(OSError):
                counter = os.open(self.folders[0] / name, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    words = os.read(counter, 4096).split()
                finally:
                    os.close(counter)
                return int(words[words.index(b"oom_kill") + 1])
        return 0

    def peak(self) -> int:
        """The most bytes that were ever in use at once; 0 when nobody counted."""
        for folder in self.folders:
            for name in ("memory.peak", "memory.max_usage_in_bytes"):
                with contextlib.suppress(OSError):
                    return int((folder / name).read_text())
        return 0

    async def remove(self, clock: Clock) -> None:
        """End whatever is left in it, and take it away."""
        while self.locks:
            os.close(self.locks.pop())
        for folder in self.folders:
            for _ in range(_TRIES):
                with contextlib.suppress(OSError):
                    for process in map(int, (folder / "cgroup.procs").read_text().split()):
                        # A process of another namespace is listed as 0, which would mean us.
                        if process > 1:
                            os.kill(process, signal.SIGKILL)
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    await clock.sleep(_PAUSE)


def make(limits: SandboxLimits, root: Path = _ROOT, own: Path = _OWN) -> Cgroup | None:
    """Make a cgroup with these limits; None where that is not allowed."""
    name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    for places in _places(root, own):
        made: list[Path] = []
        locks: list[int] = []
        try:
            for place, values in places:
                folder = place / name
                folder.mkdir()
                made.append(folder)
                locks.append(_lock(folder))
                _write(folder, values(limits))
                _sweep(place, folder)
        except OSError:
            for lock in locks:
                os.close(lock)
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            continue
        return Cgroup(tuple(made), locks)
    return None


def _lock(folder: Path) -> int:
    """Hold a folder: a number of a process says nothing where others have numbers of their own."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def _sweep(place: Path, own: Path) -> None:
    """Take away what processes that were killed have left behind; it is empty by now."""
    now = own.stat().st_mtime
    for folder in place.glob(f"{_PREFIX}*-*"):
        with contextlib.suppress(OSError):
            if folder != own and now - folder.stat().st_mtime > _YOUNG:
                lock = _lock(folder)
                try:
                    folder.rmdir()
                finally:
                    os.close(lock)


def _write(folder: Path, values: dict[str, object]) -> None:
    for name, value in values.items():
        try:
            (folder / name).write_text(str(value))
        except OSError:
            # The share of the processor, or of swap, is not always ours to say.
            if name in _NEEDED:
                raise


def _unified(limits: SandboxLimits) -> dict[str, object]:
    share = int(limits.cpus * _PERIOD)
    return {
        "memory.max": limits.memory,
        "memory.swap.max": 0,
        "pids.max": limits.processes,
        "cpu.max": f"{share} {_PERIOD}",
    }


_VERSION_1: dict[str, _Values] = {
    "memory": lambda limits: {
        "memory.limit_in_bytes": limits.memory,
        "memory.swappiness": 0,
    },
    "pids": lambda limits: {"pids.max": limits.processes},
    "cpu": lambda limits: {
        "cpu.cfs_period_us": _PERIOD,
        "cpu.cfs_quota_us": int(limits.cpus * _PERIOD),
    },
}


def _places(root: Path, own: Path) -> Iterator[list[tuple[Path, _Values]]]:
    """Where a cgroup could be made, best first."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return
    mine = {kind: path.lstrip("/") for _, kinds, path in lines for kind in kinds.split(",")}
    if (root / "cgroup.controllers").exists():
        here = root / mine.get("", "")
        # Beside us: a group that holds processes may have no groups with limits below it.
        yield [(here.parent if here != root else root, _unified)]
        yield [(root, _unified)]
    elif set(_VERSION_1) <= set(mine):
        yield [(root / kind / mine[kind], values) for kind, values in _VERSION_1.items()]


_MEMORY = 1.25
"""How much more memory than allowed is too much."""
_DISK = 2
"""How much more than allowed is too much in the workspace."""
_DISK_EVERY = 1.0
_DISK_SHARE = 20
"""How many times longer than a look at the workspace takes the next one waits at least."""
_PATIENCE = {FailureName.MEMORY: 0.5, FailureName.DISK: 1.5}
"""Seconds for which it has to be too much. The inner watch acts sooner, and keeps the state."""


@dataclass(kw_only=True)
class SandboxWatcher:
    """Looks at a sandbox while a call runs, and ends the whole of it when it breaks its bounds."""

    process: int
    """The top of the sandbox's processes."""
    limits: SandboxLimits
    workspace: Path
    counted: bool
    """Whether a cgroup counts the memory."""
    kill: Callable[[], None]
    clock: Clock
    peak: int = field(default=0, init=False)
    """The most bytes of memory that were seen in a call."""
    ended_for: FailureName | None = field(default=None, init=False)
    """Which bound the sandbox was ended for."""
    _full: bool = field(default=False, init=False)
    """Whether the workspace was too full when it was last looked at."""
    _next_look: float = field(default=0.0, init=False)
    _since: float | None = field(default=None, init=False)
    """When it first was too much, if it still is."""

    def watch(self) -> Callable[[], Coroutine[Any, Any, None]]:
        """Begin with a call; hands back what is to be done now and then while it runs."""
        self._full, self._since, self.peak = False, None, 0
        self._next_look = self.clock.monotonic() + _DISK_EVERY
        return self._look

    async def _look(self) -> None:
        exceeded = await asyncio.to_thread(self._exceeded)
        now = self.clock.monotonic()
        if exceeded is None:
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since >= _PATIENCE[exceeded]:
            self.ended_for = exceeded
            self.kill()

    def _exceeded(self) -> FailureName | None:
        """The bound that is exceeded at present."""
        if not self.counted:
            used = memory(self.process)
            self.peak = max(self.peak, used)
            if used > _MEMORY * self.limits.memory:
                return FailureName.MEMORY
        begun = self.clock.monotonic()
        if begun >= self._next_look:
            self._full = self._is_full()
            spent = self.clock.monotonic() - begun
            self._next_look = begun + max(_DISK_EVERY, _DISK_SHARE * spent)
        return FailureName.DISK if self._full else None

    def _is_full(self) -> bool:
        size, entries = usage(self.workspace, _DISK * self.limits.workspace_files)
        if entries > _DISK * self.limits.workspace_files:
            return True
        return size + nameless(self.process) > _DISK * self.limits.workspace_bytes


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
