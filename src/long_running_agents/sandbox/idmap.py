"""Mounts a folder so that what belongs to one user is seen, and written, as another's.

Run as a program by the superuser, in a mount namespace of its own: nothing on disk changes hands.
"""

import ctypes
import os
import signal
import struct
import sys

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE, _CLOEXEC, _RECURSIVE, _EMPTY_PATH = 1, os.O_CLOEXEC, 0x8000, 0x1000
_FROM_EMPTY_PATH = 4
_IDMAP = 0x100000
_HERE = -100
_NEW_USER = 0x10000000


def mount(source: str, target: str, user: int) -> None:
    """Show a folder of the superuser's at another place, as a user's own.

    Raises:
        OSError: This kernel, or the file system of the folder, cannot.
    """
    tree = _call(_OPEN_TREE, _HERE, source.encode(), _CLONE | _CLOEXEC | _RECURSIVE)
    namespace = _mapped(user)
    how = struct.pack("QQQQ", _IDMAP, 0, 0, namespace)
    _call(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH | _RECURSIVE, how, len(how))
    _call(_MOVE_MOUNT, tree, b"", _HERE, target.encode(), _FROM_EMPTY_PATH)


def _mapped(user: int) -> int:
    """A user namespace in which the superuser is this user."""
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(ready)
        made = ctypes.CDLL(None).unshare(_NEW_USER)
        os.write(tell, b"-" if made else b"+")
        signal.pause()
    os.close(tell)
    try:
        if os.read(ready, 1) != b"+":
            raise OSError("no user namespace can be made")
        for kind in ("uid", "gid"):
            with open(f"/proc/{child}/{kind}_map", "w") as file:  # noqa: PTH123 - it starts fast
                file.write(f"0 {user} 1")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _call(number: int, *words: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    result = library.syscall(number, *words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


if __name__ == "__main__":
    try:
        mount(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except OSError as error:
        sys.exit(f"its owner cannot be mapped: {error.strerror or error}")
