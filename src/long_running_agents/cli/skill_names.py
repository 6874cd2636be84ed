"""The name of a skill, as it is typed."""

import click

from long_running_agents.errors import NotFound

NUMBER = click.IntRange(1, (1 << 31) - 1)
"""The number of a version."""

version_option = click.option(
    "--version", "number", type=NUMBER, metavar="N", help="This version of it."
)


def checked(name: str) -> str:
    """A name that a skill can have.

    Raises:
        NotFound: Nothing is called like this, and not every text can be looked for.
    """
    from long_running_agents.domain.skill import GUIDE_NAME, NAME

    if not NAME.fullmatch(name) and not GUIDE_NAME.fullmatch(name):
        raise NotFound(f"No skill {name!r}.", hint="'lra skills list' shows them.")
    return name


def _known(_: click.Context, __: click.Parameter, name: str) -> str:
    return checked(name)


name_argument = click.argument("name", callback=_known)
"""A skill; refused when nothing can have this name."""
