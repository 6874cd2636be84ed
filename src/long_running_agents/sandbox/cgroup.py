"""A cgroup for one sandbox, of either version, where this process may make one."""

import contextlib
import os
import secrets
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from long_running_agents.domain.ports import Clock
from long_running_agents.sandbox.spec import Limits

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_PREFIX = "lra-"
_PERIOD = 100_000
"""Microseconds over which the processor's share is counted."""
_TRIES = 200
_PAUSE = 0.01

_NEEDED = {"memory.max", "memory.limit_in_bytes", "pids.max"}

_Values = Callable[[Limits], dict[str, object]]


@dataclass(frozen=True, slots=True)
class Cgroup:
    """Folders that hold a sandbox's processes: one in version 2, one per kind in version 1."""

    folders: tuple[Path, ...]

    def add(self, process: int) -> None:
        """Put a process in; its children will be in too."""
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


def make(limits: Limits, root: Path = _ROOT, own: Path = _OWN) -> Cgroup | None:
    """Make a cgroup with these limits; None where that is not allowed."""
    name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    for places in _places(root, own):
        made: list[Path] = []
        try:
            for place, values in places:
                _sweep(place)
                folder = place / name
                folder.mkdir()
                made.append(folder)
                _write(folder, values(limits))
        except OSError:
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            continue
        return Cgroup(tuple(made))
    return None


def _sweep(place: Path) -> None:
    """Take away what processes that were killed have left behind; it is empty by now."""
    for folder in place.glob(f"{_PREFIX}*-*"):
        maker = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if maker.isdigit() and not Path("/proc", maker).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


def _write(folder: Path, values: dict[str, object]) -> None:
    for name, value in values.items():
        try:
            (folder / name).write_text(str(value))
        except OSError:
            # The share of the processor, or of swap, is not always ours to say.
            if name in _NEEDED:
                raise


def _unified(limits: Limits) -> dict[str, object]:
    share = int(limits.cpus * _PERIOD)
    return {
        "memory.max": limits.memory,
        "memory.swap.max": 0,
        "pids.max": limits.processes,
        "cpu.max": f"{share} {_PERIOD}",
    }


def _memory(limits: Limits) -> dict[str, object]:
    return {"memory.limit_in_bytes": limits.memory, "memory.swappiness": 0}


def _processes(limits: Limits) -> dict[str, object]:
    return {"pids.max": limits.processes}


def _processor(limits: Limits) -> dict[str, object]:
    return {"cpu.cfs_period_us": _PERIOD, "cpu.cfs_quota_us": int(limits.cpus * _PERIOD)}


_VERSION_1 = {"memory": _memory, "pids": _processes, "cpu": _processor}


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
