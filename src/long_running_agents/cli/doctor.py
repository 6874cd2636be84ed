"""`lra doctor`: is everything in order."""

import asyncio
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.failures import FAILED, OK
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, print_json
from long_running_agents.errors import NotConfigured

if TYPE_CHECKING:
    from long_running_agents.cli.examining import Examined
    from long_running_agents.config import Loaded

_COLORS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command()
@click.option("--deep", is_flag=True, help="Also ask each model what it can do; keeps the cards.")
@json_option
@pass_options
def doctor(options: Options, deep: bool, as_json: bool) -> int:
    """Check that everything is in order; exit 1 when there is a problem."""
    from long_running_agents.checks import State, examine_all
    from long_running_agents.clock import SystemClock

    loaded = options.load()
    found = examine_all(loaded, SystemClock())
    cards = asyncio.run(_deep(loaded)) if deep else []
    if as_json:
        print_json({"checks": found, "models": cards} if deep else found)
    else:
        for check in found:
            state = click.style(f"{check.state:<8}", fg=_COLORS[check.state])
            click.echo(f"{state} {check.name}: {check.detail}")
            if check.fix:
                click.echo(f"         {check.fix}")
        for examined in cards:
            from long_running_agents.cli.examining import print_examined

            print_examined(examined)
    unsound = any(check.state is State.PROBLEM for check in found)
    return FAILED if unsound or any(each.card is None for each in cards) else OK


async def _deep(loaded: "Loaded") -> "list[Examined]":
    from long_running_agents.cli.examining import examine_models, names_to_examine
    from long_running_agents.clock import SystemClock

    try:
        names = await names_to_examine(loaded)
    except NotConfigured:
        # The check of the model has said so.
        return []
    return await examine_models(loaded, SystemClock(), names)
