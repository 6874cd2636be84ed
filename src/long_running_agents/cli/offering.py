"""Seeing that there is a model to ask before a conversation begins, and offering the small one."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.output import note
from long_running_agents.errors import NotConfigured

if TYPE_CHECKING:
    from long_running_agents.config import Loaded
    from long_running_agents.models.choosing import Chosen
    from long_running_agents.models.embedded import Embedded, Weights

SMALL = "{name} is small: it chats, but errs often and uses tools poorly ('lra models list')."
"""The banner of an embedded model: nobody should expect more of it than it can give."""

_LOCAL = "local:"

gemini_option = click.option(
    "--gemini", is_flag=True, help="Short for --model google:gemini-flash-latest."
)
"""The short-cut of the commands that ask a model."""


def named(model: str | None, *, gemini: bool) -> str | None:
    """The model that the options name."""
    if not gemini:
        return model
    from long_running_agents.errors import UsageError
    from long_running_agents.models.names import GEMINI

    if model not in (None, GEMINI):
        raise UsageError("--model and --gemini contradict each other.", hint="Give one.")
    return GEMINI


async def settle(
    loaded: "Loaded",
    model: str | None,
    *,
    terminal: bool,
    eager: bool = False,
    resuming: bool = False,
) -> "tuple[Loaded, str | None]":
    """See that there is a model: the settings to use, and the name to ask.

    Args:
        loaded: The settings.
        model: The name that was asked for, if any.
        terminal: Whether there is a person who can be asked.
        eager: Whether the embedded model is fetched when nobody can be asked.
        resuming: Whether the session is an old one, which may have a model of its own.
    """
    from long_running_agents.models import looking, names

    if model is not None and f"{model}:".startswith(_LOCAL):
        return loaded, await _embedded(loaded, model.partition(":")[2])
    if model is not None:
        settings = loaded.settings.agent.model
        # Refused now rather than in the middle of the first turn.
        names.require(names.parse(model, settings), settings, loaded.variables)
        return loaded, model
    try:
        chosen = await looking.decide(loaded)
    except NotConfigured:
        if resuming:
            return loaded, None
        if eager and not terminal:
            return loaded, await _embedded(loaded, "")
        chosen = await _offer(loaded) if terminal else None
        if chosen is None:
            raise
    _tell(chosen)
    return looking.settled(loaded, chosen), None


def _tell(chosen: "Chosen") -> None:
    if chosen.small:
        note(SMALL.format(name=chosen.name))
    elif chosen.why != "settings":
        note(f"{chosen.why}: asking {chosen.name}. 'lra models use {chosen.name}' keeps that.")


async def _embedded(loaded: "Loaded", name: str) -> str:
    """Have the weights of an embedded model here: naming it was agreeing to the download."""
    from long_running_agents.models.names import own_weights

    embedded = embedded_of(loaded)
    if (own := own_weights(name)) is not None:
        embedded.check(name)
        # Whole, since the session may go on somewhere else.
        return f"{_LOCAL}{own.absolute()}"
    weights = embedded.weights(name)
    embedded.require_runtime()
    if not embedded.path(weights).is_file():
        note(f"Fetching {describe(weights)}.")
        await fetch(embedded, weights)
    note(SMALL.format(name=f"{_LOCAL}{weights.name}"))
    return f"{_LOCAL}{weights.name}"


async def _offer(loaded: "Loaded") -> "Chosen | None":
    """Ask the person whether the small model will do."""
    from long_running_agents.models.choosing import Chosen

    embedded = embedded_of(loaded)
    catalog = embedded.catalog()
    if not catalog:
        return None
    try:
        embedded.require_runtime()
    except NotConfigured:
        # What could not be run is not offered.
        return None
    weights = next(iter(catalog.values()))
    click.echo("There is no key, no model server on this machine and no model in the settings.")
    if not click.confirm(f"Fetch a small model to begin with, {describe(weights)}?"):
        return None
    await fetch(embedded, weights)
    return Chosen(f"{_LOCAL}{weights.name}", "embedded", small=True)


def embedded_of(loaded: "Loaded") -> "Embedded":
    """The embedded models of a home."""
    from long_running_agents.home import Home
    from long_running_agents.models.embedded import Embedded

    return Embedded(Home(loaded.home).models)


def describe(weights: "Weights") -> str:
    """Name, size and licence of weights."""
    return f"{weights.name} ({size(weights.size)}, {weights.licence})"


def size(count: int) -> str:
    """Bytes, for a person."""
    return f"{count / 1e9:.1f} GB" if count >= 1_000_000_000 else f"{count / 1e6:.0f} MB"  # noqa: PLR2004 - a GB


async def fetch(embedded: "Embedded", weights: "Weights", source: Path | None = None) -> Path:
    """Fetch weights, with a bar that shows how far it is."""
    with click.progressbar(length=weights.size, label=weights.name, file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return await embedded.pull(weights.name, progress=progress, source=source)
