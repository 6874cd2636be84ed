"""The bubblewrap backend: own namespaces, own system-call filter, limits, and a spare user."""

import asyncio
import contextlib
import json
import os
import platform
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox import base, bubblewrap_command, limits
from long_running_agents.sandbox.base import Probe, SandboxLimits, SandboxSpec
from long_running_agents.sandbox.bubblewrap_command import (
    PROXY,
    Descriptors,
    Walls,
    bubblewrap_argv,
    paths_inside,
)
from long_running_agents.sandbox.kernel import Kernel, KernelLost, kernel_settings
from long_running_agents.sandbox.kernel_sandbox import HostResources, KernelSandbox, prepare_host
from long_running_agents.sandbox.limits import SandboxWatcher
from long_running_agents.sandbox.seccomp import MACHINES, build

_ENTER = 0o001
_IDMAP = Path(__file__).with_name("idmap.py")


def is_open(path: Path) -> bool:
    """Whether anybody may walk to a path."""
    return all(folder.stat().st_mode & _ENTER for folder in path.resolve().parents)


def opened(paths: Iterable[Path], room: HostResources) -> dict[Path, Path]:
    """For each path that the user cannot walk to, or does not own, a place to mount it on."""
    places: dict[Path, Path] = {}
    for number, path in enumerate(paths):
        if not is_open(path) or _is_mapped(path, room):
            place = room.folder / f"seen-{number}"
            if path.is_dir():
                place.mkdir(exist_ok=True)
            else:
                place.touch()
            places[path] = place
    return places


def command(words: list[str], places: dict[Path, Path], room: HostResources) -> list[str]:
    """A command that mounts the places, becomes the user, and goes on as the other command."""
    mounts = [
        shlex.join([*_mount(path, room), str(path), str(place)])
        + (f" {room.user}" if _is_mapped(path, room) else "")
        for path, place in places.items()
    ]
    become = f"exec setpriv --reuid {room.user} --regid {room.group} --clear-groups"
    script = " && ".join([*mounts, f'{become} --inh-caps=-all -- "$@"'])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *words]


def _is_mapped(path: Path, room: HostResources) -> bool:
    return room.mapped and path == room.workspace.root


def _mount(path: Path, room: HostResources) -> list[str]:
    if _is_mapped(path, room):
        return [sys.executable, "-I", "-S", str(_IDMAP)]
    return ["mount", "--bind"]


NAME = "bubblewrap"
_NAMESPACES = ("user", "pid", "net", "ipc", "uts", "mount", "seccomp")
_PROGRAM = "bwrap"
_WAIT = 10.0
_CLOSED = {"PATH": "/usr/bin:/bin"}
"""The whole environment of bwrap itself: its own would be readable inside."""


@dataclass
class _Started:
    """A kernel's processes, and all that has to be given back when they end."""

    process: "subprocess.Popen[bytes]"
    channel: socket.socket
    group: limits.Cgroup | None
    complaints: int
    """Where bwrap says what is wrong. A pipe: a file could be found and opened from inside."""
    first: int | None = None
    """The first process inside, as a descriptor: its number may be somebody else's by now."""

    def kill(self) -> None:
        """End everything inside."""
        if self.first is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self.first, signal.SIGKILL)
        self.process.kill()

    def close(self) -> None:
        """Let go of its descriptors."""
        os.close(self.complaints)
        if self.first is not None:
            os.close(self.first)
            self.first = None


class BubblewrapBackend:
    """Makes sandboxes of namespaces; needs no daemon and no rights."""

    name = NAME

    def __init__(self, clock: Clock, *, use_cgroup: bool = True) -> None:
        self._clock = clock
        self._use_cgroup = use_cgroup

    def probe(self) -> Probe:
        """Start a real sandbox and end it again, once."""
        return self._found

    async def create(self, spec: SandboxSpec) -> KernelSandbox:
        """Make a sandbox."""
        missing = self._missing()
        if missing is not None:
            raise SandboxUnavailable(f"{missing.reason}.", hint=missing.fix)
        room = await prepare_host(spec)
        try:
            try:
                started = await self._start(spec, room, use_cgroup=self._use_cgroup)
            except FileNotFoundError:
                # The group was taken away in between, by whoever tidies up on this machine.
                started = await self._start(spec, room, use_cgroup=False)
            # From here on whoever closes the room ends what was started, also half-way.
            room.later(lambda: self._end(started))
            return await self._open(spec, room, started)
        except BaseException:
            await room.close()
            raise

    async def _open(
        self, spec: SandboxSpec, room: HostResources, started: _Started
    ) -> KernelSandbox:
        reader, writer = await asyncio.open_unix_connection(sock=started.channel)
        kernel = Kernel(reader, writer, self._clock, started.kill)
        sandbox = KernelSandbox(
            backend=NAME,
            isolation=(*_NAMESPACES, "cgroup" if started.group else "rlimit"),
            kernel=kernel,
            room=room,
            limits=spec.limits,
            watcher=SandboxWatcher(
                process=started.process.pid,
                limits=spec.limits,
                workspace=room.workspace.root,
                counted=started.group is not None,
                kill=started.kill,
                clock=self._clock,
            ),
            group=started.group,
        )
        try:
            settings = kernel_settings(
                spec,
                counted=started.group is not None,
                proxy=PROXY if spec.network else "",
                paths=[*self._packages(), *paths_inside(spec.packages)],
            )
            await kernel.open(settings)
        except BaseException as error:
            said = _read(started.complaints)
            await sandbox.destroy()
            if isinstance(error, KernelLost):
                raise _refused(said) from error
            raise
        return sandbox

    async def _start(self, spec: SandboxSpec, room: HostResources, *, use_cgroup: bool) -> _Started:
        group = limits.make(spec.limits) if use_cgroup else None
        ours, theirs = socket.socketpair()
        with Descriptors() as hand:
            status, status_end = os.pipe()
            gate_end, gate = os.pipe()
            complaints, errors = os.pipe()
            os.set_blocking(complaints, False)
            channel = theirs.detach()
            for descriptor in (status, status_end, gate_end, gate, errors, channel):
                hand.keep(descriptor)
            walls = self._walls(spec, room, counted=group is not None)
            words = bubblewrap_argv(walls, channel, status_end, gate_end, hand)
            inherited = [end for end in hand.open if end not in (status, gate, errors)]
            if room.user is not None and walls.places:
                words = command(words, dict(walls.places), room)
            try:
                process = _spawn(words, inherited, errors, None if walls.places else room)
            except OSError as error:
                ours.close()
                os.close(complaints)
                if group is not None:
                    await group.remove(self._clock)
                raise _refused(str(error)) from error
            for end in (*inherited, errors):
                os.close(end)
            hand.open[:] = [status, gate]
            started = _Started(process, ours, group, complaints)
            try:
                await self._let_in(started, status, gate)
            except BaseException:
                started.kill()
                ours.close()
                await self._end(started)
                raise
        return started

    async def _let_in(self, started: _Started, status: int, gate: int) -> None:
        """Wait until the walls stand, put the limits around them, then open the gate."""
        reading = asyncio.ensure_future(_line(status))
        try:
            if not await self._clock.wait(reading, _WAIT):
                raise _refused("it did not start in time")
            said = reading.result()
        finally:
            reading.cancel()
        if not said:
            await asyncio.to_thread(started.process.wait)
            raise _refused(_read(started.complaints))
        first = int(json.loads(said)["child-pid"])
        try:
            started.first = os.pidfd_open(first)
            if started.group is not None:
                started.group.add(started.process.pid)
                started.group.add(first)
            os.write(gate, b"+")
        except (ProcessLookupError, BrokenPipeError) as error:
            await asyncio.to_thread(started.process.wait)
            raise _refused(_read(started.complaints)) from error

    async def _end(self, started: _Started) -> None:
        started.kill()
        await asyncio.to_thread(started.process.wait)
        started.close()
        if started.group is not None:
            await started.group.remove(self._clock)

    def _walls(self, spec: SandboxSpec, room: HostResources, *, counted: bool) -> Walls:
        python = self._interpreter
        assert python is not None  # noqa: S101 - _missing has looked
        needed = (python.folder, spec.packages, room.workspace.root)
        closed = [path for path in needed if path is not None] if room.user is not None else []
        return Walls(
            program=shutil.which(_PROGRAM) or _PROGRAM,
            interpreter=python,
            limits=spec.limits,
            workspace=room.workspace.root,
            seccomp=build(MACHINES[platform.machine()], memory_files=counted),
            packages=spec.packages,
            places=opened(closed, room),
            proxy=None if room.proxy is None else room.proxy.path,
            hidden=room.hidden,
            protected=room.protected,
        )

    def _missing(self) -> Probe | None:
        system = base.look(sys.platform)
        nothing = Probe(backend=NAME, ok=False)
        if sys.platform != "linux" or shutil.which(_PROGRAM) is None:
            fix = base.missing_bubblewrap(system)
            return replace(nothing, reason="bubblewrap is not installed", fix=fix)
        if platform.machine() not in MACHINES:
            reason = f"there is no system-call filter for {platform.machine()}"
            return replace(nothing, reason=reason, fix="Use Docker, or set SANDBOX_URL.")
        if self._interpreter is None:
            fix = base.install("python3", system)
            return replace(nothing, reason="no Python 3.11 can be shown to a sandbox", fix=fix)
        return None

    @cached_property
    def _found(self) -> Probe:
        missing = self._missing()
        if missing is not None:
            return missing
        try:
            sandbox = asyncio.run(self._try())
        except SandboxUnavailable as error:
            return Probe(backend=NAME, ok=False, reason=error.message, fix=error.hint)
        ways = ("cgroup", "rlimit") if "cgroup" in sandbox.isolation else ("rlimit", "watcher")
        return Probe(backend=NAME, ok=True, isolation=sandbox.isolation, limits=ways)

    async def _try(self) -> KernelSandbox:
        sandbox = await self.create(SandboxSpec(limits=SandboxLimits(processes=8)))
        await sandbox.destroy()
        return sandbox

    def _packages(self) -> tuple[str, ...]:
        return () if self._interpreter is None else self._interpreter.packages

    @cached_property
    def _interpreter(self) -> bubblewrap_command.Interpreter | None:
        return bubblewrap_command.find()


def _spawn(
    words: list[str], inherited: list[int], errors: int, room: HostResources | None
) -> "subprocess.Popen[bytes]":
    """Start bwrap, as somebody who owns nothing if we are the superuser."""
    user = None if room is None else room.user
    # From this very thread: bwrap dies with the thread that started it.
    return subprocess.Popen(  # noqa: S603 - our own words
        words,
        env=_CLOSED,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        pass_fds=inherited,
        user=user,
        group=None if room is None or user is None else room.group,
        extra_groups=None if user is None else [],
    )


async def _line(descriptor: int) -> bytes:
    """Wait for a whole line; nothing when there is none."""
    # Not in a thread, which would read on when the descriptor is closed, or is somebody else's.
    reader = asyncio.StreamReader()
    pipe = os.fdopen(os.dup(descriptor), "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        line = await reader.readline()
    finally:
        transport.close()
    return line if line.endswith(b"\n") else b""


def _refused(said: str) -> SandboxUnavailable:
    hint = base.refused_bubblewrap(base.look(sys.platform))
    told = said.strip()[-300:] or "it gave no reason"
    return SandboxUnavailable(f"bubblewrap cannot build a sandbox here: {told}", hint=hint)


def _read(complaints: int) -> str:
    with contextlib.suppress(OSError):
        return os.read(complaints, 1 << 16).decode("utf-8", "replace")
    return ""
