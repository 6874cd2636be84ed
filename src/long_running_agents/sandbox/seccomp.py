"""The filter for system calls, as a program for the kernel's packet filter. No library needed."""

import errno
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

FORBIDDEN = MappingProxyType(
    {
        # name: (x86_64, aarch64); None where the processor has no such call.
        "acct": (163, 89),
        "add_key": (248, 217),
        "adjtimex": (159, 171),
        "bpf": (321, 280),
        "chroot": (161, 51),
        "clock_adjtime": (305, 266),
        "clock_settime": (227, 112),
        "delete_module": (176, 106),
        "fanotify_init": (300, 262),
        "finit_module": (313, 273),
        "fsconfig": (431, 431),
        "fsmount": (432, 432),
        "fsopen": (430, 430),
        "fspick": (433, 433),
        "init_module": (175, 105),
        "io_uring_enter": (426, 426),
        "io_uring_register": (427, 427),
        "io_uring_setup": (425, 425),
        "ioperm": (173, None),
        "iopl": (172, None),
        "kcmp": (312, 272),
        "kexec_file_load": (320, 294),
        "kexec_load": (246, 104),
        "keyctl": (250, 219),
        "listmount": (458, 458),
        "lookup_dcookie": (212, 18),
        "mbind": (237, 235),
        "memfd_secret": (447, 447),
        "migrate_pages": (256, 238),
        "modify_ldt": (154, None),
        "mount": (165, 40),
        "mount_setattr": (442, 442),
        "move_mount": (429, 429),
        "move_pages": (279, 239),
        # Memory in System V objects belongs to no process, so no watcher would see it.
        "msgget": (68, 186),
        "name_to_handle_at": (303, 264),
        "open_by_handle_at": (304, 265),
        "open_tree": (428, 428),
        "perf_event_open": (298, 241),
        "personality": (135, 92),
        "pidfd_getfd": (438, 438),
        "pivot_root": (155, 41),
        "process_madvise": (440, 440),
        "process_vm_readv": (310, 270),
        "process_vm_writev": (311, 271),
        "ptrace": (101, 117),
        "quotactl": (179, 60),
        "quotactl_fd": (443, 443),
        "reboot": (169, 142),
        "request_key": (249, 218),
        "semget": (64, 190),
        "set_mempolicy": (238, 237),
        "set_mempolicy_home_node": (450, 450),
        "setdomainname": (171, 162),
        "sethostname": (170, 161),
        "setns": (308, 268),
        "settimeofday": (164, 170),
        "shmget": (29, 194),
        "statmount": (457, 457),
        "swapoff": (168, 225),
        "swapon": (167, 224),
        "syslog": (103, 116),
        "umount2": (166, 39),
        "unshare": (272, 97),
        "uselib": (134, None),
        "userfaultfd": (323, 282),
        "vhangup": (153, 58),
    }
)

MODES = MappingProxyType(
    {
        # name: (x86_64, aarch64), and which argument is the mode that a file gets.
        "chmod": ((90, None), 1),
        "creat": ((85, None), 1),
        "fchmod": ((91, 52), 1),
        "fchmodat": ((268, 53), 2),
        "fchmodat2": ((452, 452), 2),
        "mknod": ((133, None), 1),
        "mknodat": ((259, 33), 2),
        "open": ((2, None), 2),
        "openat": ((257, 56), 3),
    }
)
"""What may not make a program that runs with the rights of its owner: others could run it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A processor, as far as the filter has to know it."""

    audit: int
    """The kernel's name for it (AUDIT_ARCH_…)."""
    column: int
    """Its column in the table above."""
    clone: int
    socket: int
    socketpair: int
    ioctl: int
    memfd_create: int
    clone3: int = 435
    openat2: int = 437
    newest: int = 463
    """The highest number known here; what came later is answered with «no such call»."""

    @property
    def forbidden(self) -> tuple[int, ...]:
        """The numbers that are refused whatever their arguments."""
        numbers = (pair[self.column] for pair in FORBIDDEN.values())
        return tuple(sorted(number for number in numbers if number is not None))

    @property
    def modes(self) -> tuple[tuple[int, int], ...]:
        """The numbers of calls that give a file its mode, and which argument it is."""
        found = ((pair[self.column], argument) for pair, argument in MODES.values())
        return tuple((number, argument) for number, argument in found if number is not None)


MACHINES = MappingProxyType(
    {
        "x86_64": Machine(
            audit=0xC000003E,
            column=0,
            clone=56,
            socket=41,
            socketpair=53,
            ioctl=16,
            memfd_create=319,
        ),
        "aarch64": Machine(
            audit=0xC00000B7,
            column=1,
            clone=220,
            socket=198,
            socketpair=199,
            ioctl=29,
            memfd_create=279,
        ),
    }
)


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
class BpfInstruction:
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
) -> Iterator[BpfInstruction]:
    """The steps of the filter."""
    yield BpfInstruction(_LOAD, _ARCHITECTURE)
    yield BpfInstruction(_EQUAL, machine.audit, yes=1)
    yield BpfInstruction(_RETURN, _KILL)
    yield BpfInstruction(_LOAD, _NUMBER)
    yield BpfInstruction(_AT_LEAST, _X32, no=1)
    yield BpfInstruction(_RETURN, _KILL)
    yield BpfInstruction(_AT_LEAST, machine.newest + 1, no=1)
    yield BpfInstruction(_RETURN, _ERROR | errno.ENOSYS)
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
    yield BpfInstruction(_RETURN, _ALLOW)


def _refuse(number: int, error: int) -> Iterator[BpfInstruction]:
    yield BpfInstruction(_EQUAL, number, no=1)
    yield BpfInstruction(_RETURN, _ERROR | error)


def _clone(number: int) -> Iterator[BpfInstruction]:
    yield BpfInstruction(_EQUAL, number, no=4)
    yield BpfInstruction(_LOAD, _FIRST)
    yield BpfInstruction(_ANY_BIT, _NAMESPACES, no=1)
    yield BpfInstruction(_RETURN, _ERROR | errno.EPERM)
    yield BpfInstruction(_RETURN, _ALLOW)


def _mode(number: int, argument: int) -> Iterator[BpfInstruction]:
    yield BpfInstruction(_EQUAL, number, no=4)
    yield BpfInstruction(_LOAD, _FIRST + argument * _ARGUMENT)
    yield BpfInstruction(_ANY_BIT, _SPECIAL, no=1)
    yield BpfInstruction(_RETURN, _ERROR | errno.EPERM)
    yield BpfInstruction(_RETURN, _ALLOW)


def _families(number: int) -> Iterator[BpfInstruction]:
    yield BpfInstruction(_EQUAL, number, no=len(_FAMILIES) + 3)
    yield BpfInstruction(_LOAD, _FIRST)
    for position, family in enumerate(_FAMILIES):
        yield BpfInstruction(_EQUAL, family, yes=len(_FAMILIES) - position)
    yield BpfInstruction(_RETURN, _ERROR | errno.EAFNOSUPPORT)
    yield BpfInstruction(_RETURN, _ALLOW)


def _terminal(number: int) -> Iterator[BpfInstruction]:
    yield BpfInstruction(_EQUAL, number, no=len(_TERMINAL) + 3)
    yield BpfInstruction(_LOAD, _SECOND)
    for position, request in enumerate(_TERMINAL):
        yield BpfInstruction(_EQUAL, request, yes=len(_TERMINAL) - position)
    yield BpfInstruction(_RETURN, _ALLOW)
    yield BpfInstruction(_RETURN, _ERROR | errno.EPERM)
