"""The name of a skill, as it is typed."""

import click

from long_running_agents.errors import NotFound

version_option = click.option(
    "--version", "number", type=click.IntRange(min=1), metavar="N", help="This version of it."
)


def _known(_: click.Context, __: click.Parameter, name: str) -> str:
    from long_running_agents.domain.skill import GUIDE_NAME, NAME

    if not NAME.fullmatch(name) and not GUIDE_NAME.fullmatch(name):
        # Nothing is called like this, and not every text can be looked for.
        raise NotFound(f"No skill {name!r}.", hint="'lra skills list' shows them.")
    return name


name_argument = click.argument("name", callback=_known)
"""A skill; refused when nothing can have this name."""
