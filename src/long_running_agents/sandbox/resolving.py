"""How a path is resolved beneath a folder, without following anything."""

import ctypes
import errno
import os
import struct

ALWAYS = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
"""Flags of everything that is opened."""

_OPENAT2 = 437
_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 1, 2, 4, 8
_RESOLVE = _NO_XDEV | _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH


def open_beneath(root: int, path: str, flags: int) -> int:
    """Open a path beneath a folder; the kernel follows no link and leaves no file system."""
    how = struct.pack("QQQ", flags, 0o644 if flags & os.O_CREAT else 0, _RESOLVE)
    library = ctypes.CDLL(None, use_errno=True)
    file = library.syscall(_OPENAT2, root, os.fsencode(path), how, len(how))
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file


def open_by_parts(root: int, path: str, flags: int) -> int:
    """The same for kernels without openat2: one part at a time, following nothing."""
    if path.startswith("/"):
        raise OSError(errno.EXDEV, "outside")
    parts = [part for part in path.split("/") if part not in ("", ".")] or ["."]
    here = os.dup(root)
    try:
        for part in parts[:-1]:
            if part == "..":
                raise OSError(errno.EXDEV, "outside")
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | ALWAYS, dir_fd=here)
            os.close(here)
            here = below
        if parts[-1] == "..":
            raise OSError(errno.EXDEV, "outside")
        return os.open(parts[-1], flags, 0o644, dir_fd=here)
    finally:
        os.close(here)


def has_openat2() -> bool:
    """Whether this kernel can do that."""
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(open_beneath(root, ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        os.close(root)
    return True
