"""The folder of the skills in a workspace: what somebody put there, and what we show there."""

import hashlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from long_running_agents.domain.skill import (
    GUIDE_NAME,
    NAME,
    Brought,
    Draft,
    File,
    Kind,
    Origin,
    digest_of,
)
from long_running_agents.errors import Busy, LraError, NotFound, PathRefused, UsageError
from long_running_agents.sandbox.result import FileEntry
from long_running_agents.sandbox.workspace import Workspace
from long_running_agents.skills.guides import LARGEST_GUIDE, LARGEST_TEXT, MOST_FILES

FOLDER = "skills"
"""Where skills are, and where we show them."""
FOLDERS = (FOLDER, "memory/skills")
"""Where skills are looked for."""
MOST = 2000
"""Files that are looked at."""
LARGEST_SOURCE = 256 << 10
"""Bytes that a function's file may have."""

_MOST_STAMPED = 2 * MOST
_LARGEST_SHELF = 16 << 20
_DEEPEST = 8
_GUIDE = "SKILL.md"
_RENAME = f"Rename it to {_GUIDE}."
_CLOSED = frozenset({"__pycache__"})
_BROUGHT = Brought(origin=Origin.FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something among the skills: a draft, or the reason why it is none."""

    path: str
    """Relative to the workspace; of a guide, its SKILL.md."""
    digest: str
    """The sha256 of what it is made of; empty when nothing could be read."""
    draft: Draft | None = None
    error: str = ""


class _Full(Exception):
    """There is more than we look at."""


class _Changed(Exception):
    """There is something else than what may be replaced."""


class _Shelf:
    """Reads from a workspace, up to a bound."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._files = 0
        self._bytes = 0

    def read(self, path: str, largest: int) -> tuple[str, str, str]:
        """The text, digest and error of a file."""
        self._files += 1
        if self._files > MOST or self._bytes > _LARGEST_SHELF:
            raise _Full
        try:
            content = self.workspace.read(path, limit=largest + 1)
        except LraError as error:
            return "", "", str(error)
        self._bytes += len(content)
        if len(content) > largest:
            return "", _digest(content), f"It has more than {largest} bytes. Make it smaller."
        text = _text(content)
        if text is None:
            return "", _digest(content), "It is not UTF-8 text. Save it as such."
        return text, digest_of(text), ""


def found(workspace: Workspace) -> list[Found]:
    """What is among the skills of a workspace; what is wrong with it is told, not raised."""
    shelf = _Shelf(workspace)
    seen: list[Found] = []
    for folder in FOLDERS:
        try:
            for entry in workspace.entries(folder):
                if not _ignored(entry.path):
                    seen += _looked(shelf, entry, folder)
        except NotFound:
            continue
        except _Full:
            error = f"There are more than {MOST} files or {_LARGEST_SHELF} bytes. Remove some."
            seen.append(Found(path=folder, digest="", error=error))
        except LraError as error:
            seen.append(Found(path=folder, digest="", error=str(error)))
    return seen


def stamp(workspace: Workspace) -> str | None:
    """Something short that is another one after any change among the skills; nothing is read.

    None when there is so much that every look has to be a new one.
    """
    seen = hashlib.sha256()
    count = 0
    for folder in FOLDERS:
        try:
            for entry in workspace.walk(folder, depth=_DEEPEST + 1, closed=_CLOSED):
                count += 1
                if count > _MOST_STAMPED:
                    return None
                seen.update(f"{entry.path}\0{_state(workspace, entry.path)}\0".encode())
        except LraError as error:
            seen.update(f"{folder}\0{error}\0".encode())
    return seen.hexdigest()


def guide_in(workspace: Workspace, name: str) -> Found | None:
    """The guide in the folder of its name; None when there is none, or none that can be read."""
    try:
        return _guide(_Shelf(workspace), f"{FOLDER}/{name}")
    except LraError:
        return None


def written(
    workspace: Workspace, name: str, source: str, *, replacing: Collection[str] = ()
) -> bool:
    """Show a function in the folder of the skills; True when it is there then.

    Args:
        workspace: The workspace.
        name: What the tool is called.
        source: What it is made of.
        replacing: The digests of the texts that may be replaced; whatever else is there stays,
            and so does a link or a folder.

    Raises:
        UsageError: The source is not text, or the name none of a tool.
        Unavailable: The disk takes no more.
    """
    path = _path(name)
    try:
        content = source.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(f"The source of {name} is not text.", hint="Propose it again.") from error
    allowed = {*replacing, digest_of(source)}

    def change(before: bytes) -> bytes:
        # Nothing is lost with an empty file, and our own begins as one.
        if before and _digest(before) not in allowed:
            raise _Changed
        return content

    try:
        _make(workspace, path)
        workspace.edit(path, change, largest=LARGEST_SOURCE)
    except (_Changed, PathRefused, Busy, NotFound):
        return False
    return True


def removed(workspace: Workspace, name: str, *, replacing: Collection[str] = ()) -> bool:
    """Take a function out of the folder of the skills; True when none is there then.

    Args:
        workspace: The workspace.
        name: What the tool is called.
        replacing: The digests of the texts that may be removed; whatever else is there stays.
    """
    path = _path(name)
    try:
        content = workspace.read(path, limit=LARGEST_SOURCE + 1)
        if content and _digest(content) not in replacing:
            return False
        workspace.remove(path)
    except NotFound:
        return True
    except PathRefused:
        return False
    return True


def _path(name: str) -> str:
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a tool.", hint="Use small letters, digits and _.")
    return f"{FOLDER}/{name}.py"


def _make(workspace: Workspace, path: str) -> None:
    """See to it that there is a file: adding nothing makes one, and changes none."""
    try:
        workspace.size(path)
    except NotFound:
        workspace.write(path, b"", append=True)


def _text(content: bytes) -> str | None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def _digest(content: bytes) -> str:
    text = _text(content)
    return hashlib.sha256(content).hexdigest() if text is None else digest_of(text)


def _state(workspace: Workspace, path: str) -> str:
    try:
        about = os.lstat(f"{workspace.root}/{path}")
    except OSError:
        # Gone by now, or of a name that nobody can write down.
        return ""
    # The time of the last change of the file itself is one that nobody can set back.
    return f"{about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"


def _ignored(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".") or name in {*_CLOSED, "__init__.py", "README.md"}


def _looked(shelf: _Shelf, entry: FileEntry, folder: str) -> Iterator[Found]:
    if entry.folder and folder == FOLDER:
        try:
            guide = _guide(shelf, entry.path)
        except LraError as error:
            guide = Found(path=entry.path, digest="", error=str(error))
        if guide is not None:
            yield guide
    elif not entry.folder and entry.path.endswith(".py"):
        yield _function(shelf, entry.path)


def _function(shelf: _Shelf, path: str) -> Found:
    name = path.rpartition("/")[2].removesuffix(".py")
    text, digest, error = shelf.read(path, LARGEST_SOURCE)
    if not error and not NAME.fullmatch(name):
        error = "A tool cannot have this name. Use small letters, digits and _ only."
    if not error and not text.strip():
        error = "It is empty. Write a function into it."
    if error:
        return Found(path=path, digest=digest, error=error)
    return Found(path=path, digest=digest, draft=Draft(source=text, brought=_BROUGHT, name=name))


def _guide(shelf: _Shelf, folder: str) -> Found | None:
    """The guide of a folder; None when it has none."""
    path = f"{folder}/{_GUIDE}"
    names = [entry.path for entry in shelf.workspace.entries(folder)]
    if path not in names:
        other = next((name for name in names if name.lower() == path.lower()), None)
        return None if other is None else Found(path=other, digest="", error=_RENAME)
    text, digest, error = shelf.read(path, LARGEST_TEXT)
    name = folder.rpartition("/")[2]
    if not error and not GUIDE_NAME.fullmatch(name):
        error = f"A guide cannot be called {name!r}. Use small letters, digits and single dashes."
    files: list[File] = []
    if not error:
        files, error = _files(shelf, folder)
    if error:
        return Found(path=path, digest=digest, error=error)
    draft = Draft(source=text, brought=_BROUGHT, kind=Kind.GUIDE, name=name, files=tuple(files))
    return Found(path=path, digest=digest_of(text, files), draft=draft)


def _files(shelf: _Shelf, folder: str) -> tuple[list[File], str]:
    """The other files of a guide, or why they cannot be had."""
    files: list[File] = []
    size = 0
    for entry in shelf.workspace.walk(folder, depth=_DEEPEST, closed=_CLOSED):
        inside = entry.path.removeprefix(f"{folder}/")
        hidden = any(part.startswith(".") or part in _CLOSED for part in inside.split("/"))
        if entry.folder or hidden or inside == _GUIDE:
            continue
        size += entry.size
        if len(files) == MOST_FILES or size > LARGEST_GUIDE:
            return [], f"It has more than {MOST_FILES} files or {LARGEST_GUIDE} bytes. Remove some."
        text, _, error = shelf.read(entry.path, LARGEST_GUIDE)
        if error:
            return [], f"{inside}: {error}"
        files.append(File(path=inside, content=text))
    return files, ""
