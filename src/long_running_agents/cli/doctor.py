"""`lra doctor`: is everything in order."""

import click

from long_running_agents.cli.failures import FAILED, OK
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, print_json

_COLORS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command()
@json_option
@pass_options
def doctor(options: Options, as_json: bool) -> int:
    """Check that everything is in order; exit 1 when there is a problem."""
    from long_running_agents.cli.checks import State, examine_all
    from long_running_agents.clock import SystemClock

    found = examine_all(options.load(), SystemClock())
    if as_json:
        print_json(found)
    else:
        for check in found:
            state = click.style(f"{check.state:<8}", fg=_COLORS[check.state])
            click.echo(f"{state} {check.name}: {check.detail}")
            if check.fix:
                click.echo(f"         {check.fix}")
    return FAILED if any(check.state is State.PROBLEM for check in found) else OK
