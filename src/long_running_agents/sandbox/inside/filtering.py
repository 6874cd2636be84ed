"""Puts our filter for system calls around this process, where nobody has done so before."""

import ctypes

_SET_SECCOMP = 22
_FILTER = 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def install(steps: bytes) -> bool:
    """Let the kernel judge every system call from now on; whether it does.

    It holds for all children too, and nothing takes it away again.
    """
    program = _Program(len(steps) // 8, steps)
    prctl = ctypes.CDLL(None).prctl
    return prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0
