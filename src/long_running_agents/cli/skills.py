"""`lra skills`: tools that were made. The commands are in the files that it names."""

import click

from long_running_agents.cli import (
    skill_deciding,
    skill_looking,
    skill_running,
    skill_transfer,
)


@click.group(invoke_without_command=True)
@click.pass_context
def skills(context: click.Context) -> None:
    """List, show, approve, run and delete the tools that were made; without a command, list."""
    if context.invoked_subcommand is None:
        context.invoke(skill_looking.list_skills, state=None, as_json=False)


for _command in (
    skill_looking.list_skills,
    skill_looking.show,
    skill_looking.versions,
    skill_looking.diff,
    skill_deciding.approve,
    skill_deciding.reject,
    skill_deciding.rollback,
    skill_deciding.enable,
    skill_deciding.disable,
    skill_deciding.delete,
    skill_running.run,
    skill_looking.problems,
    skill_transfer.import_skills,
    skill_transfer.export_skills,
):
    skills.add_command(_command)
