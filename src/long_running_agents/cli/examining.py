"""Examining models for `lra models test` and `lra doctor --deep`, and keeping their cards."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.output import note, safe
from long_running_agents.domain.card import Card
from long_running_agents.errors import Busy, LraError

if TYPE_CHECKING:
    from long_running_agents.config import Loaded
    from long_running_agents.domain.ports import Clock


@dataclass(frozen=True, slots=True)
class Examined:
    """What came of one examination: a card, or why there is none."""

    name: str
    card: Card | None = None
    error: str = ""
    hint: str = ""


async def examine_models(
    loaded: "Loaded", clock: "Clock", names: Sequence[str]
) -> "list[Examined]":
    """Examine models by name, and store their cards."""
    import httpx2

    from long_running_agents.models import looking
    from long_running_agents.models.cards import examine
    from long_running_agents.models.factory import ModelFactory

    settings = loaded.settings.agent.model
    examined: list[Examined] = []
    async with httpx2.AsyncClient(timeout=settings.timeout) as client:
        from long_running_agents.cli.offering import embedded_of

        factory = ModelFactory(settings, loaded.variables, client, embedded_of(loaded))
        for name in names:
            note(f"examining {name} …")
            try:
                choice = factory.choices(name)[0]
                window = partial(looking.window, client, loaded, choice.name)
                card = await examine(choice, clock, window=window)
            except LraError as error:
                examined.append(Examined(name, error=error.message, hint=error.hint))
            else:
                examined.append(Examined(name, card))
    await _store(loaded, clock, [each.card for each in examined if each.card is not None])
    return examined


async def _store(loaded: "Loaded", clock: "Clock", cards: Sequence[Card]) -> None:
    from long_running_agents.store import cards as stored
    from long_running_agents.store.opening import open_database

    if not cards:
        return
    try:
        async with open_database(loaded, clock) as database:
            for card in cards:
                await database.write(lambda tx, card=card: stored.put(tx, card))
    except Busy as error:
        note(f"The card is not kept. {error}")


async def names_to_examine(loaded: "Loaded") -> list[str]:
    """The model that answers when none is named, and its fallbacks."""
    from long_running_agents.models import looking

    chosen = await looking.decide(loaded)
    return list(dict.fromkeys([chosen.name, *loaded.settings.agent.model.fallback]))


def print_examined(examined: Examined) -> None:
    """Print a card, or why there is none."""
    if examined.card is None:
        click.echo(f"{click.style('problem', fg='red')}  {safe(examined.error)}")
        if examined.hint:
            click.echo(f"         {safe(examined.hint)}")
        return
    card = examined.card
    click.echo(f"{click.style(examined.name, bold=True)} at {safe(card.endpoint)}")
    for what, finding in card.lines():
        click.echo(f"  {what:<20} {finding}")
    if card.cuts_silently:
        click.echo("  Ollama: set OLLAMA_CONTEXT_LENGTH or num_ctx, and restart it.")
    if not (card.native_tools or card.text_tools):
        click.echo("  Without tools it can only talk. vLLM needs --enable-auto-tool-choice and")
        click.echo("  --tool-call-parser; llama-server needs --jinja.")
