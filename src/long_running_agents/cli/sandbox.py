"""`lra sandbox`: the place where foreign code runs."""

import asyncio
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.main import FAILED, OK, CommandGroup, Options
from long_running_agents.cli.output import note, print_json
from long_running_agents.clock import SystemClock
from long_running_agents.errors import NotConfigured, UsageError

if TYPE_CHECKING:
    from long_running_agents.sandbox.base import Probe


@click.group(cls=CommandGroup)
def sandbox() -> None:
    """Check, prepare and serve the place where code runs."""


@sandbox.subcommand(json=True)
def doctor(options: Options, as_json: bool) -> int:
    """Try each kind of sandbox; exit 1 when none works."""
    from long_running_agents.sandbox import factory

    loaded = options.load()
    found = factory.backends(loaded.settings.sandbox, loaded.variables, SystemClock())
    probes = [backend.probe() for backend in found]
    if as_json:
        print_json(probes)
    else:
        for probe in probes:
            _print(probe)
    return OK if any(probe.ok for probe in probes) else FAILED


def _print(probe: "Probe") -> None:
    from long_running_agents.sandbox.base import UNSANDBOXED

    state = "ok" if probe.ok else "missing"
    styled = click.style(f"{state:<8}", fg="green" if probe.ok else "yellow")
    if not probe.ok:
        click.echo(f"{styled} {probe.backend}: {probe.reason}")
        click.echo(f"         {probe.fix}")
        return
    walls, limits = ", ".join(probe.isolation) or UNSANDBOXED, ", ".join(probe.limits)
    click.echo(f"{styled} {probe.backend}: {walls}; limits by {limits}")


@sandbox.subcommand()
@click.argument("packages", nargs=-1)
def prepare(options: Options, packages: tuple[str, ...]) -> None:
    """Fetch the Python packages for sandboxes: those of the settings, and PACKAGES beside them.

    Only wheels are taken, and nothing in them is run.
    """
    from long_running_agents.sandbox import bubblewrap_command, factory
    from long_running_agents.sandbox import packages as layers

    loaded = options.load()
    python = bubblewrap_command.find()
    if python is None:
        raise NotConfigured("No Python 3.11 can be shown to a sandbox.", hint="Install python3.")
    usual, folder = loaded.settings.sandbox.packages, loaded.home / factory.LAYERS
    wanted = layers.check([*usual, *layers.added(folder), *packages])
    note(f"Fetching {', '.join(wanted)} …")
    click.echo(layers.add(packages, usual, folder, python))


@sandbox.subcommand()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to bind.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
def serve(options: Options, host: str, port: int) -> None:
    """Offer sandboxes to other programs over HTTP. The key is SANDBOX_API_KEY, or a new one."""
    from long_running_agents.net.listen import is_loopback
    from long_running_agents.sandbox import factory
    from long_running_agents.sandbox.server import serve as serve_sandboxes

    loaded = options.load()
    if not is_loopback(host) and not loaded.variables.get(factory.KEY):
        raise UsageError(
            f"Anybody who can reach {host} could try its key.",
            hint=f"Set a {factory.KEY} of your own.",
        )

    def ready(address: str, key: str) -> None:
        note(f"Sandboxes at {address}, Ctrl-C stops it")
        if key != loaded.variables.get(factory.KEY):
            note(f"{factory.KEY}={key}")

    asyncio.run(serve_sandboxes(loaded, SystemClock(), host, port, ready=ready))
