"""How full the workspace is, also where somebody tries to hide it."""

from __future__ import annotations

import os
import stat

from .processes import below


class Unseen(Exception):
    """A folder does not let itself be looked into."""


def usage(folder: str, most: int) -> tuple[int, int]:
    """Bytes and entries of a tree; looks at not many more entries than are allowed."""
    size = entries = 0
    left = [folder]
    while left and entries <= most:
        for entry in _entries(left.pop()):
            entries += 1
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            size += about.st_blocks * 512
            if stat.S_ISDIR(about.st_mode):
                left.append(entry.path)
    return size, entries


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        try:
            found = os.scandir(folder)
        except PermissionError:
            # It is ours, so a mode that shuts us out was meant to.
            os.chmod(folder, 0o700)
            found = os.scandir(folder)
        with found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise Unseen from error


def deleted() -> int:
    """Bytes of files that have no name any more and are still held open."""
    seen: dict[tuple[int, int], int] = {}
    for process in below():
        try:
            held = os.listdir(f"/proc/{process}/fd")
        except OSError:
            continue
        for name in held:
            try:
                about = os.stat(f"/proc/{process}/fd/{name}")
            except OSError:
                continue
            if about.st_nlink == 0 and stat.S_ISREG(about.st_mode):
                seen[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sum(seen.values())
