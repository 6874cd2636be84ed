"""A sandbox with a kernel in it, whatever its walls are made of."""

import asyncio
import contextlib
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox import answers
from long_running_agents.sandbox.cgroup import Cgroup
from long_running_agents.sandbox.kernel import Kernel, KernelLost
from long_running_agents.sandbox.proxy import Proxy
from long_running_agents.sandbox.result import ExecResult, Failure, FileEntry, Json
from long_running_agents.sandbox.spec import LONGEST_CALL, Limits
from long_running_agents.sandbox.watcher import Watcher
from long_running_agents.sandbox.workspace import Workspace

Ending = Callable[[], Awaitable[None]]


@dataclass
class Room:
    """What a sandbox has on this side of its walls."""

    folder: Path
    """Its own folder, which goes away with it."""
    workspace: Workspace
    user: int | None = None
    """The spare user it runs as, if we are the superuser."""
    proxy: Proxy | None = None
    hidden: Sequence[tuple[str, bool]] = ()
    """Names of the workspace to be covered, and whether each is a folder."""
    _endings: list[Ending] = field(default_factory=list[Ending])

    def later(self, ending: Ending) -> None:
        """Do this when the sandbox ends, before what was asked for earlier."""
        self._endings.append(ending)

    async def close(self) -> None:
        """Give everything back, in reverse."""
        while self._endings:
            await self._endings.pop()()
        await asyncio.to_thread(_remove, self.folder)


def _remove(folder: Path) -> None:
    """Take a folder away, however deep somebody has dug it."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        # It opens one folder at a time, where ours keeps all of a path open.
        subprocess.run(["rm", "-rf", "--", folder], check=False)  # noqa: S603, S607 - our own words


class KernelSandbox:
    """Speaks with a kernel, and tells its answers in our words."""

    def __init__(
        self,
        *,
        backend: str,
        isolation: tuple[str, ...],
        kernel: Kernel,
        room: Room,
        limits: Limits,
        watcher: Watcher | None = None,
        group: Cgroup | None = None,
    ) -> None:
        self.backend = backend
        self.isolation = isolation
        self.watcher = watcher
        self.group = group
        self._kernel = kernel
        self._room = room
        self._limits = limits
        self._ending = asyncio.Lock()
        self._ended = False

    @property
    def alive(self) -> bool:
        """Whether it can be used."""
        return not self._kernel.lost

    @property
    def workspace(self) -> Workspace:
        """Its folder, as far as tools can reach."""
        return self._room.workspace

    @property
    def proxy(self) -> Proxy | None:
        """Its way to the network, if it has one."""
        return self._room.proxy

    async def execute(self, code: str, timeout: float | None = None) -> ExecResult:
        """Run a cell: names stay for the next one, and a hard failure undoes the cell."""
        return await self._ask({"do": "execute", "code": code}, timeout)

    async def call(
        self,
        source: str,
        function: str,
        kwargs: Mapping[str, Any],
        timeout: float | None = None,
        *,
        memory: int | None = None,
    ) -> ExecResult:
        """Define a function in a clean namespace and call it, with JSON in and JSON out."""
        wanted: Json = {"source": source, "function": function, "arguments": dict(kwargs)}
        if memory is not None:
            wanted["memory"] = memory
        return await self._ask({"do": "call", **wanted}, timeout)

    async def shell(self, command: str, timeout: float | None = None) -> ExecResult:
        """Run a command in bash."""
        return await self._ask({"do": "shell", "command": command}, timeout)

    async def put_file(self, path: str, content: bytes) -> None:
        """Write a file of the workspace."""
        await asyncio.to_thread(self.workspace.write, path, content)

    async def get_file(self, path: str) -> bytes:
        """Read a file of the workspace."""
        return await asyncio.to_thread(self.workspace.read, path)

    async def list_files(self, path: str = ".", depth: int = 1) -> list[FileEntry]:
        """List a folder of the workspace."""
        return await asyncio.to_thread(self.workspace.entries, path, depth=depth)

    async def reset(self) -> None:
        """Forget the state of the cells; the files stay."""
        result = await self._ask({"do": "reset"}, None)
        if result.error is not None:
            raise SandboxUnavailable(
                f"The sandbox could not be reset: {result.error.message}.",
                hint="Create a new one.",
            )

    async def destroy(self) -> None:
        """End everything in it. Asking twice is asking once."""
        async with self._ending:
            if not self._ended:
                self._kernel.close()
                await self._room.close()
                self._ended = True

    async def _ask(self, request: Json, timeout: float | None) -> ExecResult:
        seconds = self._limits.timeout if timeout is None else timeout
        seconds = max(0.1, min(seconds, LONGEST_CALL))
        kills = self.group.kills() if self.group else 0
        look = self.watcher.watch() if self.watcher else None
        try:
            answer = await self._kernel.ask(request, seconds, look)
        except KernelLost as loss:
            killed = self._why(kills)
            found = answers.lost(loss.failure, loss.message, isolation=self.isolation)
            await self.destroy()
            return found if killed is None else replace(found, error=killed)
        killed = self.group is not None and self.group.kills() > kills
        return answers.result_of(answer, isolation=self.isolation, out_of_memory=killed)

    def _why(self, kills: int) -> answers.CodeError | None:
        too_much = self.watcher is not None and self.watcher.peak > self._limits.memory
        if too_much or (self.group is not None and self.group.kills() > kills):
            message = "it used more memory than the sandbox may; the sandbox and its state are gone"
            return answers.CodeError(name=Failure.MEMORY, message=message)
        return None
