"""From settings to a place where foreign code runs."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from long_running_agents.config.settings import SandboxSettings
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.workspace import INSTRUCTIONS
from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox import fixes, interpreter, packages
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend
from long_running_agents.sandbox.pool import Pool
from long_running_agents.sandbox.port import Probe, SandboxBackend
from long_running_agents.sandbox.sandboxes import Sandboxes, swept
from long_running_agents.sandbox.session_sandboxes import SessionSandboxes
from long_running_agents.sandbox.spec import MEGABYTE, Limits, SandboxSpec
from long_running_agents.sandbox.workspace import Workspace

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
        hint=" Or: ".join(hints) or fixes.missing_docker(fixes.look(sys.platform)),
    )


def served(settings: SandboxSettings) -> SandboxSettings:
    """These settings for a server, which has walls of its own."""
    # One that asks another server would be a way round its limits.
    return settings.model_copy(update={"url": "", "unsafe_local": False})


def spec_of(
    settings: SandboxSettings, *, workspace: Path | None = None, layers: Path | None = None
) -> SandboxSpec:
    """The usual sandbox of these settings.

    Args:
        settings: The settings.
        workspace: The folder seen as /workspace; None makes one for each sandbox.
        layers: Where packages are built; without them, or before that, there are none.
    """
    limits = Limits(
        timeout=settings.timeout,
        memory=settings.memory * MEGABYTE,
        processes=settings.processes,
        workspace_bytes=settings.disk * MEGABYTE,
    )
    built = None
    if layers is not None and not settings.url and settings.packages:
        python = interpreter.find()
        wanted = [*settings.packages, *packages.added(layers)]
        built = python and packages.find(wanted, layers, python)
    return SandboxSpec(
        workspace=workspace, limits=limits, network=settings.network, packages=built or None
    )


def session_sandboxes(
    settings: SandboxSettings,
    variables: Mapping[str, str],
    clock: Clock,
    *,
    workspace: Workspace,
    layers: Path,
) -> SessionSandboxes:
    """The sandboxes of an agent's conversations; nothing is started yet."""

    def spec() -> SandboxSpec:
        usual = spec_of(settings, workspace=workspace.root, layers=layers)
        # Code may read what tells the agent what to do, and not change it.
        return replace(usual, protected=INSTRUCTIONS, hidden=tuple(sorted(workspace.hidden)))

    def install(wanted: Sequence[str]) -> None:
        python = interpreter.find()
        if settings.url or python is None:
            raise SandboxUnavailable(
                "Packages cannot be added to these sandboxes.",
                hint="Install them where the sandbox server runs.",
            )
        packages.add(wanted, settings.packages, layers, python)

    def opening(usual: SandboxSpec) -> AbstractAsyncContextManager[Sandboxes]:
        # Somebody waits for the first one: the others must not get in its way.
        return opened(settings, variables, clock, usual, at_once=False)

    return SessionSandboxes(opening, spec, install)


def errand_sandboxes(
    settings: SandboxSettings, variables: Mapping[str, str], clock: Clock, *, layers: Path
) -> SessionSandboxes:
    """Sandboxes for one errand each, with an empty workspace; nothing is started yet."""
    rare = settings.model_copy(update={"warm": 0})

    def spec() -> SandboxSpec:
        return spec_of(settings, layers=layers)

    def install(_: Sequence[str]) -> None:
        raise SandboxUnavailable("Nothing is installed for an errand.")

    def opening(usual: SandboxSpec) -> AbstractAsyncContextManager[Sandboxes]:
        return opened(rare, variables, clock, usual, at_once=False)

    return SessionSandboxes(opening, spec, install)


@asynccontextmanager
async def opened(
    settings: SandboxSettings,
    variables: Mapping[str, str],
    clock: Clock,
    spec: SandboxSpec,
    *,
    at_once: bool = True,
) -> AsyncGenerator[Sandboxes]:
    """All sandboxes of a process, with some of the usual kind kept warm.

    Args:
        settings: The settings.
        variables: Keys and addresses.
        clock: Tells the time.
        spec: The usual kind.
        at_once: Whether to warm them now, and not when the first has been taken.

    Raises:
        SandboxUnavailable: Nothing works here.
    """
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
