"""A folder that cannot be left (openat2): each path is resolved beneath it, without links."""

import ctypes
import errno
import os
import posixpath
import re
import secrets
import stat
import struct
import threading
from collections.abc import Callable, Collection, Container, Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from long_running_agents.domain.workspace import WORKSPACE, is_sensitive
from long_running_agents.errors import Busy, NotFound, PathRefused, Unavailable
from long_running_agents.sandbox.base import FileEntry

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


_LONGEST_PATH = 1024
_LARGEST_FILE = 64 << 20
_MOST_ENTRIES = 10_000
_DEEPEST = 64
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | ALWAYS

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def relative(path: str) -> str:
    """A path as the model writes it, relative to the workspace.

    Raises:
        PathRefused: It cannot be a path in a workspace, or names something sensitive.
    """
    if not path.strip() or len(path.encode("utf-8", "surrogatepass")) > _LONGEST_PATH:
        raise PathRefused("The path is empty or too long.", hint="Name a file of the workspace.")
    if _CONTROL.search(path):
        raise PathRefused("There is a control character in the path.")
    if path == WORKSPACE:
        return "."
    inside = path.removeprefix(f"{WORKSPACE}/")
    for part in inside.split("/"):
        if is_sensitive(part):
            raise PathRefused(
                f"{part!r} usually holds secrets, so no tool touches it.",
                hint="Ask the user for what you need to know.",
            )
    return inside


class Workspace:
    """The agent's folder, as far as tools can reach."""

    def __init__(
        self,
        root: Path,
        *,
        openat2: bool = True,
        hidden: Collection[str] = (),
    ) -> None:
        """Take a folder that exists.

        Args:
            root: The folder.
            openat2: Whether to try the kernel's own resolution; without it each part is opened.
            hidden: Paths in it that are out of reach, with all that is below them.
        """
        self.root = root
        self.hidden = frozenset(hidden)
        self._openat2 = openat2 and has_openat2()
        self._changing = threading.Lock()

    def read(self, path: str, *, offset: int = 0, limit: int = _LARGEST_FILE) -> bytes:
        """Read a file, or a part of it."""
        with self.opened(path, os.O_RDONLY) as file:
            parts: list[bytes] = []
            while limit > 0 and (part := os.pread(file, min(limit, 1 << 20), offset)):
                parts.append(part)
                offset += len(part)
                limit -= len(part)
            return b"".join(parts)

    def write(self, path: str, content: bytes, *, append: bool = False) -> None:
        """Write a file; folders on the way are made."""
        self._make_folders(path)
        mode = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else 0)
        with self._changing, self.opened(path, mode) as file:
            # Not by O_TRUNC: a second name of a file elsewhere must be noticed first.
            if not append:
                os.ftruncate(file, 0)
            _write_all(file, content)
            self._give(file)

    def replace(self, path: str, content: bytes) -> None:
        """Write all of a file, at once: whoever reads it finds the old or the new content."""
        self._make_folders(path)
        with self._changing:
            try:
                with self.opened(path, os.O_RDONLY) as file:
                    old = os.fstat(file)
            except NotFound:
                old = None
            self._put(path, content, old)

    def edit(self, path: str, change: Callable[[bytes], bytes], *, largest: int) -> None:
        """Replace a file by what a function makes of it.

        Raises:
            PathRefused: The file is larger.
            Busy: Somebody else changed it in the meantime.
        """
        with self._changing:
            with self.opened(path, os.O_RDONLY) as file:
                old = os.fstat(file)
            if old.st_size > largest:
                raise PathRefused(
                    f"{path!r} has {old.st_size} bytes, too many to edit in one piece.",
                    hint="Change it with a program.",
                )
            before = self.read(path)
            after = change(before)
            if after != before:
                self._put(path, after, old, same=True)

    def remove(self, path: str) -> None:
        """Delete a file or an empty folder."""
        parent, name = self._place(path)
        try:
            if stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
                os.rmdir(name, dir_fd=parent)
            else:
                os.unlink(name, dir_fd=parent)
        except OSError as error:
            raise _refusal(path, error) from error
        finally:
            os.close(parent)

    def size(self, path: str) -> int:
        """How many bytes a file has."""
        with self.opened(path, os.O_RDONLY) as file:
            return os.fstat(file).st_size

    def entries(
        self,
        path: str = ".",
        *,
        depth: int = 1,
        most: int = _MOST_ENTRIES,
        closed: Container[str] = (),
    ) -> list[FileEntry]:
        """List a folder; links, devices and sensitive names are left out."""
        found = islice(self.walk(path, depth=depth, closed=closed), most)
        return sorted(found, key=lambda entry: entry.path)

    def walk(
        self, path: str = ".", *, depth: int = _DEEPEST, closed: Container[str] = ()
    ) -> Iterator[FileEntry]:
        """The same one by one, each folder before what is in it."""
        start = posixpath.normpath(self._inside(path))
        top = self._open(start, os.O_RDONLY | os.O_DIRECTORY)
        prefix = "" if start == "." else f"{start}/"
        return self._walk(top, prefix, depth, closed)

    @contextmanager
    def opened(self, path: str, flags: int) -> Generator[int]:
        """A descriptor of a regular file that has no other name.

        Raises:
            PathRefused: It is none, or outside.
            NotFound: There is no such file.
        """
        file = self._open(self._inside(path), flags)
        try:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise PathRefused(f"{path!r} is not a file.")
            if about.st_nlink > 1:
                raise PathRefused(f"{path!r} has a second name, which may be anywhere.")
            yield file
        finally:
            os.close(file)

    def _walk(
        self, folder: int, prefix: str, depth: int, closed: Container[str]
    ) -> Iterator[FileEntry]:
        try:
            for name in sorted(os.listdir(folder)):
                path = prefix + _shown(name)
                about = None if self._unseen(name, path) else _about(name, folder)
                if about is None:
                    continue
                is_folder = stat.S_ISDIR(about.st_mode)
                yield FileEntry(path=path, size=0 if is_folder else about.st_size, folder=is_folder)
                if is_folder and depth > 1 and name not in closed:
                    below = _below(name, folder)
                    if below is not None:
                        yield from self._walk(below, f"{path}/", depth - 1, closed)
        finally:
            os.close(folder)

    def _inside(self, path: str) -> str:
        inside = relative(path)
        # No link is ever followed, so the words of a path say where it leads.
        parts = posixpath.normpath(inside).split("/")
        if any("/".join(parts[:count]) in self.hidden for count in range(1, len(parts) + 1)):
            raise PathRefused(f"{path!r} is not for tools.", hint="Ask the user.")
        return inside

    def _unseen(self, name: str, path: str) -> bool:
        return is_sensitive(name) or path in self.hidden

    def _place(self, path: str) -> tuple[int, str]:
        """The folder of a file, opened, and the file's name in it."""
        folder, _, name = self._inside(path).rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            raise PathRefused(f"{path!r} is not a file.")
        return self._open(folder or ".", os.O_RDONLY | os.O_DIRECTORY), name

    def _put(
        self, path: str, content: bytes, old: os.stat_result | None, *, same: bool = False
    ) -> None:
        """Write beside a file, then rename: the name changes from the old to the new at once."""
        folder, name = self._place(path)
        beside = f".lra-{secrets.token_hex(8)}.part"
        try:
            file = os.open(beside, _NEW, 0o600, dir_fd=folder)
            try:
                _write_all(file, content)
                self._dress(file, old)
                os.fsync(file)
            finally:
                os.close(file)
            if same and not _unchanged(name, folder, old):
                raise Busy(f"{path!r} was changed in the meantime.", hint="Read it again.")
            # A link that took the file's place by now is replaced, not followed.
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except OSError as error:
            raise _not_written(path, error) from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            os.close(folder)

    def _dress(self, file: int, old: os.stat_result | None) -> None:
        """Give a file the rights and the owner of the one it replaces."""
        os.fchmod(file, 0o644 if old is None else old.st_mode & 0o777)
        if old is None:
            self._give(file)
        elif os.geteuid() == 0:
            os.fchown(file, old.st_uid, old.st_gid)

    def _make_folders(self, path: str) -> None:
        parts = self._inside(path).split("/")[:-1]
        for count in range(1, len(parts) + 1):
            part = parts[count - 1]
            if part in ("", ".", ".."):
                continue
            above = self._open("/".join(parts[: count - 1]) or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.mkdir(part, 0o755, dir_fd=above)
                if (owner := self._new_owner()) is not None:
                    os.chown(part, *owner, dir_fd=above, follow_symlinks=False)
            except FileExistsError:
                continue
            except OSError as error:
                raise _refusal(path, error) from error
            finally:
                os.close(above)

    def _open(self, path: str, flags: int) -> int:
        root = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        opener = open_beneath if self._openat2 else open_by_parts
        try:
            return opener(root, path, flags | ALWAYS)
        except OSError as error:
            raise _refusal(path, error) from error
        finally:
            os.close(root)

    def _give(self, file: int) -> None:
        if (owner := self._new_owner()) is not None:
            os.fchown(file, *owner)

    def _new_owner(self) -> tuple[int, int] | None:
        """User and group to give what we made to: the folder's; only the superuser can."""
        if os.geteuid() != 0:
            return None
        about = self.root.stat()
        return about.st_uid, about.st_gid


def _about(name: str, folder: int) -> os.stat_result | None:
    try:
        about = os.lstat(name, dir_fd=folder)
    except OSError:
        return None
    return about if stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode) else None


def _below(name: str, folder: int) -> int | None:
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | ALWAYS, dir_fd=folder)
    except OSError:
        # Gone by now, or not for us.
        return None


def _unchanged(name: str, folder: int, old: os.stat_result | None) -> bool:
    now = _about(name, folder)
    return (now is None and old is None) or (
        now is not None
        and old is not None
        and (now.st_ino, now.st_size, now.st_mtime_ns) == (old.st_ino, old.st_size, old.st_mtime_ns)
    )


def _write_all(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def _shown(name: str) -> str:
    """A name in one line of text; whoever wants a file that has no such name must rename it."""
    plain = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", name)
    return plain.encode("utf-8", "replace").decode("utf-8")


def _refusal(path: str, error: OSError) -> PathRefused | NotFound:
    shown = path[:80].encode("utf-8", "replace").decode("utf-8")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return NotFound(f"There is no {shown!r} in the workspace.", hint="List the folder first.")
    if error.errno in (errno.EXDEV, errno.ELOOP):
        return PathRefused(
            f"{shown!r} leads out of the workspace.", hint="Use a path inside it, without links."
        )
    return PathRefused(f"{shown!r} cannot be opened: {os.strerror(error.errno or 0)}.")


def _not_written(path: str, error: OSError) -> Unavailable:
    return Unavailable(f"{path!r} was not written: {os.strerror(error.errno or 0)}.")


_SKILLS = "skills"
_MEMORY = "memory"


def check_writable(path: str) -> None:
    """Refuse a path that is somebody else's to write.

    Raises:
        PathRefused: It is; the hint says whose.
    """
    # Lower case, since some file systems take both for the same.
    inside = posixpath.normpath(relative(path)).lower()
    top = inside.split("/", 1)[0]
    if top == _MEMORY and inside.endswith(".md"):
        raise PathRefused(
            f"{path!r} shows what is remembered, and is written anew each time.",
            hint="Use write_memory, update_memory or forget_memory.",
        )
    if top == _SKILLS or inside.startswith(f"{_MEMORY}/{_SKILLS}/"):
        raise PathRefused(
            f"{path!r} belongs to the skills, which a person has to approve.",
            hint="Write it somewhere else.",
        )
