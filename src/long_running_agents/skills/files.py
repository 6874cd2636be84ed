"""The folder of the skills in a workspace: what somebody put there, and what we show there."""

import hashlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from long_running_agents.domain.skill import (
    GUIDE_NAME,
    NAME,
    SkillCreator,
    SkillDraft,
    SkillFile,
    SkillKind,
    SkillOrigin,
    digest_of,
)
from long_running_agents.errors import Busy, LraError, NotFound, PathRefused, UsageError
from long_running_agents.sandbox.base import FileEntry
from long_running_agents.skills.guides import LARGEST_GUIDE, LARGEST_TEXT, MOST_FILES
from long_running_agents.workspace.workspace import Workspace

FOLDER = "skills"
"""Where skills are, and where we show them."""
FOLDERS = (FOLDER, "memory/skills")
"""Where skills are looked for."""
MOST = 2000
"""Files that are looked at."""
LARGEST_SOURCE = 256 << 10
"""Bytes that a function's file may have."""

_MOST_STAMPED = 2 * MOST
_LARGEST_FOLDER = 16 << 20
_DEEPEST = 8
_GUIDE = "SKILL.md"
_RENAME = f"Rename it to {_GUIDE}."
_CLOSED = frozenset({"__pycache__"})
_BROUGHT = SkillOrigin(origin=SkillCreator.FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSkill:
    """Something among the skills: a draft, or the reason why it is none."""

    path: str
    """Relative to the workspace; of a guide, its SKILL.md."""
    digest: str
    """The sha256 of what it is made of; empty when nothing could be read."""
    draft: SkillDraft | None = None
    error: str = ""


class _Full(Exception):
    """There is more than we look at."""


class _Changed(Exception):
    """There is something else than what may be replaced."""


class _BoundedReader:
    """Reads from a workspace, up to a bound."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._files = 0
        self._bytes = 0

    def read(self, path: str, largest: int) -> tuple[str, str, str]:
        """The text, digest and error of a file."""
        self._files += 1
        if self._files > MOST or self._bytes > _LARGEST_FOLDER:
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


def found_files(workspace: Workspace) -> list[FoundSkill]:
    """What is among the skills of a workspace; what is wrong with it is told, not raised."""
    reader = _BoundedReader(workspace)
    seen: list[FoundSkill] = []
    for folder in FOLDERS:
        try:
            for entry in workspace.entries(folder):
                if not _ignored(entry.path):
                    seen += _looked(reader, entry, folder)
        except NotFound:
            continue
        except _Full:
            error = f"There are more than {MOST} files or {_LARGEST_FOLDER} bytes. Remove some."
            seen.append(FoundSkill(path=folder, digest="", error=error))
        except LraError as error:
            seen.append(FoundSkill(path=folder, digest="", error=str(error)))
    return seen


def folder_stamp(workspace: Workspace) -> str | None:
    """Something short that is another one after any change among the skills; nothing is read.

    None when there is so much that every look has to be a new one.
    """
    seen = hashlib.sha256()
    left = _MOST_STAMPED
    for folder in FOLDERS:
        try:
            for entry in workspace.walk(folder, depth=_DEEPEST + 1, closed=_CLOSED):
                left -= 1
                if left < 0:
                    return None
                seen.update(f"{entry.path}\0{_state(workspace, entry.path)}\0".encode())
        except LraError as error:
            seen.update(f"{folder}\0{error}\0".encode())
    return seen.hexdigest()


def guide_in(workspace: Workspace, name: str) -> FoundSkill | None:
    """The guide in the folder of its name; None when there is none, or none that can be read."""
    try:
        return _guide(_BoundedReader(workspace), f"{FOLDER}/{name}")
    except LraError:
        return None


def written(
    workspace: Workspace, name: str, source: str, *, replacing: Collection[str] = ()
) -> bool:
    """Show a function in the folder of the skills; True when it is there then.

    Only texts of these digests are replaced; whatever else is there stays, a link or a folder, too.

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
    """Take a function of these digests out of the folder; True when none is there then."""
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


def _looked(reader: _BoundedReader, entry: FileEntry, folder: str) -> Iterator[FoundSkill]:
    if entry.folder and folder == FOLDER:
        try:
            guide = _guide(reader, entry.path)
        except LraError as error:
            guide = FoundSkill(path=entry.path, digest="", error=str(error))
        if guide is not None:
            yield guide
    elif not entry.folder and entry.path.endswith(".py"):
        yield _function(reader, entry.path)


def _function(reader: _BoundedReader, path: str) -> FoundSkill:
    name = path.rpartition("/")[2].removesuffix(".py")
    text, digest, error = reader.read(path, LARGEST_SOURCE)
    if not error and not NAME.fullmatch(name):
        error = "A tool cannot have this name. Use small letters, digits and _ only."
    if not error and not text.strip():
        error = "It is empty. Write a function into it."
    if error:
        return FoundSkill(path=path, digest=digest, error=error)
    return FoundSkill(
        path=path, digest=digest, draft=SkillDraft(source=text, brought=_BROUGHT, name=name)
    )


def _guide(reader: _BoundedReader, folder: str) -> FoundSkill | None:
    """The guide of a folder; None when it has none."""
    path = f"{folder}/{_GUIDE}"
    names = [entry.path for entry in reader.workspace.entries(folder)]
    if path not in names:
        other = next((name for name in names if name.lower() == path.lower()), None)
        return None if other is None else FoundSkill(path=other, digest="", error=_RENAME)
    text, digest, error = reader.read(path, LARGEST_TEXT)
    name = folder.rpartition("/")[2]
    if not error and not GUIDE_NAME.fullmatch(name):
        error = f"A guide cannot be called {name!r}. Use small letters, digits and single dashes."
    files: list[SkillFile] = []
    if not error:
        files, error = _files(reader, folder)
    if error:
        return FoundSkill(path=path, digest=digest, error=error)
    draft = SkillDraft(
        source=text, brought=_BROUGHT, kind=SkillKind.GUIDE, name=name, files=tuple(files)
    )
    return FoundSkill(path=path, digest=digest_of(text, files), draft=draft)


def _files(reader: _BoundedReader, folder: str) -> tuple[list[SkillFile], str]:
    """The other files of a guide, or why they cannot be had."""
    files: list[SkillFile] = []
    size = 0
    for entry in reader.workspace.walk(folder, depth=_DEEPEST, closed=_CLOSED):
        inside = entry.path.removeprefix(f"{folder}/")
        hidden = any(part.startswith(".") or part in _CLOSED for part in inside.split("/"))
        if entry.folder or hidden or inside == _GUIDE:
            continue
        size += entry.size
        if len(files) == MOST_FILES or size > LARGEST_GUIDE:
            return [], f"It has more than {MOST_FILES} files or {LARGEST_GUIDE} bytes. Remove some."
        text, _, error = reader.read(entry.path, LARGEST_GUIDE)
        if error:
            return [], f"{inside}: {error}"
        files.append(SkillFile(path=inside, content=text))
    return files, ""
