"""The filter for system calls, as a program for the kernel's packet filter. No library needed."""

import errno
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from long_running_agents.sandbox.syscalls import Machine

_LOAD = 0x20
_EQUAL = 0x15
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_RETURN = 0x06

_ALLOW = 0x7FFF_0000
_KILL = 0x8000_0000
_ERROR = 0x0005_0000

# Where the kernel puts what is looked at. Arguments are compared by their low half only: the
# kernel itself reads no more of these, and a number padded above would slip by a wider look.
_NUMBER = 0
_ARCHITECTURE = 4
_FIRST = 16
_SECOND = 24
_ARGUMENT = 8

_X32 = 0x4000_0000
"""Numbers from here on are the x32 way in, for which other numbers hold."""
_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET and AF_INET6. Not netlink, and not vsock, which reaches the hypervisor."""
_NAMESPACES = 0x7E02_0000
"""The clone flags that make namespaces."""
_SPECIAL = 0o6000
"""The bits of a mode that lend a program the rights of its owner or group."""
_TERMINAL = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into somebody's terminal."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of the program: jumps are counted in steps to leave out."""

    code: int
    value: int
    yes: int = 0
    no: int = 0

    def packed(self) -> bytes:
        """As the kernel reads it."""
        return struct.pack("<HBBI", self.code, self.yes, self.no, self.value)


def build(machine: Machine, *, memory_files: bool, also: Iterable[int] = ()) -> bytes:
    """The filter for a processor.

    Args:
        machine: The processor.
        memory_files: Whether memory may be kept in anonymous files. Where no cgroup counts it,
            nobody would.
        also: Numbers of further calls to refuse.
    """
    steps = program(machine, memory_files=memory_files, also=also)
    return b"".join(step.packed() for step in steps)


def program(
    machine: Machine, *, memory_files: bool, also: Iterable[int] = ()
) -> Iterator[Instruction]:
    """The steps of the filter."""
    yield Instruction(_LOAD, _ARCHITECTURE)
    yield Instruction(_EQUAL, machine.audit, yes=1)
    yield Instruction(_RETURN, _KILL)
    yield Instruction(_LOAD, _NUMBER)
    yield Instruction(_AT_LEAST, _X32, no=1)
    yield Instruction(_RETURN, _KILL)
    yield Instruction(_AT_LEAST, machine.newest + 1, no=1)
    yield Instruction(_RETURN, _ERROR | errno.ENOSYS)
    for number in (*also, *machine.forbidden):
        yield from _refuse(number, errno.EPERM)
    if not memory_files:
        yield from _refuse(machine.memfd_create, errno.ENOSYS)
    # Their flags are behind a pointer, which no filter can follow; libc then uses older ones.
    yield from _refuse(machine.clone3, errno.ENOSYS)
    yield from _refuse(machine.openat2, errno.ENOSYS)
    for number, argument in machine.modes:
        yield from _mode(number, argument)
    yield from _clone(machine.clone)
    yield from _families(machine.socket)
    yield from _families(machine.socketpair)
    yield from _terminal(machine.ioctl)
    yield Instruction(_RETURN, _ALLOW)


def _refuse(number: int, error: int) -> Iterator[Instruction]:
    yield Instruction(_EQUAL, number, no=1)
    yield Instruction(_RETURN, _ERROR | error)


def _clone(number: int) -> Iterator[Instruction]:
    yield Instruction(_EQUAL, number, no=4)
    yield Instruction(_LOAD, _FIRST)
    yield Instruction(_ANY_BIT, _NAMESPACES, no=1)
    yield Instruction(_RETURN, _ERROR | errno.EPERM)
    yield Instruction(_RETURN, _ALLOW)


def _mode(number: int, argument: int) -> Iterator[Instruction]:
    yield Instruction(_EQUAL, number, no=4)
    yield Instruction(_LOAD, _FIRST + argument * _ARGUMENT)
    yield Instruction(_ANY_BIT, _SPECIAL, no=1)
    yield Instruction(_RETURN, _ERROR | errno.EPERM)
    yield Instruction(_RETURN, _ALLOW)


def _families(number: int) -> Iterator[Instruction]:
    yield Instruction(_EQUAL, number, no=len(_FAMILIES) + 3)
    yield Instruction(_LOAD, _FIRST)
    for position, family in enumerate(_FAMILIES):
        yield Instruction(_EQUAL, family, yes=len(_FAMILIES) - position)
    yield Instruction(_RETURN, _ERROR | errno.EAFNOSUPPORT)
    yield Instruction(_RETURN, _ALLOW)


def _terminal(number: int) -> Iterator[Instruction]:
    yield Instruction(_EQUAL, number, no=len(_TERMINAL) + 3)
    yield Instruction(_LOAD, _SECOND)
    for position, request in enumerate(_TERMINAL):
        yield Instruction(_EQUAL, request, yes=len(_TERMINAL) - position)
    yield Instruction(_RETURN, _ALLOW)
    yield Instruction(_RETURN, _ERROR | errno.EPERM)
