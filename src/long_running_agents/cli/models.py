"""`lra models`: list, use, add, key, test, pull, serve."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.main import FAILED, OK, CommandGroup, Options
from long_running_agents.cli.output import dim, note, print_either, print_list, safe
from long_running_agents.clock import SystemClock
from long_running_agents.domain.model_card import ModelCard
from long_running_agents.errors import Busy, Denied, LraError, StorageFailed, UsageError
from long_running_agents.home import Home

if TYPE_CHECKING:
    from long_running_agents.config import LoadedSettings
    from long_running_agents.domain.ports import Clock
    from long_running_agents.models.names import ModelName
    from long_running_agents.models.selection import ListedModel


@click.group(cls=CommandGroup)
def models() -> None:
    """List, choose, add, test, pull and serve models."""


@models.subcommand("list", json=True)
def list_models(options: Options, as_json: bool) -> None:
    """List the models that are set, found on this machine, or embedded.

    A star marks the one that answers when none is named. Looking for servers asks only this
    machine, and no model.
    """
    found = asyncio.run(listed(options.load()))
    if not found and not as_json:
        from long_running_agents.models.names import no_model

        raise no_model()
    print_list(
        found,
        ", name, from, context, note",
        lambda each: (
            "*" if each.chosen else "",
            each.name,
            each.source,
            each.context_window or "",
            each.note,
        ),
        as_json=as_json,
    )
    if not as_json and not any(each.chosen for each in found):
        note("None of them answers by itself: 'lra models use NAME' chooses one.")


@models.subcommand()
@click.argument("name")
def use(options: Options, name: str) -> None:
    """Write NAME to the home's config file, after checking it; comments are kept."""
    from long_running_agents.cli import access
    from long_running_agents.config.editor import set_values
    from long_running_agents.models import names, selection

    loaded = options.load()
    settings = loaded.settings.agent.model
    parsed = names.parse(name, settings)
    if parsed.provider == names.LOCAL:
        parsed = _embedded_name(loaded, parsed)
    names.require(parsed, settings, loaded.model_variables)
    server = {"base_url": parsed.base_url, "model": parsed.model}
    if parsed.base_url and asyncio.run(_served(loaded, "POST", "/api/models/servers", server)):
        click.echo(f"The running server asks {name} from now on, and remembers it.")
        return
    if unsure := asyncio.run(selection.check_there(loaded, parsed)):
        note(unsure)
    Home(loaded.home).create()
    values = selection.values(parsed, settings)
    path = set_values(loaded.home, selection.SECTION, values)
    click.echo(f"{name} is set in {path}.")
    if origin := selection.overriding(options.load(), values):
        note(f"But {origin} goes before the file.")
    asyncio.run(access.tell_of_model(loaded, name))


@models.subcommand()
@click.argument("address")
@click.option("--key", "wants_key", is_flag=True, help="Ask for its key, or read it from a pipe.")
@click.option("--use", "model", default="", metavar="MODEL", help="The model of it to ask now.")
def add(options: Options, address: str, wants_key: bool, model: str) -> None:
    """Remember the model server at ADDRESS, if it answers, so that its models can be chosen."""
    from long_running_agents.config.editor import set_values, set_variables
    from long_running_agents.models import selection

    loaded, key = options.load(), _secret(address) if wants_key else None
    body = {"base_url": address, "model": model} | ({"api_key": key} if key else {})
    if not asyncio.run(_served(loaded, "POST", "/api/models/servers", body)):
        changed, secrets = asyncio.run(selection.added(loaded, address, key, model))
        Home(loaded.home).create()
        if secrets:
            set_variables(loaded.home, secrets, loaded.variables)
        set_values(loaded.home, selection.SECTION, changed)
    click.echo(f"{address} is remembered. 'lra models list' shows its models.")


@models.subcommand()
@click.argument("provider")
@click.option("--remove", is_flag=True, help="Remove it.")
def key(options: Options, provider: str, remove: bool) -> None:
    """Keep PROVIDER's key in the home's .env file; it is asked for, or read from a pipe."""
    from long_running_agents.config.editor import set_variables
    from long_running_agents.models import names

    loaded, variables = options.load(), names.key_variables(provider)
    given = None if remove else _secret(provider)
    method, body = ("PUT", {"key": given}) if given else ("DELETE", None)
    if not asyncio.run(_served(loaded, method, f"/api/models/keys/{provider}", body)):
        Home(loaded.home).create()
        values = {variables[0]: given} if given else dict.fromkeys(variables)
        set_variables(loaded.home, values, loaded.variables)
    done = f"is kept: 'lra models use {names.USUAL[provider]}' uses it" if given else "is removed"
    click.echo(f"The key of {provider} {done}.")


def _secret(whose: str) -> str:
    """A key, which is not shown and stands in no history of a shell."""
    terminal = sys.stdin.isatty()
    text = click.prompt(f"Key of {whose}", hide_input=True) if terminal else sys.stdin.readline()
    if not text.strip():
        raise UsageError("There is no key.", hint="Type it, or send it through a pipe.")
    return text.strip()


async def _served(
    loaded: "LoadedSettings", method: str, path: str, body: "dict[str, str] | None"
) -> bool:
    """Have the server that runs in the home do something; False when there is none."""
    from long_running_agents.cli.access import client_of

    async with client_of(loaded) as client:
        if client is not None:
            await client.link.ask(method, path, body=body)
        return client is not None


def _embedded_name(loaded: "LoadedSettings", name: "ModelName") -> "ModelName":
    from long_running_agents.cli.chat import embedded_of
    from long_running_agents.models.names import ModelName, own_weights

    embedded = embedded_of(loaded)
    if (own := own_weights(name.model)) is not None:
        embedded.check(name.model)
        # Whole, since the next command may be run somewhere else.
        return ModelName(name.provider, str(own.absolute()))
    weights = embedded.weights(name.model)
    if not embedded.path(weights).is_file():
        note(f"Its weights are not here yet: 'lra models pull {weights.name}' fetches them.")
    return ModelName(name.provider, weights.name)


@models.subcommand(json=True)
@click.argument("name", required=False)
def test(options: Options, name: str | None, as_json: bool) -> int:
    """Find out what a model can really do, and keep the card.

    It is asked about five small things: a word, a tool call, the same streamed, a sentence, and a
    long prompt if its server does not say how long a prompt may be. Without NAME it is the model
    that answers by itself.
    """
    loaded = options.load()

    async def work() -> list[ModelExamined]:
        names = [name] if name else (await names_to_examine(loaded))[:1]
        return await examine_models(loaded, SystemClock(), names)

    [examined] = asyncio.run(work())
    print_either(examined, as_json, print_examined)
    return OK if examined.card is not None else FAILED


@models.subcommand()
@click.argument("name", required=False, default="")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, path_type=Path),
    help="A file or folder to take the weights from, instead of the network.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def pull(options: Options, name: str, source: Path | None, yes: bool) -> None:
    """Fetch the weights of an embedded model; without NAME, of the one to prefer."""
    from long_running_agents.cli.chat import describe, embedded_of, fetch

    embedded = embedded_of(options.load())
    weights = embedded.weights(name.removeprefix("local:"))
    if embedded.path(weights).is_file():
        click.echo(f"{weights.name} is here already.")
        return
    # Without a terminal nobody can be asked, and the command itself says what is wanted.
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not yes
    if asks and not click.confirm(f"Fetch {describe(weights)}?"):
        raise Denied("Nothing was fetched.", hint="--yes does not ask.")
    path = asyncio.run(fetch(embedded, weights, source))
    click.echo(f"{weights.name} is at {path}.")
    click.echo(dim(f"Talk to it with: lra chat --model local:{weights.name}"), err=True)


@models.subcommand()
@click.argument("name", required=False, default="")
@click.option(
    "--path",
    type=click.Path(exists=True, path_type=Path),
    help="Weights of your own: a GGUF file, or a folder as save_pretrained writes it.",
)
@click.option(
    "--engine",
    type=click.Choice(["llama", "transformers"]),
    help="What runs them; unset takes llama for a file and transformers for a folder.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to bind.")
@click.option("--port", default=8089, show_default=True, type=click.IntRange(0, 65535))
@click.option("--key", default="", help="The key that clients must show.", envvar="AGENT_MODEL_KEY")
def serve(
    options: Options,
    name: str,
    path: Path | None,
    engine: str | None,
    host: str,
    port: int,
    key: str,
) -> None:
    """Offer an embedded model, or weights of your own, as a chat-completions server."""
    from long_running_agents.cli.chat import embedded_of

    if host not in ("127.0.0.1", "::1", "localhost") and not key:
        raise UsageError(
            f"Anybody who can reach {host} could use the model.", hint="Give a --key as well."
        )
    if path is not None and name:
        raise UsageError("NAME and --path name different weights.", hint="Give one of them.")
    embedded = embedded_of(options.load())
    wanted = name.removeprefix("local:")
    if path is not None:
        wanted = str(path.absolute())
    elif "/" not in wanted:
        wanted = embedded.weights(wanted).name

    def ready(address: str) -> None:
        note(f"{wanted} at {address}, Ctrl-C stops it")

    asyncio.run(embedded.serve(wanted, host, port, key, kind=engine, ready=ready))


@dataclass(frozen=True, slots=True)
class ModelExamined:
    """What came of one examination: a card, or why there is none."""

    name: str
    card: ModelCard | None = None
    error: str = ""
    hint: str = ""


async def examine_models(
    loaded: "LoadedSettings", clock: "Clock", names: Sequence[str]
) -> "list[ModelExamined]":
    """Examine models by name, and store their cards."""
    import httpx2

    from long_running_agents.models import selection
    from long_running_agents.models.examination import examine
    from long_running_agents.models.factory import ModelFactory

    settings = loaded.settings.agent.model
    examined: list[ModelExamined] = []
    async with httpx2.AsyncClient(timeout=settings.timeout) as client:
        from long_running_agents.cli.chat import embedded_of

        factory = ModelFactory(settings, loaded.model_variables, client, embedded_of(loaded))
        for name in names:
            note(f"examining {name} …")
            try:
                choice = factory.choices(name)[0]
                window = partial(selection.window, client, loaded, choice.name)
                card = await examine(choice, clock, window=window)
            except LraError as error:
                examined.append(ModelExamined(name, error=error.message, hint=error.hint))
            else:
                examined.append(ModelExamined(name, card))
    await _store(loaded, clock, [each.card for each in examined if each.card is not None])
    return examined


async def _store(loaded: "LoadedSettings", clock: "Clock", cards: Sequence[ModelCard]) -> None:
    from long_running_agents.store import model_cards as stored
    from long_running_agents.store.schema import open_database

    if not cards:
        return
    try:
        async with open_database(loaded, clock) as database:
            for card in cards:
                await database.write(lambda tx, card=card: stored.put(tx, card))
    except Busy as error:
        note(f"The card is not kept. {error}")


async def names_to_examine(loaded: "LoadedSettings") -> list[str]:
    """The model that answers when none is named, and its fallbacks."""
    from long_running_agents.models import selection

    chosen = await selection.decide(loaded)
    return list(dict.fromkeys([chosen.name, *loaded.settings.agent.model.fallback]))


def print_examined(examined: ModelExamined) -> None:
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


async def listed(loaded: "LoadedSettings") -> "list[ListedModel]":
    """Look around, and list every model once, with what was found out about it."""
    from long_running_agents.models import selection

    found = await selection.servers(loaded, idle=True)
    return selection.listed_everywhere(loaded, await _cards(loaded), found)


async def _cards(loaded: "LoadedSettings") -> "dict[tuple[str, str], ModelCard]":
    from long_running_agents.store import model_cards
    from long_running_agents.store.schema import database_path, open_database

    if not database_path(loaded).exists():
        return {}
    try:
        async with open_database(loaded, SystemClock(), read_only=True) as database:
            return {
                (each.endpoint, each.model): each for each in await database.read(model_cards.every)
            }
    except StorageFailed:
        # Of an older version, which kept no cards.
        return {}
