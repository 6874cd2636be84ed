"""`lra tasks`: what a session has to do."""

from typing import TYPE_CHECKING

import click

from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, note, print_json, shown
from long_running_agents.cli.reading import with_sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.agent.sessions import SessionService
    from long_running_agents.domain.task import Task


@click.group()
def tasks() -> None:
    """Show a session's tasks."""


@tasks.command("list")
@click.option("-s", "--session", "chosen", metavar="ID", help="The newest session unless given.")
@json_option
@pass_options
def list_tasks(options: Options, chosen: str | None, as_json: bool) -> None:
    """List a session's tasks as a tree."""
    from long_running_agents.domain.ids import session_id
    from long_running_agents.domain.task import outline, summary

    async def work(service: "SessionService") -> "Sequence[Task]":
        if chosen is not None:
            return await service.tasks(session_id(chosen))
        newest = await service.newest()
        return [] if newest is None else await service.tasks(newest.id)

    found = with_sessions(options, work)
    if as_json:
        print_json(found)
    elif not found:
        note("No tasks.")
    else:
        click.echo(shown(outline(found)))
        note(summary(found))
