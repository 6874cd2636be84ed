"""`lra mcp`: foreign servers whose tools the agent may use, and the agent as such a server."""

import asyncio
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.failures import FAILED, OK
from long_running_agents.cli.options import Options, pass_options, unsafe_local_option
from long_running_agents.cli.output import json_option, note, print_json, print_table, shown

if TYPE_CHECKING:
    from long_running_agents.config import Loaded
    from long_running_agents.mcp.server import Status

_PATIENCE = 30.0

wait_option = click.option(
    "--wait",
    default=_PATIENCE,
    show_default=True,
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="How long to wait for a server.",
)


@click.group()
def mcp() -> None:
    """Look at the foreign servers in mcp.json, or be a server for other agents."""


@mcp.command("list")
@wait_option
@json_option
@pass_options
def list_servers(options: Options, wait: float, as_json: bool) -> None:
    """Start each server, and show its state, its tools, or why there are none."""
    loaded = options.load()
    found = asyncio.run(_statuses(loaded, wait))
    if as_json:
        print_json(found)
    elif not found:
        note("No server is named in mcp.json of this home.")
    else:
        titles = ("name", "state", "tools", "refused", "where", "why not")
        print_table(titles, [_row(status) for status in found])


@mcp.command()
@click.argument("name")
@wait_option
@json_option
@pass_options
def test(options: Options, name: str, wait: float, as_json: bool) -> int:
    """Start one server and show what it offers; exit 1 when it cannot be used."""
    loaded = options.load()
    [status] = asyncio.run(_statuses(loaded, wait, name))
    if as_json:
        print_json(status)
    else:
        _print(status)
    return OK if status.state == "ready" else FAILED


@mcp.command()
@click.option("--model", metavar="NAME", help="The model to ask, as provider:model.")
@unsafe_local_option
@pass_options
def serve(options: Options, model: str | None) -> None:
    """Offer the agent to one MCP client, over stdin and stdout.

    The client starts this by itself: 'lra mcp serve' is the command to give it. A server that runs
    in the home is joined; otherwise the home is opened here. It ends when stdin does. Turns that
    run then go on: at the server, or when the home is opened again.
    """
    from long_running_agents.cli.mcp_serving import serve_client

    asyncio.run(serve_client(options.load(), model))


async def _statuses(loaded: "Loaded", wait: float, name: str | None = None) -> "list[Status]":
    """Start servers, all at once, and tell how they are; then they are ended."""
    from dataclasses import replace

    from long_running_agents.clock import SystemClock
    from long_running_agents.home import Home
    from long_running_agents.logs import log_to
    from long_running_agents.tools.mcp import foreign_servers

    servers = foreign_servers(loaded, SystemClock())
    chosen = servers.each if name is None else [servers.named(name)]
    if not chosen:
        return []
    redact = servers.guarded(loaded).redact
    with log_to(Home(loaded.home).logs, loaded.settings.log_level, redact):
        try:
            await asyncio.gather(*(server.tools(patience=wait) for server in chosen))
            return [
                replace(server.status, reason=redact(server.status.reason)) for server in chosen
            ]
        finally:
            await servers.close()


def _row(status: "Status") -> tuple[str, ...]:
    names = ", ".join(offer.name for offer in status.listing.offers)
    refused = ", ".join(refusal.tool for refusal in status.listing.refused)
    return status.name, status.state, names, refused, status.where, status.reason


def _print(status: "Status") -> None:
    colour = "green" if status.state == "ready" else "yellow"
    click.echo(f"{click.style(status.state, fg=colour)} {status.name}: {shown(status.where)}")
    if status.reason:
        click.echo(shown(status.reason))
    if status.protocol:
        click.echo(f"protocol {status.protocol}")
    for offer in status.listing.offers:
        click.echo(f"  {offer.name}: {shown(' '.join(offer.description.split()))}")
    for refusal in status.listing.refused:
        click.echo(f"  not offered: {shown(refusal.tool)}: {refusal.reason}")
