"""`lra serve`: the agent over HTTP and WebSocket."""

import asyncio
import gc
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.offering import settle
from long_running_agents.cli.options import Options, pass_options, unsafe_local_option
from long_running_agents.cli.output import note

if TYPE_CHECKING:
    from long_running_agents.config import Loaded


@click.command()
@click.option("--host", metavar="ADDRESS", help="The address to bind; 127.0.0.1 unless set.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to bind; 0 takes a free one.")
@click.option("--model", metavar="NAME", help="The model to ask, as provider:model.")
@unsafe_local_option
@pass_options
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
    asyncio.run(_serve(loaded, model))


async def _serve(loaded: "Loaded", model: str | None) -> None:
    from long_running_agents import listening
    from long_running_agents.app import open_app
    from long_running_agents.clock import SystemClock
    from long_running_agents.server import serving
    from long_running_agents.server.interrupts import Interrupts

    clock, gateway = SystemClock(), loaded.settings.gateway
    with Interrupts() as interrupts:
        await serving.check_bind(loaded, clock)
        with listening.listening(gateway.host, gateway.port) as listener:
            loaded = await with_model(loaded, model)
            async with open_app(loaded) as app:
                await serving.serve(app, clock, listener, interrupts.asked, _ready)


async def with_model(loaded: "Loaded", model: str | None) -> "Loaded":
    """See which model there is; a server can wait for one."""
    from long_running_agents.models import looking, names
    from long_running_agents.models.choosing import Chosen

    loaded, named = await settle(loaded, model, terminal=False, resuming=True)
    if named is not None:
        return looking.settled(loaded, Chosen(named, "flag"))
    if names.configured_name(loaded.settings.agent.model) is None:
        note(f"There is no model yet, so that turns will fail. {names.CHOOSE}")
    return loaded


def _ready(address: str) -> None:
    # Nor is there any later in what was loaded, and looking through it would hold up everybody.
    gc.freeze()
    gc.enable()
    click.echo(f"listening on {address}")
    click.echo("Open that address in a browser, or run 'lra chat'. Ctrl-C stops the server.")
