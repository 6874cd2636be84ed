"""`lra skills approve`, `reject`, `rollback`, `enable`, `disable`, `delete`: what a person says."""

import sys
from typing import TYPE_CHECKING

import click

from long_running_agents.cli import skill_showing as showing
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import note
from long_running_agents.cli.reading import changing_skills, with_skills
from long_running_agents.cli.skill_names import NUMBER, name_argument, version_option
from long_running_agents.errors import Busy, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from long_running_agents.cli.skill_desk import SkillDesk
    from long_running_agents.domain.skill import Skill, Version
    from long_running_agents.skills.library import Library

BY = "person"
"""Who decides at the terminal."""

yes_option = click.option("--yes", is_flag=True, help="Do it without asking.")


@click.command()
@name_argument
@version_option
@yes_option
@pass_options
def approve(options: Options, name: str, number: int | None, yes: bool) -> None:
    """Let a version be used, the one that waits unless another is named; it is shown first."""

    async def look(library: "Library") -> "Version":
        skill = await library.get(name)
        return await library.version(name, number or _waiting(skill))

    version = with_skills(options, look)
    if not yes:
        question = f"Use {name} version {version.number} from now on?"
        expect_somebody(question)
        showing.print_proposal(version)
        if not click.confirm(question, err=True):
            note(f"Nothing has changed. 'lra skills reject {name}' says no for good.")
            return
    # The very version that was shown, whatever was proposed meanwhile.
    _change(options, "approved", lambda desk: desk.approve(name, version.number, by=BY))


@click.command()
@name_argument
@version_option
@pass_options
def reject(options: Options, name: str, number: int | None) -> None:
    """Say no to a version, the one that waits unless another is named."""
    _change(options, "rejected", lambda desk: desk.reject(name, number, by=BY))


@click.command()
@name_argument
@click.argument("number", metavar="[VERSION]", type=NUMBER, required=False)
@pass_options
def rollback(options: Options, name: str, number: int | None) -> None:
    """Use an earlier version again, the one before unless another is named."""
    _change(options, "rolled back", lambda desk: desk.roll_back(name, number, by=BY))


@click.command()
@name_argument
@pass_options
def enable(options: Options, name: str) -> None:
    """Use a skill again that was disabled."""
    _change(options, "enabled", lambda desk: desk.enable(name, by=BY))


@click.command()
@name_argument
@click.option("--reason", default="", help="Why, for whoever looks at it later.")
@pass_options
def disable(options: Options, name: str, reason: str) -> None:
    """Let a skill rest; nothing of it is lost."""
    # A terminal may send what is no text; nothing of that can be kept.
    why = reason.encode("utf-8", "replace").decode()
    _change(options, "disabled", lambda desk: desk.disable(name, why, by=BY))


@click.command()
@name_argument
@yes_option
@pass_options
def delete(options: Options, name: str, yes: bool) -> None:
    """Delete a skill with all its versions, and its file; this cannot be undone."""
    skill = with_skills(options, lambda library: library.get(name))
    count = "its version" if skill.newest == 1 else f"all {skill.newest} versions of it"
    if not yes:
        question = f"Delete {name} with {count}? This cannot be undone."
        expect_somebody(question)
        if not click.confirm(question, err=True):
            note("Nothing was deleted.")
            return
    changing_skills(options, lambda desk: desk.delete(name, by=BY))
    note(f"deleted: {name}")


def expect_somebody(question: str) -> None:
    """Refuse to ask where nobody is.

    Raises:
        UsageError: There is no terminal.
    """
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Nobody is there to be asked.", hint="Add --yes to do it.")


def _waiting(skill: "Skill") -> int:
    if skill.proposed is None:
        raise Busy(
            f"No version of {skill.name!r} waits for an answer.",
            hint=f"'lra skills versions {skill.name}' shows them; name one with --version.",
        )
    return skill.proposed


def _change(options: Options, done: str, work: "Callable[[SkillDesk], Awaitable[Skill]]") -> None:
    showing.told_of(changing_skills(options, work), done)
