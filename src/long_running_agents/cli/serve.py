"""`lra serve`: the agent over HTTP and WebSocket."""

import asyncio
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.options import Options, pass_options, unsafe_local_option

if TYPE_CHECKING:
    from long_running_agents.config import Loaded


@click.command()
@click.option("--host", metavar="ADDRESS", help="The address to bind; 127.0.0.1 unless set.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to bind; 0 takes a free one.")
@click.option("--model", metavar="NAME", help="The model to ask, as provider:model.")
@unsafe_local_option
@pass_options
def serve(options: Options, host: str | None, port: int | None, model: str | None) -> None:
    """Serve the agent to browsers, programs and other agents."""
    flags = {"gateway.host": host, "gateway.port": port, "agent.model.model_id": model}
    asyncio.run(_serve(options.load(flags)))


async def _serve(loaded: "Loaded") -> None:
    from long_running_agents.app import open_app
    from long_running_agents.clock import SystemClock
    from long_running_agents.server import serving

    async with open_app(loaded) as app:
        await serving.serve(app, SystemClock(), _ready)


def _ready(address: str) -> None:
    click.echo(f"listening on {address}")
