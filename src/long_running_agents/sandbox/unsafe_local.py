"""No sandbox at all: code runs as a child of this process, with every right that we have.

For a developer who asks for it by name, on a machine that can be lost. The kernel inside is the
same, so cells can be undone and limits are kept; but nothing keeps code that wants to leave.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox import bubblewrap_command
from long_running_agents.sandbox.base import Json, Probe, SandboxSpec
from long_running_agents.sandbox.bubblewrap_command import ENVIRONMENT, INSIDE, start
from long_running_agents.sandbox.kernel import Kernel, KernelLost, kernel_settings
from long_running_agents.sandbox.kernel_sandbox import HostResources, KernelSandbox, prepare_host
from long_running_agents.sandbox.limits import SandboxWatcher, living

NAME = "unsafe-local"
_ROUNDS = 100


class UnsafeLocalBackend:
    """Makes what looks like sandboxes, and is none. Its isolation is empty, and says so."""

    name = NAME

    def __init__(self, clock: Clock, *, path: str = os.defpath) -> None:
        """Take the folders in which commands are looked for."""
        self._clock = clock
        self._path = path

    def probe(self) -> Probe:
        """See whether this system has what the kernel needs."""
        if sys.platform != "linux" or bubblewrap_command.find() is None:
            reason = "the kernel needs Linux and Python 3.11"
            return Probe(backend=NAME, ok=False, reason=reason, fix="Use Docker.")
        return Probe(backend=NAME, ok=True, limits=("rlimit", "watcher"))

    async def create(self, spec: SandboxSpec) -> KernelSandbox:
        """Start a kernel without walls."""
        python = await asyncio.to_thread(bubblewrap_command.find)
        if python is None:
            raise SandboxUnavailable("There is no Python 3.11 to run code with.")
        room = await prepare_host(spec, apart=False)
        try:
            channel, process = _started(python, spec, room, self._path)
            # From here on whoever closes the room ends what was started, also half-way.
            room.later(lambda: _end(channel, process))
            settings = _settings(spec, room, python.packages)
            return await self._open(settings, spec, room, channel, process)
        except BaseException:
            await room.close()
            raise

    async def _open(
        self,
        settings: Json,
        spec: SandboxSpec,
        room: HostResources,
        channel: socket.socket,
        process: "subprocess.Popen[bytes]",
    ) -> KernelSandbox:
        kernel = Kernel(
            *await asyncio.open_unix_connection(sock=channel), self._clock, lambda: _kill(process)
        )
        sandbox = KernelSandbox(
            backend=NAME,
            isolation=(),
            kernel=kernel,
            room=room,
            limits=spec.limits,
            watcher=SandboxWatcher(
                process=process.pid,
                limits=spec.limits,
                workspace=room.workspace.root,
                counted=False,
                kill=lambda: _kill(process),
                clock=self._clock,
            ),
        )
        try:
            await kernel.open(settings)
        except BaseException as error:
            await sandbox.destroy()
            if isinstance(error, KernelLost):
                raise SandboxUnavailable(f"The kernel does not start: {error.message}.") from error
            raise
        return sandbox


def _started(
    python: bubblewrap_command.Interpreter, spec: SandboxSpec, room: HostResources, path: str
) -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            return ours, _spawn(python, theirs, room, _environment(spec, room, path))
        except OSError as error:
            ours.close()
            raise SandboxUnavailable(f"The kernel does not start: {error}.") from error


def _spawn(
    python: bubblewrap_command.Interpreter,
    channel: socket.socket,
    room: HostResources,
    environment: Mapping[str, str],
) -> "subprocess.Popen[bytes]":
    program = ("-I", "-S", "-B", "-c", start(str(INSIDE.parent)), str(channel.fileno()))
    return subprocess.Popen(  # noqa: S603 - our own words
        [python.program, *program],
        env=environment,
        cwd=room.workspace.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[channel.fileno()],
        start_new_session=True,
    )


def _settings(spec: SandboxSpec, room: HostResources, installed: tuple[str, ...]) -> Json:
    packages = [] if spec.packages is None else [str(spec.packages)]
    settings = kernel_settings(
        spec,
        counted=False,
        proxy="",
        paths=[*installed, *packages],
        workspace=str(room.workspace.root),
    )
    # They would be counted together with all others of ours.
    settings["processes"] = 0
    return settings


def _environment(spec: SandboxSpec, room: HostResources, path: str) -> Mapping[str, str]:
    """What code finds: no secrets, even though it could look for them elsewhere."""
    own = {**ENVIRONMENT, "PATH": path, "HOME": str(room.workspace.root)}
    return own if spec.packages is None else {**own, "PYTHONPATH": str(spec.packages)}


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End what is below it first: while it lives, nothing below can leave its tree."""
    for _ in range(_ROUNDS):
        below = living(process.pid)[1:]
        for child in below:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        if not below:
            break
    process.kill()


async def _end(channel: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    channel.close()
    await asyncio.to_thread(_kill, process)
    await asyncio.to_thread(process.wait)
