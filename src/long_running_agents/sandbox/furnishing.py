"""What every sandbox has on this side of its walls: a folder, somebody to own it, a way out."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from long_running_agents.errors import PathRefused, SandboxUnavailable
from long_running_agents.sandbox import users
from long_running_agents.sandbox.kernel_sandbox import Ending, Room
from long_running_agents.sandbox.proxy import Proxy
from long_running_agents.sandbox.sensitive import sensitive_in
from long_running_agents.sandbox.spec import SandboxSpec
from long_running_agents.sandbox.workspace import Workspace


async def furnished(spec: SandboxSpec, *, apart: bool = True) -> Room:
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
            proxy = Proxy(spec.network, room.folder / "proxy.sock")
            await proxy.open(owner=room.user)
            room.proxy = proxy
            room.later(proxy.close)
    except BaseException:
        await room.close()
        raise
    return room


def _folder(spec: SandboxSpec, *, apart: bool) -> Room:
    """A folder of its own and a workspace; for the superuser, with somebody else to own it."""
    folder = Path(tempfile.mkdtemp(prefix="lra-sandbox-"))
    folder.chmod(0o711)
    root = spec.workspace or folder / "workspace"
    # Its own is nobody else's to read; one that was there before keeps its mode.
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in spec.protected:
        _make_sure_of(root / path, is_folder=path.endswith("/"))
    if os.geteuid() != 0 or not apart:
        return Room(folder, Workspace(root))
    owner = root.stat().st_uid
    user = users.join(owner) if users.FIRST <= owner <= users.LAST else users.borrow()
    users.give(root, user.uid)
    room = Room(folder, Workspace(root, owner=user.uid), user.uid)
    room.later(_released(user))
    return room


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


def _released(user: users.SpareUser) -> Ending:
    async def release() -> None:
        user.release()

    return release
