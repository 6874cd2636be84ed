"""Spare user ids: the superuser's sandboxes run as nobody in particular, each as another one."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from long_running_agents.errors import SandboxUnavailable

FIRST, LAST = 60578, 61183
"""Ids that no distribution gives to anybody."""

_DEEPEST = 64
_LOCKS = Path("/run/lra-sandbox")


@dataclass(frozen=True, slots=True)
class SpareUser:
    """A user id that nobody else uses, until it is let go."""

    uid: int
    _lock: int

    def release(self) -> None:
        """Let somebody else have it."""
        os.close(self._lock)


def borrow(locks: Path = _LOCKS) -> SpareUser:
    """Take a user id that no other sandbox has, of this process or another one."""
    locks.mkdir(mode=0o700, exist_ok=True)
    for uid in range(FIRST, LAST + 1):
        lock = os.open(locks / str(uid), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        # From now on others may join, and nobody may borrow.
        fcntl.flock(lock, fcntl.LOCK_SH)
        return SpareUser(uid, lock)
    raise SandboxUnavailable(
        "Every spare user id is in use by another sandbox.", hint="Destroy some sandboxes."
    )


def join(uid: int, locks: Path = _LOCKS) -> SpareUser:
    """Take the same user id as another sandbox: two that share a workspace share its owner."""
    locks.mkdir(mode=0o700, exist_ok=True)
    lock = os.open(locks / str(uid), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return SpareUser(uid, lock)


def give(folder: Path, uid: int) -> None:
    """Make a folder and what is in it belong to a user; links are not followed.

    What lies deeper than anybody builds stays as it is: somebody may have dug it to hurt us.
    """
    top = os.fspath(folder)
    for path, folders, files, here in os.fwalk(folder):
        os.chown(here, uid, uid)
        for name in (*folders, *files):
            # A second name may be outside of this folder, where nothing is ours to give away.
            about = os.stat(name, dir_fd=here, follow_symlinks=False)
            if about.st_uid != uid and (name in folders or about.st_nlink == 1):
                os.chown(name, uid, uid, dir_fd=here, follow_symlinks=False)
        if path[len(top) :].count("/") >= _DEEPEST:
            folders.clear()
