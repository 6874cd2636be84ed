"""`lra sandbox`: the place where foreign code runs."""

import asyncio
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.failures import FAILED, OK
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, note, print_json
from long_running_agents.errors import NotConfigured, UsageError

if TYPE_CHECKING:
    from long_running_agents.sandbox.port import Probe


@click.group()
def sandbox() -> None:
    """Check, prepare and serve the place where code runs."""


@sandbox.command()
@json_option
@pass_options
def doctor(options: Options, as_json: bool) -> int:
    """Try each kind of sandbox; exit 1 when none works."""
    from long_running_agents.clock import SystemClock
    from long_running_agents.sandbox import opening

    loaded = options.load()
    found = opening.backends(loaded.settings.sandbox, loaded.variables, SystemClock())
    probes = [backend.probe() for backend in found]
    if as_json:
        print_json(probes)
    else:
        for probe in probes:
            _print(probe)
    return OK if any(probe.ok for probe in probes) else FAILED


def _print(probe: "Probe") -> None:
    from long_running_agents.sandbox.result import UNSANDBOXED

    state = "ok" if probe.ok else "missing"
    styled = click.style(f"{state:<8}", fg="green" if probe.ok else "yellow")
    if not probe.ok:
        click.echo(f"{styled} {probe.backend}: {probe.reason}")
        click.echo(f"         {probe.fix}")
        return
    walls, limits = ", ".join(probe.isolation) or UNSANDBOXED, ", ".join(probe.limits)
    click.echo(f"{styled} {probe.backend}: {walls}; limits by {limits}")


@sandbox.command()
@click.argument("packages", nargs=-1)
@pass_options
def prepare(options: Options, packages: tuple[str, ...]) -> None:
    """Fetch the Python packages for sandboxes; without PACKAGES, those of the settings.

    Only wheels are taken, and nothing in them is run.
    """
    from long_running_agents.sandbox import interpreter, opening
    from long_running_agents.sandbox import packages as layers

    loaded = options.load()
    python = interpreter.find()
    if python is None:
        raise NotConfigured("No Python 3.11 can be shown to a sandbox.", hint="Install python3.")
    wanted = packages or loaded.settings.sandbox.packages
    note(f"Fetching {', '.join(wanted)} …")
    click.echo(layers.build(wanted, loaded.home / opening.LAYERS, python))


@sandbox.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to bind.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@pass_options
def serve(options: Options, host: str, port: int) -> None:
    """Offer sandboxes to other programs over HTTP. The key is SANDBOX_API_KEY, or a new one."""
    from long_running_agents.clock import SystemClock
    from long_running_agents.listening import is_loopback
    from long_running_agents.sandbox import opening
    from long_running_agents.sandbox.serving import serve as serve_sandboxes

    loaded = options.load()
    if not is_loopback(host) and not loaded.variables.get(opening.KEY):
        raise UsageError(
            f"Anybody who can reach {host} could try its key.",
            hint=f"Set a {opening.KEY} of your own.",
        )

    def ready(address: str, key: str) -> None:
        note(f"Sandboxes at {address}, Ctrl-C stops it")
        if key != loaded.variables.get(opening.KEY):
            note(f"{opening.KEY}={key}")

    asyncio.run(serve_sandboxes(loaded, SystemClock(), host, port, ready=ready))
