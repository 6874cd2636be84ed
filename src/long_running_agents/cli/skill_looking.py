"""`lra skills list`, `show`, `versions`, `diff`, `problems`: looking, beside the home's owner."""

from typing import TYPE_CHECKING

import click

from long_running_agents.cli import skill_showing as showing
from long_running_agents.cli.code import print_code
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import (
    json_option,
    moment,
    note,
    plain,
    print_json,
    print_table,
)
from long_running_agents.cli.reading import has_database, with_database, with_skills
from long_running_agents.cli.skill_names import NUMBER, name_argument, version_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.domain.skill import Problem, Skill, Version
    from long_running_agents.skills.library import Library

STATES = ("enabled", "disabled", "proposed")
_NOTHING = "There are no skills yet: 'lra create-tool' makes one, and so does the agent."


@click.command("list")
@click.option(
    "--state",
    type=click.Choice(STATES),
    help="Only those in this state; 'proposed' are all with a version that waits.",
)
@json_option
@pass_options
def list_skills(options: Options, state: str | None, as_json: bool) -> None:
    """List the skills: what they are, whether they are in use, how often they were."""
    found, problems = _everything(options)
    chosen = [each for each in found if state is None or _is(each, state)]
    if as_json:
        print_json([showing.as_json(each) for each in chosen])
        return
    if not found:
        note(_NOTHING)
    elif not chosen:
        note(f"No skill is {state}.")
    else:
        showing.print_skills(chosen)
    lines = (
        showing.waiting_line(found),
        showing.problems_line(len(problems)),
        showing.unseen_line(_unseen(options, problems)),
    )
    for line in filter(None, lines):
        note(line)
    if not options.load().settings.agent.tools.enable.skills:
        note("Skills are switched off: the agent is offered none (agent.tools.enable.skills).")


@click.command()
@name_argument
@version_option
@json_option
@pass_options
def show(options: Options, name: str, number: int | None, as_json: bool) -> None:
    """Show a skill: what it takes, where it came from, how its trial went, and its code."""

    async def work(library: "Library") -> "tuple[Skill, Version]":
        return await library.get(name), await library.version(name, number)

    skill, version = with_skills(options, work)
    if as_json:
        print_json({"skill": showing.as_json(skill), "version": version})
    else:
        showing.print_skill(skill, version)


@click.command()
@name_argument
@json_option
@pass_options
def versions(options: Options, name: str, as_json: bool) -> None:
    """List the versions of a skill, the newest first."""

    async def work(library: "Library") -> "tuple[Skill, Sequence[Version]]":
        return await library.get(name), await library.versions(name)

    skill, found = with_skills(options, work)
    if as_json:
        print_json([{**plain(each), "in_use": each.number == skill.version} for each in found])
        return
    print_table(
        ["version", "standing", "in use", "from", "made", "decided by", "label"],
        [
            [
                str(each.number),
                each.standing,
                "yes" if each.number == skill.version else "",
                each.brought.origin,
                moment(each.created_at),
                each.decided_by,
                each.label,
            ]
            for each in found
        ],
    )


@click.command()
@name_argument
@click.argument("old", type=NUMBER, required=False)
@click.argument("new", type=NUMBER, required=False)
@pass_options
def diff(options: Options, name: str, old: int | None, new: int | None) -> None:
    """Show how two versions differ: the one in use and the newest, unless others are named."""

    async def work(library: "Library") -> "tuple[int, int, str]":
        skill = await library.get(name)
        before = old or skill.version or max(1, skill.newest - 1)
        after = new or skill.newest
        return before, after, await library.diff(name, before, after)

    before, after, text = with_skills(options, work)
    if text.strip():
        print_code(text, "diff")
    else:
        note(f"Versions {before} and {after} of {name} do not differ.")


@click.command()
@json_option
@pass_options
def problems(options: Options, as_json: bool) -> None:
    """List the files among the skills that cannot be skills, and why."""
    _, found = _everything(options, making=True)
    if as_json:
        print_json(found)
    elif not found:
        note("Every file among the skills is one.")
    else:
        print_table(
            ["file", "seen", "why not"],
            [[each.path, moment(each.seen_at), each.error] for each in found],
        )


def _everything(
    options: Options, *, making: bool = False
) -> "tuple[Sequence[Skill], Sequence[Problem]]":
    async def work(library: "Library") -> "tuple[Sequence[Skill], Sequence[Problem]]":
        return await library.every(), await library.problems()

    # A home without a database has no skills; that is an answer, not a failure.
    return with_skills(options, work, making=making) if has_database(options) else ((), ())


def _unseen(options: Options, problems: "Sequence[Problem]") -> int:
    """How many files among the skills nobody has looked at yet."""
    from long_running_agents.home import workspace_of
    from long_running_agents.skills import shelving
    from long_running_agents.store import skills
    from long_running_agents.tools.workspaces import open_workspace

    loaded = options.load()
    owner = loaded.settings.owner
    if not workspace_of(loaded, owner).is_dir():
        return 0
    known = {problem.digest for problem in problems}
    if has_database(options):
        known |= with_database(
            options, lambda database: database.read(lambda tx: skills.digests(tx, owner))
        )
    found = shelving.found(open_workspace(loaded, owner))
    return sum(each.digest not in known for each in found)


def _is(skill: "Skill", state: str) -> bool:
    return skill.state == state or (state == "proposed" and skill.proposed is not None)
