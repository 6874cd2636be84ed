"""A sandbox with a kernel in it, whatever its walls are: its host resources and its results."""

import asyncio
import base64
import binascii
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from long_running_agents.domain.workspace import is_sensitive
from long_running_agents.errors import PathRefused, SandboxUnavailable
from long_running_agents.net.proxy import EgressProxy
from long_running_agents.sandbox import kernel as sandbox_kernel
from long_running_agents.sandbox.base import (
    LONGEST_CALL,
    ExecResult,
    FailureName,
    FileEntry,
    Json,
    Sandbox,
    SandboxLimits,
    SandboxSpec,
    printable,
)
from long_running_agents.sandbox.kernel import Kernel, KernelLost
from long_running_agents.sandbox.limits import Cgroup, SandboxWatcher
from long_running_agents.workspace.workspace import Workspace


@dataclass
class HostResources:
    """What a sandbox has on this side of its walls."""

    folder: Path
    """Its own folder, which goes away with it."""
    workspace: Workspace
    user: int | None = None
    """Whom it runs as, if we are the superuser: a spare user, or a borrowed folder's owner."""
    group: int | None = None
    """The group it runs as, likewise."""
    mapped: bool = False
    """Whether the workspace is the superuser's own, to be shown as the user's."""
    protected: Sequence[str] = ()
    """Names of the workspace that code may read and not change."""
    proxy: EgressProxy | None = None
    hidden: Sequence[tuple[str, bool]] = ()
    """Names of the workspace to be covered, and whether each is a folder."""
    _endings: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    def later(self, ending: Callable[[], Awaitable[None]]) -> None:
        """Do this when the sandbox ends, before what was asked for earlier."""
        self._endings.push_async_callback(ending)

    async def close(self) -> None:
        """Give everything back, in reverse."""
        await self._endings.aclose()
        await asyncio.to_thread(_remove, self.folder)


def _remove(folder: Path) -> None:
    """Take a folder away, however deep somebody has dug it."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        # It opens one folder at a time, where ours keeps all of a path open.
        subprocess.run(["rm", "-rf", "--", folder], check=False)  # noqa: S603, S607 - our own words


@dataclass(eq=False, kw_only=True)
class KernelSandbox(Sandbox):
    """Speaks with a kernel, and tells its answers in our words."""

    backend: str
    isolation: tuple[str, ...]
    kernel: Kernel
    room: HostResources
    limits: SandboxLimits
    watcher: SandboxWatcher | None = None
    group: Cgroup | None = None
    _ending: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _ended: bool = field(default=False, init=False)

    @property
    def alive(self) -> bool:
        """Whether it can be used."""
        return not self.kernel.lost

    async def put_file(self, path: str, content: bytes) -> None:
        """Write a file of the workspace."""
        await asyncio.to_thread(self.room.workspace.write, path, content)

    async def get_file(self, path: str) -> bytes:
        """Read a file of the workspace."""
        return await asyncio.to_thread(self.room.workspace.read, path)

    async def list_files(self, path: str = ".", depth: int = 1) -> list[FileEntry]:
        """List a folder of the workspace."""
        return await asyncio.to_thread(self.room.workspace.entries, path, depth=depth)

    async def reset(self) -> None:
        """Forget the state of the cells; the files stay."""
        result = await self._run("reset", {}, None)
        if result.error is not None:
            raise SandboxUnavailable(
                f"The sandbox could not be reset: {result.error.message}.",
                hint="Create a new one.",
            )

    async def destroy(self) -> None:
        """End everything in it. Asking twice is asking once."""
        async with self._ending:
            if not self._ended:
                self.kernel.close()
                await self.room.close()
                self._ended = True

    async def _run(self, call: str, request: Json, timeout: float | None) -> ExecResult:
        seconds = self.limits.timeout if timeout is None else timeout
        seconds = max(0.1, min(seconds, LONGEST_CALL))
        kills = self.group.kills() if self.group else 0
        look = self.watcher.watch() if self.watcher else None
        try:
            answer = await self.kernel.ask({"do": call, **request}, seconds, look)
        except KernelLost as loss:
            killed = self._why(kills)
            found = sandbox_kernel.lost(loss.failure, loss.message, isolation=self.isolation)
            await self.destroy()
            return found if killed is None else replace(found, error=killed)
        killed = self.group is not None and self.group.kills() > kills
        return sandbox_kernel.result_of(answer, isolation=self.isolation, out_of_memory=killed)

    def _why(self, kills: int) -> sandbox_kernel.CodeError | None:
        """Which limit the sandbox was ended for, if it was."""
        watcher = self.watcher
        if watcher is not None and watcher.ended_for is FailureName.DISK:
            name, message = sandbox_kernel.STOPPED["disk"]
        elif (watcher is not None and watcher.peak > self.limits.memory) or (
            self.group is not None and self.group.kills() > kills
        ):
            name, message = sandbox_kernel.STOPPED["memory"]
        else:
            return None
        gone = f"{message}; the sandbox and its state are gone"
        return sandbox_kernel.CodeError(name=name, message=gone)


_MOST_SENSITIVE = 1000


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


async def prepare_host(spec: SandboxSpec, *, apart: bool = True) -> HostResources:
    """A room for a sandbox of this kind.

    Args:
        spec: What it is to be.
        apart: Whether there will be walls: then the superuser's belongs to somebody else, and
            there is a way out only to the hosts that are allowed.
    """
    room = await asyncio.to_thread(_folder, spec, apart=apart)
    try:
        if apart:
            room.hidden = await asyncio.to_thread(_hidden, room.workspace.root, spec.hidden)
        if spec.network and apart:
            proxy = EgressProxy(spec.network, room.folder / "proxy.sock")
            await proxy.open(owner=room.user)
            room.proxy = proxy
            room.later(proxy.close)
    except BaseException:
        await room.close()
        raise
    return room


def _folder(spec: SandboxSpec, *, apart: bool) -> HostResources:
    """A folder of its own and a workspace; for the superuser, with somebody else to own it."""
    folder = Path(tempfile.mkdtemp(prefix="lra-sandbox-"))
    folder.chmod(0o711)
    root = spec.workspace or folder / "workspace"
    # Its own is nobody else's to read; one that was there before keeps its mode.
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if spec.borrowed:
        protected = [path for path in spec.protected if _is_there(root / path)]
    else:
        protected = spec.protected
        for path in protected:
            _make_sure_of(root / path, is_folder=path.endswith("/"))
    room = HostResources(folder, Workspace(root), protected=protected)
    if os.geteuid() == 0 and apart:
        _choose_user(room, root, borrowed=spec.borrowed)
    return room


def _choose_user(room: HostResources, root: Path, *, borrowed: bool) -> None:
    """Say whom the superuser's sandbox runs as; a folder of ours is given to them."""
    about = root.stat()
    if FIRST <= about.st_uid <= LAST:
        user = join(about.st_uid)
    elif borrowed and about.st_uid:
        room.user, room.group = about.st_uid, about.st_gid
        return
    else:
        user = borrow()
    room.user = room.group = user.uid
    room.later(lambda: asyncio.to_thread(user.release))
    if borrowed and not about.st_uid:
        room.mapped = True
    else:
        give(root, user.uid)


def _is_there(path: Path) -> bool:
    """Whether there is something of its own: what a link leads to cannot be protected."""
    return path.exists() and not Path(str(path).rstrip("/")).is_symlink()


def _make_sure_of(path: Path, *, is_folder: bool) -> None:
    """Have a file or folder that can be protected: what is not there, code could put there."""
    if path.is_symlink():
        raise SandboxUnavailable(
            f"{path} is a link, and what it leads to cannot be protected.",
            hint="Put a file or folder of its own in its place.",
        )
    if is_folder:
        path.mkdir(exist_ok=True)
    else:
        path.touch(exist_ok=True)


def _hidden(root: Path, named: Sequence[str]) -> list[tuple[str, bool]]:
    """What is to be covered in a workspace, and whether each is a folder."""
    also = [(path, (root / path).is_dir()) for path in named if (root / path).exists()]
    try:
        return [*sensitive_in(root), *also]
    except PathRefused as error:
        raise SandboxUnavailable(error.message, hint=error.hint) from error


FOLDER = "outputs"
"""Where in the workspace pictures and tables are kept."""

_ENDINGS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/svg+xml": "svg",
    "text/html": "html",
}
_ENCODED = ("image/png", "image/jpeg")
_LARGEST = 4 << 20
_BEGINNING, _END = 16_000, 6_000
"""How much of a long output is shown: most of what matters is at its ends."""
_LONGEST = _BEGINNING + _END + 2_000


@dataclass(frozen=True, slots=True)
class Output:
    """Something that a cell has shown and that is no text: it becomes a file."""

    path: str
    """In the workspace."""
    media: str
    content: bytes


def outputs(result: ExecResult) -> list[Output]:
    """The pictures and tables of a result, each once, under a name that its content gives it."""
    found: dict[str, Output] = {}
    for shown in result.display:
        for media, ending in _ENDINGS.items():
            if media not in shown:
                continue
            content = _content(media, shown[media])
            if content and len(content) <= _LARGEST:
                name = hashlib.sha256(content).hexdigest()[:12]
                path = f"{FOLDER}/{name}.{ending}"
                found[path] = Output(path, media, content)
                # The first form is the best one; the others say the same.
                break
    return list(found.values())


def _content(media: str, text: str) -> bytes:
    if media not in _ENCODED:
        return text.encode("utf-8", "replace")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""


def told(result: ExecResult, kept: Sequence[Output], *, fresh: bool) -> str:
    """A result as a text."""
    lines = [*_shown(result), *(f"[{each.media} saved as {each.path}]" for each in kept)]
    return "\n".join([*lines, *_went_wrong(result, fresh=fresh)]) or "(no output)"


def missing_module(result: ExecResult) -> str:
    """The package that code wanted to import and did not find, if that is what went wrong."""
    if result.error is None or result.error.name != "ModuleNotFoundError":
        return ""
    named = re.search(r"No module named '(\w+)", result.error.message)
    return named[1] if named else ""


def shortened(text: str) -> tuple[str, Output | None]:
    """A text that a model can take in, and the whole of it as a file when that is longer."""
    if len(text) <= _LONGEST:
        return text, None
    content = text.encode()
    path = f"{FOLDER}/{hashlib.sha256(content).hexdigest()[:12]}.txt"
    left_out = len(text) - _BEGINNING - _END
    note = f"[{left_out} characters left out; read_file(path={path!r}) reads all of it]"
    shown = f"{text[:_BEGINNING]}\n{note}\n{text[-_END:]}"
    return shown, Output(path, "text/plain", content)


def _shown(result: ExecResult) -> Iterator[str]:
    if result.warning:
        yield result.warning
    if result.stdout:
        yield printable(result.stdout).rstrip("\n")
    if result.stderr:
        yield f"[stderr]\n{printable(result.stderr).rstrip()}"
    for shown in result.display:
        if text := shown.get("text/markdown") or shown.get("text/plain"):
            yield printable(text)
    if result.truncated:
        yield "[Some output was left out.]"
    if result.elsewhere:
        yield "[This ran on another machine: it has files of its own, not those of the workspace.]"


def _went_wrong(result: ExecResult, *, fresh: bool) -> Iterator[str]:
    if result.exit_code:
        yield f"[exit code {result.exit_code}]"
    if result.error is not None:
        yield f"[error]\n{printable(str(result.error)).rstrip()}"
        yield from _advice(result.error.name, fresh=fresh)
    if result.rolled_back:
        yield "[The names are again what they were before this cell.]"
    if not result.alive:
        yield "[The sandbox is gone with its names; the next call gets a new one. Files are kept.]"


def _advice(error: str, *, fresh: bool) -> Iterator[str]:
    if error == "ModuleNotFoundError":
        yield "[install_packages fetches packages; 'lra sandbox prepare' the usual ones.]"
    if error == "NameError" and fresh:
        yield "[The sandbox is new: names of earlier cells are gone. Files are kept.]"
