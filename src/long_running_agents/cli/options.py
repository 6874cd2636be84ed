"""The options that every command shares."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from long_running_agents.config import Loaded

COLOR_CHOICES = ("auto", "always", "never")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was said before the command's name, or after it."""

    home: str | None = None
    color: str = "auto"
    debug: bool = False
    owner: str | None = None
    """Whose things are meant, if not those of the owner in the settings."""
    unsafe_local: bool = False
    """Whether code is to run without a sandbox."""

    def load(self, flags: Mapping[str, object] | None = None) -> "Loaded":
        """Read the settings; flags without a value are not flags."""
        from long_running_agents.config import load

        unsafe = True if self.unsafe_local else None
        said = {"owner": self.owner, "sandbox.unsafe_local": unsafe, **(flags or {})}
        given = {key: value for key, value in said.items() if value is not None}
        return load(home=self.home, flags=given)

    def colored(self) -> bool | None:
        """Whether to colour; None leaves it to whether the output is a terminal."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return True if os.environ.get("FORCE_COLOR") else None


def accept_shared(command: click.Command) -> click.Command:
    """Let a command and those below it take the shared options after their names, too.

    Its help does not repeat them: that of the program shows them once.
    """
    if not any(parameter.name == "home" for parameter in command.params):
        command.params += [
            click.Option(["--home"], hidden=True, expose_value=False, callback=_take),
            click.Option(
                ["--color"],
                type=click.Choice(COLOR_CHOICES),
                hidden=True,
                expose_value=False,
                callback=_take,
            ),
            click.Option(
                ["--debug"], is_flag=True, hidden=True, expose_value=False, callback=_take
            ),
        ]
    for child in command.commands.values() if isinstance(command, click.Group) else ():
        accept_shared(child)
    return command


def _take(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    """Let what stands nearer to the end count."""
    if not value:
        return
    ctx.obj = replace(ctx.ensure_object(Options), **{parameter.name: value})
    ctx.color = ctx.obj.colored()


unsafe_local_option = click.option(
    "--unsafe-local",
    is_flag=True,
    expose_value=False,
    callback=_take,
    help="Run code WITHOUT a sandbox, with all rights of yours.",
)
"""The way round the sandbox, of the commands that run turns."""

pass_options = click.make_pass_decorator(Options, ensure=True)
"""Hands a command the shared options."""
