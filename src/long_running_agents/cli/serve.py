"""`lra serve`: the agent over HTTP and WebSocket; `lra mcp`: MCP servers, and being one."""

import asyncio
import gc
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.access import client_of
from long_running_agents.cli.chat import model_option, settle
from long_running_agents.cli.main import (
    FAILED,
    OK,
    CommandGroup,
    Options,
    command,
    end_loading,
    unsafe_local_option,
)
from long_running_agents.cli.output import note, print_either, print_list, shown
from long_running_agents.clock import SystemClock
from long_running_agents.errors import UsageError
from long_running_agents.home import Home

if TYPE_CHECKING:
    from long_running_agents.config import LoadedSettings
    from long_running_agents.mcp.servers import McpServerStatus


_ARENAS = -8
"""How many heaps malloc keeps. By default each thread gets one of its own, most of it empty."""


@command()
@click.option("--host", metavar="ADDRESS", help="The address to bind; 127.0.0.1 unless set.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to bind; 0 takes a free one.")
@model_option
@unsafe_local_option
def serve(options: Options, host: str | None, port: int | None, model: str | None) -> None:
    """Serve the agent to browsers, programs and other agents.

    Programs on this machine need no token. Any other address than 127.0.0.1 is refused until there
    is one ('lra tokens create NAME'), and then everybody needs one.

    When no model is set, one is looked for: a key, a model server on this machine, an embedded
    model that is here. If there is none, the server starts all the same, and says so.

    Ctrl-C stops it: turns that run are parked, and go on at the next start. A second one leaves at
    once.
    """
    loaded = options.load({"gateway.host": host, "gateway.port": port})
    # What is loaded now stays: there is no garbage to look for before the server is ready.
    gc.disable()
    import ctypes

    with suppress(OSError, AttributeError):  # Only the GNU C library has it.
        ctypes.CDLL(None).mallopt(_ARENAS, 1)
    asyncio.run(_serve(loaded, model))


async def _serve(loaded: "LoadedSettings", model: str | None) -> None:
    from long_running_agents.app import open_app
    from long_running_agents.net import listen
    from long_running_agents.server import serve as server_serve

    clock, gateway = SystemClock(), loaded.settings.gateway
    with server_serve.interrupts() as stop:
        await server_serve.check_bind(loaded, clock)
        with listen.listening(gateway.host, gateway.port) as listener:
            loaded = await with_model(loaded, model)
            async with open_app(loaded) as app:
                await server_serve.serve(app, clock, listener, stop, _ready)


async def with_model(loaded: "LoadedSettings", model: str | None) -> "LoadedSettings":
    """See which model there is; a server can wait for one."""
    from long_running_agents.models import names, selection
    from long_running_agents.models.selection import ModelChoice

    loaded, named = await settle(loaded, model, terminal=False, resuming=True)
    if named is not None:
        return selection.settled(loaded, ModelChoice(named, "flag"))
    if names.configured_name(loaded.settings.agent.model) is None:
        note(f"There is no model yet, so that turns will fail. {names.CHOOSE}")
    return loaded


def _ready(address: str) -> None:
    end_loading()
    click.echo(f"listening on {address}")
    click.echo("Open that address in a browser, or run 'lra chat'. Ctrl-C stops the server.")


_PATIENCE = 30.0

wait_option = click.option(
    "--wait",
    default=_PATIENCE,
    show_default=True,
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="How long to wait for a server.",
)


@click.group(cls=CommandGroup)
def mcp() -> None:
    """List and test the MCP servers in mcp.json, or serve the agent as one."""


@mcp.subcommand("list", json=True)
@wait_option
def list_servers(options: Options, wait: float, as_json: bool) -> None:
    """Start each server, and show its state, its tools, or why there are none."""
    print_list(
        asyncio.run(statuses(options.load(), wait)),
        "name, state, tools, refused, where, why not",
        _row,
        as_json=as_json,
        nothing="No server is named in mcp.json of this home.",
    )


@mcp.subcommand(json=True)
@click.argument("name")
@wait_option
def test(options: Options, name: str, wait: float, as_json: bool) -> int:
    """Start one server and show what it offers; exit 1 when it cannot be used."""
    [status] = asyncio.run(statuses(options.load(), wait, name))
    print_either(status, as_json, _print)
    return OK if status.state == "ready" else FAILED


@mcp.subcommand("serve")
@model_option
@unsafe_local_option
def mcp_serve(options: Options, model: str | None) -> None:
    """Offer the agent to one MCP client, over stdin and stdout.

    The client starts this by itself: 'lra mcp serve' is the command to give it. A server that runs
    in the home is joined; otherwise the home is opened here. It ends when stdin does. Turns that
    run then go on: at the server, or when the home is opened again.
    """
    asyncio.run(_serve_client(options.load(), model))


async def _serve_client(loaded: "LoadedSettings", model: str | None) -> None:
    from long_running_agents.observe.logs import log_to
    from long_running_agents.server.mcp import tools
    from long_running_agents.server.serve import interrupts
    from long_running_agents.server.server_file import shared

    settings, clock = loaded.settings, SystemClock()
    with interrupts() as stop:
        async with client_of(loaded) as client:
            if client is not None:
                if model is not None or loaded.origin("sandbox.unsafe_local") == "flag":
                    raise UsageError(
                        "Another process has this home open; it decides on the model and where"
                        " code runs.",
                        hint="Leave the flags away, or stop it.",
                    )
                with log_to(Home(loaded.home).logs, settings.log_level, loaded.redact):
                    agent = await tools.at_server(client, settings.owner)
                    # Only here: the library of the protocol takes a while.
                    from long_running_agents.server.mcp import stdio

                    await stdio.talk(agent, clock, stop)
                return
        from long_running_agents.app import open_app

        loaded = await with_model(loaded, model)
        async with open_app(loaded) as app, shared(app, clock):
            from long_running_agents.server.mcp import stdio

            agent = tools.at_home(app, app.settings.owner)
            await stdio.talk(agent, clock, stop)


async def statuses(
    loaded: "LoadedSettings", wait: float, name: str | None = None
) -> "list[McpServerStatus]":
    """Start servers, all at once, and tell how they are; then they are ended."""
    from dataclasses import replace

    from long_running_agents.observe.logs import log_to
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


def _row(status: "McpServerStatus") -> tuple[str, ...]:
    names = ", ".join(offer.name for offer in status.listing.offers)
    refused = ", ".join(refusal.tool for refusal in status.listing.refused)
    return status.name, status.state, names, refused, status.where, status.reason


def _print(status: "McpServerStatus") -> None:
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
