"""`lra create-tool` and `validate-tool`: a function becomes a tool, or hears why it cannot."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from long_running_agents.cli import skill_showing as showing
from long_running_agents.cli import tool_asking
from long_running_agents.cli.code import seen, visible
from long_running_agents.cli.failures import FAILED, OK
from long_running_agents.cli.files import read_text
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, note, print_json
from long_running_agents.cli.reading import changing_skills
from long_running_agents.cli.skill_deciding import BY, yes_option
from long_running_agents.cli.tool_drafting import draft_of
from long_running_agents.errors import LraError, SkillRefused, UsageError

if TYPE_CHECKING:
    from long_running_agents.domain.skill import Draft, Trial, Version
    from long_running_agents.skills.proposing import Examined

function_option = click.option(
    "--function", default="", metavar="NAME", help="The function in the file; else its last."
)


@click.command("create-tool")
@click.option(
    "--file", "path", type=click.Path(path_type=Path), help="Take it from here; '-' for stdin."
)
@function_option
@click.option("--name", "tool", default="", metavar="TOOL", help="What the tool is called.")
@yes_option
@pass_options
def create_tool(options: Options, path: Path | None, function: str, tool: str, yes: bool) -> int:
    """Make a tool of a Python function, from a file or by being asked for it.

    It is reviewed and tried in a sandbox. What is wrong with it is told with its line, and how to
    mend it; then the exit code is 1.
    """
    if path is not None:
        version = _made(options, draft_of(read_text(path), function=function, name=tool), yes=yes)
        return FAILED if version is None else _settle(options, version, yes=yes)
    if not sys.stdin.isatty():
        raise UsageError(
            "Nobody is there to be asked what the tool is.", hint="Give a file with --file."
        )
    if function:
        raise UsageError("--function is for a file.", hint="Add --file.")
    return _interactive(options, tool, yes=yes)


def _interactive(options: Options, tool: str, *, yes: bool) -> int:
    wish = tool_asking.ask_for(tool)
    source = tool_asking.written(wish.head)
    while source.strip():
        try:
            version = _made(options, draft_of(source, name=wish.name), yes=yes)
        except LraError:
            # What was written took longer than what has failed.
            note("What you wrote:")
            click.echo(seen(source))
            raise
        if version is not None:
            return _settle(options, version, yes=yes)
        if not click.confirm("Mend it?", default=True, err=True):
            break
        source = tool_asking.mended(source, wish.head)
    note("Nothing was made.")
    return FAILED


def _made(options: Options, draft: "Draft", *, yes: bool) -> "Version | None":
    """Propose a draft, or say what is wrong with it."""
    try:
        return changing_skills(
            options, lambda desk: desk.create(draft, enable=yes, by=BY), making=True
        )
    except SkillRefused as refusal:
        click.echo(visible(str(refusal)), err=True)
        return None


def _settle(options: Options, version: "Version", *, yes: bool) -> int:
    """Ask whether it may be used."""
    from long_running_agents.domain.skill import Standing

    name, number = version.name, version.number
    if yes:
        note(f"{name} version {number} is a tool from now on.")
        return OK
    showing.print_proposal(version)
    if version.standing is Standing.APPROVED:
        note(f"{name} version {number} was approved before: lra skills show {name}")
    elif not sys.stdin.isatty():
        note(f"{name} version {number} is proposed: lra skills approve {name}")
    elif click.confirm(f"Use {name} version {number} from now on?", err=True):
        skill = changing_skills(options, lambda desk: desk.approve(name, number, by=BY))
        showing.told_of(skill, "approved")
    else:
        note(f"{name} version {number} stays proposed: lra skills approve {name}")
    return OK


@click.command("validate-tool")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@function_option
@json_option
@pass_options
def validate_tool(options: Options, path: Path, function: str, as_json: bool) -> int:
    """Review a function and try it in a sandbox; nothing is kept. Exit 1 when it is no tool.

    This needs neither a model nor a home.
    """
    draft = draft_of(read_text(path), function=function)
    examined, trial = asyncio.run(_examined(options, draft))
    valid = trial is not None and trial.passed
    if as_json:
        print_json(
            {
                "name": examined.name,
                "valid": valid,
                "findings": examined.findings,
                "interface": examined.interface,
                "trial": trial,
            }
        )
    else:
        _print(str(path), examined, trial)
    return OK if valid else FAILED


async def _examined(options: Options, draft: "Draft") -> "tuple[Examined, Trial | None]":
    from long_running_agents.tools.skill_opening import open_bench

    async with open_bench(options.load()) as library:
        return await library.examine(draft)


def _print(file: str, examined: "Examined", trial: "Trial | None") -> None:
    for finding in examined.findings:
        click.echo(seen(showing.finding_line(finding, file)))
    name = examined.name or file
    if trial is None or examined.interface is None:
        click.echo(f"{seen(name)} cannot be a tool.")
        return
    fit = "can be a tool" if trial.passed else "cannot be a tool"
    click.echo(f"{seen(name)} {fit}.")
    interface = examined.interface
    lines = showing.call_lines(interface.parameters, interface.returns)
    for line in (*lines, *showing.trial_lines(name, trial)):
        click.echo(seen(line))
