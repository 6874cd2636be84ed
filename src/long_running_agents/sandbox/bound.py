"""The other side of an errand: a process takes its bounds upon itself, then does its work."""

import ctypes
import json
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterable
from math import ceil

from long_running_agents.sandbox import seccomp
from long_running_agents.sandbox.errand import OUT_OF_MEMORY, Bounds
from long_running_agents.sandbox.result import Json
from long_running_agents.sandbox.syscalls import MACHINES

_NO_NEW_PRIVILEGES, _PARENT_DEATH_SIGNAL, _SECCOMP, _FILTER = 38, 1, 22, 2
_EXECUTE = {"x86_64": (59, 322), "aarch64": (221, 281)}


def serve(work: Callable[[Json], Iterable[Json]]) -> None:
    """Hear what to do, take on the bounds, and tell what the work finds, line by line."""
    asked = json.load(sys.stdin)
    confine(Bounds(**asked["bounds"]))
    try:
        for line in work(asked["request"]):
            # At once: what was found counts, even if the rest never ends.
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def confine(bounds: Bounds) -> None:
    """Give up whatever the work does not need; there is no way back."""
    seconds = ceil(bounds.seconds)
    for what, most in (
        (resource.RLIMIT_DATA, bounds.memory),
        # A mapped file takes addresses, but no memory that nobody could have back.
        (resource.RLIMIT_AS, bounds.memory * 4 + bounds.mapped * 2),
        # Threads count together, so this is the second line behind the clock of the host.
        (resource.RLIMIT_CPU, seconds * (os.cpu_count() or 1)),
        (resource.RLIMIT_FSIZE, bounds.written),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _filter_calls(library)


def _filter_calls(library: ctypes.CDLL) -> None:
    """Neither a network nor another program: whoever takes over a parser finds little to do."""
    name = platform.machine()
    machine = MACHINES.get(name)
    if machine is None:
        return
    refused = (*_EXECUTE[name], machine.socket, machine.socketpair)
    steps = seccomp.build(machine, memory_files=True, also=refused)
    kept = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(kept))
    library.prctl(_SECCOMP, _FILTER, program, 0, 0)
