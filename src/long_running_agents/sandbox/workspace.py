"""A folder that cannot be left: the kernel resolves each path, beneath it and without links."""

import ctypes
import errno
import os
import re
import stat
import struct
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from long_running_agents.errors import NotFound, PathRefused
from long_running_agents.sandbox.result import FileEntry

SEEN_AS = "/workspace"
"""What the folder is called inside of sandboxes."""

_LONGEST_PATH = 1024
_LARGEST_FILE = 64 << 20
_MOST_ENTRIES = 10_000
_MOST_SENSITIVE = 1000

_OPENAT2 = 437
_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 1, 2, 4, 8
_RESOLVE = _NO_XDEV | _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH
_ALWAYS = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SENSITIVE = re.compile(
    r"""(
        \.env(\..+)? | \.ssh | \.gnupg | \.aws | \.azure | \.kube | \.docker | \.netrc | \.pgpass
      | \.npmrc | \.pypirc | \.git-credentials | \.htpasswd | credentials(\.json)?
      | id_(rsa|dsa|ecdsa|ed25519)(\..+)? | .+\.(pem|key|p12|pfx|kdbx|keystore|jks)
      | lra\.db(-.+)?
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_HARMLESS = re.compile(r"\.env\.(example|sample|template)", re.IGNORECASE)


def is_sensitive(name: str) -> bool:
    """Whether a file or folder of this name usually holds secrets."""
    return bool(_SENSITIVE.fullmatch(name)) and not _HARMLESS.fullmatch(name)


def relative(path: str) -> str:
    """A path as the model writes it, relative to the workspace.

    Raises:
        PathRefused: It cannot be a path in a workspace, or names something sensitive.
    """
    if not path.strip() or len(path.encode("utf-8", "surrogatepass")) > _LONGEST_PATH:
        raise PathRefused("The path is empty or too long.", hint="Name a file of the workspace.")
    if _CONTROL.search(path):
        raise PathRefused("There is a control character in the path.")
    if path == SEEN_AS:
        return "."
    inside = path.removeprefix(f"{SEEN_AS}/")
    for part in inside.split("/"):
        if is_sensitive(part):
            raise PathRefused(
                f"{part!r} usually holds secrets, so no tool touches it.",
                hint="Ask the user for what you need to know.",
            )
    return inside


class Workspace:
    """The agent's folder, as far as tools can reach."""

    def __init__(self, root: Path, *, owner: int | None = None, openat2: bool = True) -> None:
        """Take a folder that exists.

        Args:
            root: The folder.
            owner: Whom new files belong to, if not to us.
            openat2: Whether to try the kernel's own resolution; without it each part is opened.
        """
        self.root = root
        self._owner = owner
        self._openat2 = openat2 and _has_openat2()

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
        with self.opened(path, mode) as file:
            # Not by O_TRUNC: a second name of a file elsewhere must be noticed first.
            if not append:
                os.ftruncate(file, 0)
            left = memoryview(content)
            while left:
                left = left[os.write(file, left) :]
            self._give(file)

    def remove(self, path: str) -> None:
        """Delete a file or an empty folder."""
        folder, _, name = relative(path).rstrip("/").rpartition("/")
        parent = self._open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
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

    def entries(self, path: str = ".", *, depth: int = 1) -> list[FileEntry]:
        """List a folder; links, devices and sensitive names are left out."""
        start = relative(path).strip("/") or "."
        top = self._open(start, os.O_RDONLY | os.O_DIRECTORY)
        prefix = "" if start == "." else f"{start}/"
        return sorted(self._walk(top, prefix, depth), key=lambda entry: entry.path)

    @contextmanager
    def opened(self, path: str, flags: int) -> Generator[int]:
        """A descriptor of a regular file that has no other name.

        Raises:
            PathRefused: It is none, or outside.
            NotFound: There is no such file.
        """
        file = self._open(relative(path), flags)
        try:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise PathRefused(f"{path!r} is not a file.")
            if about.st_nlink > 1:
                raise PathRefused(f"{path!r} has a second name, which may be anywhere.")
            yield file
        finally:
            os.close(file)

    def _walk(self, folder: int, prefix: str, depth: int) -> Iterator[FileEntry]:
        count = 0
        try:
            names = os.listdir(folder)
            for name in names:
                if is_sensitive(name) or _CONTROL.search(name):
                    continue
                about = _about(name, folder)
                if about is None:
                    continue
                count += 1
                if count > _MOST_ENTRIES:
                    return
                is_folder = stat.S_ISDIR(about.st_mode)
                yield FileEntry(
                    path=prefix + _shown(name),
                    size=0 if is_folder else about.st_size,
                    folder=is_folder,
                )
                if is_folder and depth > 1:
                    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _ALWAYS, dir_fd=folder)
                    yield from self._walk(below, f"{prefix}{_shown(name)}/", depth - 1)
        finally:
            os.close(folder)

    def _make_folders(self, path: str) -> None:
        parts = relative(path).split("/")[:-1]
        for count in range(1, len(parts) + 1):
            part = parts[count - 1]
            if part in ("", ".", ".."):
                continue
            above = self._open("/".join(parts[: count - 1]) or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.mkdir(part, 0o755, dir_fd=above)
                if self._owner is not None:
                    os.chown(part, self._owner, self._owner, dir_fd=above, follow_symlinks=False)
            except FileExistsError:
                continue
            except OSError as error:
                raise _refusal(path, error) from error
            finally:
                os.close(above)

    def _open(self, path: str, flags: int) -> int:
        root = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        opener = _open_beneath if self._openat2 else _open_by_parts
        try:
            return opener(root, path, flags | _ALWAYS)
        except OSError as error:
            raise _refusal(path, error) from error
        finally:
            os.close(root)

    def _give(self, file: int) -> None:
        if self._owner is not None:
            os.fchown(file, self._owner, self._owner)


def sensitive_in(root: Path, *, depth: int = 3) -> list[tuple[str, bool]]:
    """Sensitive names that lie in a folder already, and whether each is a folder.

    Raises:
        PathRefused: There are so many that somebody means to hide one among them.
    """
    found: list[tuple[str, bool]] = []
    for here, folders, files in os.walk(root):
        below = os.path.relpath(here, root)
        prefix = "" if below == "." else f"{below}/"
        found += [(prefix + name, True) for name in folders if is_sensitive(name)]
        found += [(prefix + name, False) for name in files if is_sensitive(name)]
        too_deep = prefix.count("/") >= depth
        folders[:] = [name for name in folders if not too_deep and not is_sensitive(name)]
        if len(found) > _MOST_SENSITIVE:
            raise PathRefused(
                f"More than {_MOST_SENSITIVE} names in the workspace usually hold secrets.",
                hint="Delete those that do not, such as made-up .env files.",
            )
    return found


def _about(name: str, folder: int) -> os.stat_result | None:
    try:
        about = os.lstat(name, dir_fd=folder)
    except OSError:
        return None
    return about if stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode) else None


def _shown(name: str) -> str:
    return name.encode("utf-8", "replace").decode("utf-8")


def _open_beneath(root: int, path: str, flags: int) -> int:
    how = struct.pack("QQQ", flags, 0o644 if flags & os.O_CREAT else 0, _RESOLVE)
    library = ctypes.CDLL(None, use_errno=True)
    file = library.syscall(_OPENAT2, root, os.fsencode(path), how, len(how))
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file


def _open_by_parts(root: int, path: str, flags: int) -> int:
    """The same for kernels without openat2: one part at a time, following nothing."""
    if path.startswith("/"):
        raise OSError(errno.EXDEV, "outside")
    parts = [part for part in path.split("/") if part not in ("", ".")] or ["."]
    here = os.dup(root)
    try:
        for part in parts[:-1]:
            if part == "..":
                raise OSError(errno.EXDEV, "outside")
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _ALWAYS, dir_fd=here)
            os.close(here)
            here = below
        if parts[-1] == "..":
            raise OSError(errno.EXDEV, "outside")
        return os.open(parts[-1], flags, 0o644, dir_fd=here)
    finally:
        os.close(here)


def _has_openat2() -> bool:
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(_open_beneath(root, ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


def _refusal(path: str, error: OSError) -> PathRefused | NotFound:
    shown = path[:80].encode("utf-8", "replace").decode("utf-8")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return NotFound(f"There is no {shown!r} in the workspace.", hint="List the folder first.")
    if error.errno in (errno.EXDEV, errno.ELOOP):
        return PathRefused(
            f"{shown!r} leads out of the workspace.", hint="Use a path inside it, without links."
        )
    return PathRefused(f"{shown!r} cannot be opened: {os.strerror(error.errno or 0)}.")
