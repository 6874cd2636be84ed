"""`lra memory`: what is remembered. The commands are in the files that it names."""

from dataclasses import replace

import click

from long_running_agents.cli import forgetting, remembered, remembering, transfer
from long_running_agents.cli.options import Options


@click.group()
@click.option("--owner", metavar="NAME", help="Whose memories; the setting 'owner' unless given.")
@click.pass_context
def memory(context: click.Context, owner: str | None) -> None:
    """Search, list, correct and forget what is remembered."""
    context.obj = replace(context.ensure_object(Options), owner=owner)


for _command in (
    remembered.search,
    remembered.list_memories,
    remembered.show,
    remembering.add,
    remembering.correct,
    remembering.disable,
    remembering.enable,
    forgetting.forget,
    forgetting.undo,
    transfer.export,
    transfer.import_memories,
    remembered.stats,
    remembering.reindex,
):
    memory.add_command(_command)
