"""From settings to sandboxes: the choice of a backend, the warm pool, those of sessions."""

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from long_running_agents.config import LoadedSettings
from long_running_agents.config.settings import SandboxSettings
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.workspace import INSTRUCTIONS
from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox import base, bubblewrap_command, packages
from long_running_agents.sandbox.base import (
    MEGABYTE,
    Probe,
    Sandbox,
    SandboxBackend,
    SandboxLimits,
    SandboxSpec,
)
from long_running_agents.sandbox.manager import Sandboxes, SessionSandboxes, swept
from long_running_agents.workspace.workspace import Workspace

_REST = 0.5


class Pool:
    """A backend that keeps a few sandboxes of the usual kind warm."""

    def __init__(
        self, backend: SandboxBackend, spec: SandboxSpec, clock: Clock, *, size: int = 2
    ) -> None:
        """Stand before a backend; only the kind of this spec is kept ready."""
        self._backend = backend
        self._spec = spec
        self._clock = clock
        self._size = size
        self._turn = asyncio.Lock()
        self._warm: deque[Sandbox] = deque()
        self._filling: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """The name of the backend behind."""
        return self._backend.name

    @property
    def ready(self) -> int:
        """How many are waiting."""
        return len(self._warm)

    def probe(self) -> Probe:
        """Try the backend, once."""
        return self._backend.probe()

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Hand out a warm sandbox if it is of the usual kind, or make one."""
        sandbox = self._take() if spec == self._spec else None
        if spec == self._spec:
            # Whoever took one is to work first; making the next takes a core for a moment.
            self.warm_up(after=_REST)
        return sandbox or await self._backend.create(spec)

    def warm_up(self, *, after: float = 0.0) -> None:
        """Begin to make what is missing; nobody has to wait for it."""
        if not self._closed and (self._filling is None or self._filling.done()):
            self._filling = asyncio.ensure_future(self._fill(after))

    async def filled(self) -> None:
        """Wait until as many are ready as should be, or cannot be."""
        if not self._closed:
            await self._fill(0.0)

    async def close(self) -> None:
        """Destroy those that nobody took."""
        self._closed = True
        if self._filling is not None:
            self._filling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._filling
        while self._warm:
            await self._warm.popleft().destroy()

    def _take(self) -> Sandbox | None:
        while self._warm:
            sandbox = self._warm.popleft()
            if sandbox.alive:
                return sandbox
        return None

    async def _fill(self, after: float) -> None:
        if after:
            await self._clock.sleep(after)
        async with self._turn:
            while len(self._warm) < self._size:
                try:
                    self._warm.append(await self._backend.create(self._spec))
                except SandboxUnavailable:
                    # Whoever asks for one is told.
                    return


LAYERS = "sandbox/packages"
"""Where packages are built, in a home."""
KEY = "SANDBOX_API_KEY"
"""The variable with the key of a sandbox server."""


def backends(
    settings: SandboxSettings, variables: Mapping[str, str], clock: Clock
) -> list[SandboxBackend]:
    """What could be used, in the order in which it is tried."""
    if settings.unsafe_local:
        from long_running_agents.sandbox.unsafe_local import UnsafeLocalBackend  # noqa: PLC0415 - nobody is to come by it otherwise

        return [UnsafeLocalBackend(clock, path=variables.get("PATH", os.defpath))]
    if settings.url:
        from long_running_agents.sandbox.remote import RemoteBackend  # noqa: PLC0415 - brings HTTP

        return [RemoteBackend(settings.url, variables.get(KEY, ""))]
    found: list[SandboxBackend] = []
    if settings.backend in ("auto", "bubblewrap"):
        from long_running_agents.sandbox.bubblewrap import BubblewrapBackend  # noqa: PLC0415 - for who runs code

        found.append(BubblewrapBackend(clock))
    if settings.backend in ("auto", "docker"):
        from long_running_agents.sandbox.docker import DockerBackend  # noqa: PLC0415 - brings HTTP

        found.append(
            DockerBackend(
                clock, host=variables.get("DOCKER_HOST", ""), runtime=settings.docker_runtime
            )
        )
    return found


async def choose(candidates: Sequence[SandboxBackend]) -> SandboxBackend:
    """The first that works.

    Raises:
        SandboxUnavailable: None does; the hint says for each what would mend it.
    """
    probes: list[Probe] = []
    for backend in candidates:
        probe = await asyncio.to_thread(backend.probe)
        if probe.ok:
            return backend
        probes.append(probe)
    raise unavailable(probes)


def unavailable(probes: Sequence[Probe]) -> SandboxUnavailable:
    """What to say when nothing works."""
    reasons = "; ".join(f"{probe.backend}: {probe.reason}" for probe in probes)
    hints = [f"{probe.backend}: {probe.fix}" for probe in probes if probe.fix]
    return SandboxUnavailable(
        f"Foreign code cannot be run here ({reasons or 'no backend is set'}).",
        hint=" Or: ".join(hints) or base.missing_docker(base.look(sys.platform)),
    )


def served(settings: SandboxSettings) -> SandboxSettings:
    """These settings for a server, which has walls of its own."""
    # One that asks another server would be a way round its limits.
    return settings.model_copy(update={"url": "", "unsafe_local": False})


def spec_of(
    settings: SandboxSettings, *, workspace: Path | None = None, layers: Path | None = None
) -> SandboxSpec:
    """The usual sandbox of these settings, with the packages of the layers once they are built."""
    limits = SandboxLimits(
        timeout=settings.timeout,
        memory=settings.memory * MEGABYTE,
        processes=settings.processes,
        workspace_bytes=settings.disk * MEGABYTE,
    )
    built = None
    wanted = [] if layers is None else [*settings.packages, *packages.added(layers)]
    if layers is not None and wanted and not settings.url:
        python = bubblewrap_command.find()
        built = python and packages.find(wanted, layers, python)
    return SandboxSpec(
        workspace=workspace, limits=limits, network=settings.network, packages=built or None
    )


def session_sandboxes(
    loaded: LoadedSettings, clock: Clock, workspace: Workspace, *, borrowed: bool
) -> SessionSandboxes:
    """The sandboxes of an agent's conversations; nothing is started yet."""
    settings, layers = loaded.settings.sandbox, loaded.home / LAYERS

    def spec() -> SandboxSpec:
        usual = spec_of(settings, workspace=workspace.root, layers=layers)
        # Code may read what tells the agent what to do, and not change it.
        return replace(
            usual,
            borrowed=borrowed,
            protected=INSTRUCTIONS,
            hidden=tuple(sorted(workspace.hidden)),
        )

    def install(wanted: Sequence[str]) -> None:
        python = bubblewrap_command.find()
        if settings.url or python is None:
            raise SandboxUnavailable(
                "Packages cannot be added to these sandboxes.",
                hint="Install them where the sandbox server runs.",
            )
        packages.add(wanted, settings.packages, layers, python)

    def lacks(module: str) -> bool:
        return (
            not settings.url
            and packages.provides(settings.packages, module)
            and spec_of(settings, layers=layers).packages is None
        )

    # Somebody waits for the first one: the others must not get in its way.
    return SessionSandboxes(
        lambda usual: opened(settings, loaded.variables, clock, usual, at_once=False),
        spec,
        install,
        lacks,
    )


def errand_sandboxes(loaded: LoadedSettings, clock: Clock) -> SessionSandboxes:
    """Sandboxes for one errand each, with an empty workspace; nothing is started yet."""
    settings = loaded.settings.sandbox
    rare = settings.model_copy(update={"warm": 0})

    def install(_: Sequence[str]) -> None:
        raise SandboxUnavailable("Nothing is installed for an errand.")

    return SessionSandboxes(
        lambda usual: opened(rare, loaded.variables, clock, usual, at_once=False),
        lambda: spec_of(settings, layers=loaded.home / LAYERS),
        install,
        lambda _: False,
    )


@asynccontextmanager
async def opened(
    settings: SandboxSettings,
    variables: Mapping[str, str],
    clock: Clock,
    spec: SandboxSpec,
    *,
    at_once: bool = True,
) -> AsyncGenerator[Sandboxes]:
    """All sandboxes of a process; some of the usual kind are kept warm, at once or later."""
    backend = await choose(backends(settings, variables, clock))
    pool = Pool(backend, spec, clock, size=settings.warm)
    held = Sandboxes(pool, clock, idle=settings.idle_minutes * 60, most=settings.most)
    if at_once:
        pool.warm_up()
    try:
        async with swept(held):
            yield held
    finally:
        await pool.close()
