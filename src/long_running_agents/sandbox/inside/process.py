"""This process and those below it: their settings and limits, who they are, and how they end."""

from __future__ import annotations

import os
import resource
import time
from _ctypes import call_function, dlopen, dlsym

from .frames import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Collection

    from .frames import Message
else:
    # What the module signal is made of, without the milliseconds that it takes to import.
    import _signal as signal

_SUBREAPER = 36
_DUMPABLE = 4
_ROUNDS = 1000
_PAUSE = 0.001
_SET_SECCOMP = 22
_FILTER = 2

_PRCTL = dlsym(dlopen(None, 0), "prctl")  # pyright: ignore[reportArgumentType]


class KernelConfig:
    """The first message of the host."""

    def __init__(self, message: Message) -> None:
        self.workspace: str = message["workspace"]
        """The folder that is worked in."""
        self.memory: int = message["memory"]
        self.address_space: int = message["address_space"]
        """Bytes one process may map; 0 where a cgroup counts what is really used."""
        self.processes: int = message["processes"]
        self.file_size: int = message["file_size"]
        self.descriptors: int = message["descriptors"]
        self.processor_seconds: int = message["processor_seconds"]
        self.workspace_bytes: int = message["workspace_bytes"]
        self.workspace_files: int = message["workspace_files"]
        self.output_kept: int = message["output_kept"]
        self.output_killed: int = message["output_killed"]
        self.grace: float = message["grace"]
        self.transactional: bool = message["transactional"]
        self.watch_memory: bool = message["watch_memory"]
        """Whether nobody else watches it."""
        self.proxy: str = message["proxy"]
        """The socket of the host's proxy; empty without network."""
        self.paths: list[str] = message["paths"]
        """Folders of packages."""
        self.filter: dict[str, str] = message.get("filter", {})
        """Our filter of system calls for each machine, where the walls have none; in hex."""


def apply_limits(config: KernelConfig, memory: int | None = None) -> None:
    """Bound this process and all that it will start."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: min(config.memory, memory or config.memory),
        resource.RLIMIT_AS: config.address_space,
        resource.RLIMIT_NPROC: config.processes,
        resource.RLIMIT_FSIZE: config.file_size,
        resource.RLIMIT_NOFILE: config.descriptors,
        resource.RLIMIT_CPU: config.processor_seconds,
    }
    for kind, most in wanted.items():
        if most or kind == resource.RLIMIT_CORE:
            allowed = resource.getrlimit(kind)[1]
            if allowed != resource.RLIM_INFINITY:
                most = min(most, allowed)  # noqa: PLW2901 - a limit can only be lowered
            resource.setrlimit(kind, (most, most))


def install_filter(steps: bytes) -> bool:
    """Put our filter for system calls around this process; whether it is there.

    It holds for all children too, and nothing takes it away again.
    """
    # Only where the walls have none, since it takes a while to import.
    import ctypes  # noqa: PLC0415

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    program = Program(len(steps) // 8, steps)
    prctl = ctypes.CDLL(None).prctl
    return prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0


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


def memory() -> int:
    """Bytes that all processes below us hold together."""
    shared: dict[str, int] = {}
    total = sum(_proportional(process, shared) for process in below())
    return total + sum(shared.values())


def _proportional(process: int, shared: dict[str, int]) -> int:
    ours = False
    try:
        # A fork of ours shows itself, and leaves our session, before it runs foreign code: one that
        # has not yet been given the processor to do so is as hidden as we are.
        ours = os.getsid(process) == os.getsid(0)
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            size = next((line.split()[1] for line in file if line.startswith(b"Pss:")), b"0")
        with open(f"/proc/{process}/maps", "rb") as file:
            _note_shared(file.read(), shared)
    except PermissionError as error:
        if ours:
            return 0
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
