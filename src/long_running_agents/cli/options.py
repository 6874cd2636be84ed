"""The options that every command shares."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from long_running_agents.config import Loaded

COLOR_CHOICES = ("auto", "always", "never")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was said before the command's name."""

    home: str | None = None
    color: str = "auto"
    debug: bool = False
    owner: str | None = None
    """Whose things are meant, if not those of the owner in the settings."""

    def load(self, flags: Mapping[str, object] | None = None) -> "Loaded":
        """Read the settings; flags without a value are not flags."""
        from long_running_agents.config import load

        said = {"owner": self.owner, **(flags or {})}
        given = {key: value for key, value in said.items() if value is not None}
        return load(home=self.home, flags=given)

    def colored(self) -> bool | None:
        """Whether to colour; None leaves it to whether the output is a terminal."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return True if os.environ.get("FORCE_COLOR") else None


pass_options = click.make_pass_decorator(Options, ensure=True)
"""Hands a command the shared options."""
