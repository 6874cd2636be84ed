"""The processes below this one: who they are, what they use, and how they end."""

from __future__ import annotations

import os
import time
from _ctypes import call_function, dlopen, dlsym

from .lean import signal, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_SUBREAPER = 36
_DUMPABLE = 4
_ROUNDS = 1000
_PAUSE = 0.001

_PRCTL = dlsym(dlopen(None, 0), "prctl")  # pyright: ignore[reportArgumentType]


def adopt_orphans() -> None:
    """Become the parent of whatever is left behind, so that nothing leaves our tree."""
    _prctl(_SUBREAPER, 1)


def hide() -> None:
    """Close our memory and descriptors to other processes of the same user."""
    _prctl(_DUMPABLE, 0)


def show() -> None:
    """Undo hide, so that a worker's memory can be counted."""
    _prctl(_DUMPABLE, 1)


def _prctl(option: int, value: int) -> None:
    call_function(_PRCTL, (option, value, 0, 0, 0))


def below() -> list[int]:
    """Every living process that descends from this one."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            found = _state_and_parent(name)
            if found is not None and found[0] not in "ZX":
                children.setdefault(found[1], []).append(int(name))
    tree = children.get(os.getpid(), [])
    for parent in tree:
        tree.extend(children.get(parent, []))
    return tree


def lives(process: int) -> bool:
    """Whether a process is there and not just a memory."""
    found = _state_and_parent(str(process))
    return found is not None and found[0] not in "ZX"


def _state_and_parent(name: str) -> tuple[str, int] | None:
    try:
        file = os.open(f"/proc/{name}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        # The name of the program may hold anything, so it is skipped from the right.
        fields = os.read(file, 4096).rpartition(b")")[2].split(None, 2)
        return fields[0].decode(), int(fields[1])
    except (OSError, IndexError, ValueError):
        return None
    finally:
        os.close(file)


def tell(kind: int, keep: Collection[int]) -> int:
    """Send a signal to everything below us but the kept ones."""
    told = 0
    for process in below():
        if process not in keep:
            with suppress(OSError):
                os.kill(process, kind)
                told += 1
    return told


def end_all(keep: Collection[int]) -> tuple[int, bool]:
    """Kill everything below us but the kept ones: how many, and whether all are gone."""
    ended = 0
    for _ in range(_ROUNDS):
        told = tell(signal.SIGKILL, keep)
        reap()
        if not told:
            return ended, True
        ended += told
        time.sleep(_PAUSE)
    return ended, False


def reap() -> None:
    """Take leave of children that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


class Hidden(Exception):
    """A process does not let its memory be counted."""


def memory(keep_out: Collection[int] = ()) -> int:
    """Bytes that all processes below us hold together."""
    total = 0
    shared: dict[str, int] = {}
    for process in below():
        if process not in keep_out:
            total += _proportional(process, shared)
    return total + sum(shared.values())


def _proportional(process: int, shared: dict[str, int]) -> int:
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            size = next((line.split()[1] for line in file if line.startswith(b"Pss:")), b"0")
        with open(f"/proc/{process}/maps", "rb") as file:
            _note_shared(file.read(), shared)
    except PermissionError as error:
        raise Hidden from error
    except OSError:
        return 0
    return int(size) << 10


def _note_shared(maps: bytes, shared: dict[str, int]) -> None:
    """Count shared memory by its size: pages can be in use while no process shows them."""
    for line in maps.split(b"\n"):
        # A range, its rights, an offset, a device, an inode, and a name.
        where, rights, *rest = line.split(None, 5) or (b"", b"")
        if rights.endswith(b"s") and rest[-1].startswith(b"/dev/zero"):
            begin, _, end = where.partition(b"-")
            size = int(end, 16) - int(begin, 16)
            inode = rest[2].decode()
            shared[inode] = max(size, shared.get(inode, 0))
