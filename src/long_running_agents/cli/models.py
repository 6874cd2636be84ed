"""`lra models`: list, use, test, pull, serve."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.failures import FAILED, OK
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import dim, json_option, note, print_json, print_table
from long_running_agents.errors import Denied, UsageError

if TYPE_CHECKING:
    from long_running_agents.config import Loaded
    from long_running_agents.models.names import Name


@click.group()
def models() -> None:
    """List, choose, test, pull and serve models."""


@models.command("list")
@json_option
@pass_options
def list_models(options: Options, as_json: bool) -> None:
    """List the models that are set, found on this machine, or embedded.

    A star marks the one that answers when none is named. Looking for servers asks only this
    machine, and no model.
    """
    from long_running_agents.cli.listing import listed

    found = asyncio.run(listed(options.load()))
    if as_json:
        print_json(found)
        return
    if not found:
        from long_running_agents.models.names import no_model

        raise no_model()
    print_table(
        ["", "name", "from", "context", "note"],
        [
            [
                "*" if each.chosen else "",
                each.name,
                each.source,
                "" if each.context_window is None else str(each.context_window),
                each.note,
            ]
            for each in found
        ],
    )
    if not any(each.chosen for each in found):
        note("None of them answers by itself: 'lra models use NAME' chooses one.")


@models.command()
@click.argument("name")
@pass_options
def use(options: Options, name: str) -> None:
    """Write NAME to the home's config file, after checking it; comments are kept."""
    from long_running_agents.cli import joining
    from long_running_agents.config.editing import set_values
    from long_running_agents.home import Home
    from long_running_agents.models import names, switching

    loaded = options.load()
    settings = loaded.settings.agent.model
    parsed = names.parse(name, settings)
    if parsed.provider == names.LOCAL:
        parsed = _embedded_name(loaded, parsed)
    names.require(parsed, settings, loaded.variables)
    if missing := asyncio.run(switching.check_there(loaded, parsed)):
        note(missing)
    Home(loaded.home).create()
    values = switching.values(parsed, settings)
    path = set_values(loaded.home, switching.SECTION, values)
    click.echo(f"{name} is set in {path}.")
    _warn_of_others(options, values)
    asyncio.run(joining.tell_of_model(loaded, name))


def _embedded_name(loaded: "Loaded", name: "Name") -> "Name":
    from long_running_agents.cli.offering import embedded_of
    from long_running_agents.models.names import Name, own_weights

    embedded = embedded_of(loaded)
    if (own := own_weights(name.model)) is not None:
        embedded.check(name.model)
        # Whole, since the next command may be run somewhere else.
        return Name(name.provider, str(own.absolute()))
    weights = embedded.weights(name.model)
    if not embedded.path(weights).is_file():
        note(f"Its weights are not here yet: 'lra models pull {weights.name}' fetches them.")
    return Name(name.provider, weights.name)


def _warn_of_others(options: Options, values: "dict[str, str | None]") -> None:
    """Say when a variable goes before the file that was written."""
    from long_running_agents.config.loading import value_of
    from long_running_agents.models.switching import SECTION

    loaded = options.load()
    for key, value in values.items():
        dotted = f"{SECTION}.{key}"
        if value_of(loaded.settings, dotted) != (value or ""):
            note(f"But {dotted} comes from {loaded.origin(dotted)}, which goes before the file.")


@models.command()
@click.argument("name", required=False)
@json_option
@pass_options
def test(options: Options, name: str | None, as_json: bool) -> int:
    """Find out what a model can really do, and keep the card.

    It is asked about five small things: a word, a tool call, the same streamed, a sentence, and a
    long prompt if its server does not say how long a prompt may be. Without NAME it is the model
    that answers by itself.
    """
    from long_running_agents.cli import examining
    from long_running_agents.clock import SystemClock

    loaded = options.load()

    async def work() -> list[examining.Examined]:
        names = [name] if name else (await examining.names_to_examine(loaded))[:1]
        return await examining.examine_models(loaded, SystemClock(), names)

    [examined] = asyncio.run(work())
    if as_json:
        print_json(examined)
    else:
        examining.print_examined(examined)
    return OK if examined.card is not None else FAILED


@models.command()
@click.argument("name", required=False, default="")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, path_type=Path),
    help="A file or folder to take the weights from, instead of the network.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_options
def pull(options: Options, name: str, source: Path | None, yes: bool) -> None:
    """Fetch the weights of an embedded model; without NAME, of the one to prefer."""
    from long_running_agents.cli.offering import describe, embedded_of, fetch

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


@models.command()
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
@pass_options
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
    from long_running_agents.cli.offering import embedded_of

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
