"""Code on a screen: readable, and nothing in it that looks like something else."""

import re
import sys
import textwrap

import click

from long_running_agents.cli.output import safe

# Characters that no terminal shows, and some that turn the order of others round.
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_MARGIN = "    "


def visible(source: str) -> str:
    """Source without anything that hides: what cannot be seen is written out."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", safe(source))


def block(source: str) -> str:
    """Source set off from the text around it; no line of it can pass for that text."""
    return textwrap.indent(visible(source).strip("\n"), _MARGIN, lambda _: True)


def seen(text: str) -> str:
    """Foreign text for stdout: nothing hides from a person in it, and a pipe gets it whole."""
    return visible(text) if sys.stdout.isatty() else _encodable(text)


def print_code(source: str, language: str = "python") -> None:
    """Print source: with colours and the numbers of its lines at a terminal, else as it is."""
    if not sys.stdout.isatty():
        click.echo(_encodable(source).rstrip("\n"))
        return
    from rich.console import Console
    from rich.syntax import Syntax

    context = click.get_current_context(silent=True)
    console = Console(no_color=context is not None and context.color is False, highlight=False)
    console.print(
        Syntax(
            visible(source).rstrip("\n"),
            language,
            theme="ansi_dark",
            background_color="default",
            line_numbers=True,
            word_wrap=True,
        )
    )


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
