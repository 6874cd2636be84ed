"""Asking a person for a tool: its name, what it does, what it takes, and its code."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

import click

from long_running_agents.cli import tool_drafting
from long_running_agents.cli.code import visible
from long_running_agents.cli.output import note

END = "."
"""The line that ends the code."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants a tool for."""

    name: str
    head: str
    """The beginning of its function."""


def ask_for(name: str = "") -> Wish:
    """Ask what the tool is.

    Args:
        name: What it is called, if that is known.
    """
    name = name or _prompt("Name of the tool, such as count_words", _name_problem)
    does = _prompt("What does it do?", _sentence_problem)
    note("Its arguments, one at a time, such as 'text: str' or 'period: int = 14'.")
    arguments: list[str] = []
    while given := _prompt(
        "Argument (Enter for no more)",
        lambda text: tool_drafting.complaint_about_argument(text) if text else "",
        default="",
    ):
        arguments.append(given)
    returns = _prompt("What does it return?", tool_drafting.complaint_about_type, default="str")
    return Wish(name, tool_drafting.skeleton(name, does, arguments, returns))


def written(head: str) -> str:
    """Have the code written: in the person's editor, or line by line; empty when it was not."""
    if _editor():
        return click.edit(f"{head}    ", extension=".py") or ""
    note("The code that comes after this; a line with a single dot ends it.")
    click.echo(visible(head), err=True, nl=False)
    return tool_drafting.whole(head, _lines())


def mended(source: str, head: str) -> str:
    """Have the code written again; what it was when nothing was changed in the editor."""
    if _editor():
        return click.edit(source, extension=".py") or source
    for number, line in enumerate(visible(source).splitlines(), start=1):
        click.echo(f"{number:>4}  {line}", err=True)
    note("The code once more, whole or without its first lines; a single dot ends it.")
    return tool_drafting.whole(head, _lines())


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


def _sentence_problem(text: str) -> str:
    return "" if text else "The model has to know when to use it."
