"""`lra create-tool` and `validate-tool`: a function becomes a tool, or hears why it cannot."""

import ast
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from long_running_agents.cli import skill_output as showing
from long_running_agents.cli.access import changing_skills, run_with
from long_running_agents.cli.main import FAILED, OK, Options, command
from long_running_agents.cli.output import note, print_json, read_text, seen, visible, yes_option
from long_running_agents.cli.skills import BY
from long_running_agents.errors import LraError, NotPython, SkillRefused, UsageError
from long_running_agents.skills.python_ast import has_function, parsed

if TYPE_CHECKING:
    from long_running_agents.domain.skill import SkillDraft, SkillReview, SkillTrial, Version


def skeleton(name: str, does: str, arguments: Sequence[str], returns: str) -> str:
    """The beginning of a function: its head and its docstring."""
    # Quotes and backslashes of a person must not end the docstring, or mean something in it.
    told = does.strip().replace("\\", "\\\\").replace('"', '\\"')
    return f'def {name}({", ".join(arguments)}) -> {returns}:\n    """{told}"""\n'


def whole(head: str, typed: str) -> str:
    """What was typed, or a function around it when it is only the body of one."""
    code = textwrap.dedent(typed)
    try:
        is_whole = has_function(parsed(code))
    except NotPython:
        # The review says what is wrong, and where; a body is what was asked for.
        is_whole = False
    return f"{code}\n" if is_whole else f"{head}{textwrap.indent(code, '    ')}\n"


def complaint_about_argument(text: str) -> str:
    """What is wrong with an argument as it was typed; empty when nothing is."""
    try:
        function, *others = parsed(f"def tool({text}): ...").body
    except NotPython:
        return "That is no argument of a Python function."
    if others or not isinstance(function, ast.FunctionDef):
        return "That is no argument of a Python function."
    given = function.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    if len(found) != 1 or given.vararg or given.kwarg:
        return "Give one argument at a time."
    return "" if found[0].annotation else f"Say what {found[0].arg} is, such as '{text}: str'."


def complaint_about_type(text: str) -> str:
    """What is wrong with the type of a result as it was typed; empty when nothing is."""
    try:
        parsed(f"def tool() -> {text}: ...")
    except NotPython:
        return "That is no type."
    return "" if "\n" not in text and ":" not in text else "That is no type."


def draft_of(source: str, *, function: str = "", name: str = "") -> "SkillDraft":
    """What a person wishes to be a tool."""
    from long_running_agents.domain.skill import SkillCreator, SkillDraft, SkillOrigin

    if function:
        from long_running_agents.skills.export import extracted

        # What cannot be taken apart is left to the review, which says what is wrong and where.
        with suppress(NotPython):
            source = extracted(source, function)
    return SkillDraft(
        source=source, function=function, name=name, brought=SkillOrigin(origin=SkillCreator.PERSON)
    )


END = "."
"""The line that ends the code."""


def ask_for(name: str = "") -> tuple[str, str]:
    """Ask what the tool is: its name, and the beginning of its function."""
    name = name or _prompt("Name of the tool, such as count_words", _name_problem)
    unsaid = "The model has to know when to use it."
    does = _prompt("What does it do?", lambda text: "" if text else unsaid)
    note("Its arguments, one at a time, such as 'text: str' or 'period: int = 14'.")
    arguments: list[str] = []
    while given := _prompt(
        "Argument (Enter for no more)",
        lambda text: complaint_about_argument(text) if text else "",
        default="",
    ):
        arguments.append(given)
    returns = _prompt("What does it return?", complaint_about_type, default="str")
    return name, skeleton(name, does, arguments, returns)


def written(head: str) -> str:
    """Have the code written: in the person's editor, or line by line; empty when it was not."""
    if _editor():
        return click.edit(f"{head}    ", extension=".py") or ""
    note("The code that comes after this; a line with a single dot ends it.")
    click.echo(visible(head), err=True, nl=False)
    return whole(head, _lines())


def mended(source: str, head: str) -> str:
    """Have the code written again; what it was when nothing was changed in the editor."""
    if _editor():
        return click.edit(source, extension=".py") or source
    for number, line in enumerate(visible(source).splitlines(), start=1):
        click.echo(f"{number:>4}  {line}", err=True)
    note("The code once more, whole or without its first lines; a single dot ends it.")
    return whole(head, _lines())


def _lines() -> str:
    """What is typed, up to a single dot or the end of the input."""
    lines: list[str] = []
    while (line := sys.stdin.readline()) and line.strip() != END:
        lines.append(line.rstrip("\n"))
    return "\n".join(lines)


def _editor() -> bool:
    return bool(os.environ.get("VISUAL") or os.environ.get("EDITOR"))


def _prompt(question: str, problem: Callable[[str], str], *, default: str | None = None) -> str:
    """Ask until the answer is one."""

    def check(text: str) -> str:
        if wrong := problem(text.strip()):
            raise click.UsageError(wrong)
        return text.strip()

    answer: str = click.prompt(
        question, default=default, show_default=bool(default), value_proc=check, err=True
    )
    return answer


def _name_problem(text: str) -> str:
    from long_running_agents.domain.skill import NAME

    fits = NAME.fullmatch(text) is not None
    return "" if fits else "Use 2 to 64 small letters, digits and _, beginning with a letter."


function_option = click.option(
    "--function", default="", metavar="NAME", help="The function in the file; else its last."
)


@command("create-tool")
@click.option(
    "--file", "path", type=click.Path(path_type=Path), help="Take it from here; '-' for stdin."
)
@function_option
@click.option("--name", "tool", default="", metavar="TOOL", help="What the tool is called.")
@yes_option
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
            "There is no terminal to ask what the tool is.", hint="Give a file with --file."
        )
    if function:
        raise UsageError("--function is for a file.", hint="Add --file.")
    return _interactive(options, tool, yes=yes)


def _interactive(options: Options, tool: str, *, yes: bool) -> int:
    name, head = ask_for(tool)
    source = written(head)
    while source.strip():
        try:
            version = _made(options, draft_of(source, name=name), yes=yes)
        except LraError:
            # What was written took longer than what has failed.
            note("What you wrote:")
            click.echo(seen(source))
            raise
        if version is not None:
            return _settle(options, version, yes=yes)
        if not click.confirm("Mend it?", default=True, err=True):
            break
        source = mended(source, head)
    note("Nothing was made.")
    return FAILED


def _made(options: Options, draft: "SkillDraft", *, yes: bool) -> "Version | None":
    """Propose a draft, or say what is wrong with it."""
    try:
        return changing_skills(
            options, lambda skills: skills.create(draft, enable=yes, by=BY), making=True
        )
    except SkillRefused as refusal:
        click.echo(visible(str(refusal)), err=True)
        return None


def _settle(options: Options, version: "Version", *, yes: bool) -> int:
    """Ask whether it may be used."""
    from long_running_agents.domain.skill import SkillApproval

    name, number = version.name, version.number
    if yes:
        note(f"{name} version {number} is a tool from now on.")
        return OK
    showing.print_proposal(version)
    if version.standing is SkillApproval.APPROVED:
        note(f"{name} version {number} was approved before: lra skills show {name}")
    elif not sys.stdin.isatty():
        note(f"{name} version {number} is proposed: lra skills approve {name}")
    elif click.confirm(f"Use {name} version {number} from now on?", err=True):
        skill = changing_skills(options, lambda skills: skills.approve(name, number, by=BY))
        showing.print_change(skill, "approved")
    else:
        note(f"{name} version {number} stays proposed: lra skills approve {name}")
    return OK


@command("validate-tool", json=True)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@function_option
def validate_tool(options: Options, path: Path, function: str, as_json: bool) -> int:
    """Review a function and try it in a sandbox; nothing is kept. Exit 1 when it is no tool.

    This needs neither a model nor a home.
    """
    from long_running_agents.tools.skill_library import open_bench

    draft = draft_of(read_text(path), function=function)
    bench = open_bench(options.load())
    examined, trial = run_with(bench, lambda library: library.examine(draft))
    valid = trial is not None and trial.passed
    if as_json:
        found = {"findings": examined.findings, "interface": examined.interface, "trial": trial}
        print_json({"name": examined.name, "valid": valid, **found})
    else:
        _print(str(path), examined, trial)
    return OK if valid else FAILED


def _print(file: str, examined: "SkillReview", trial: "SkillTrial | None") -> None:
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
