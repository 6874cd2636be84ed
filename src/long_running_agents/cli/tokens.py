"""`lra tokens`: who may come in to the server."""

from typing import TYPE_CHECKING, Any

import click

from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import (
    json_option,
    moment,
    note,
    plain,
    print_json,
    print_table,
)
from long_running_agents.cli.reading import has_database, there_or_here, with_database
from long_running_agents.domain.token import Scope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from long_running_agents.client import Client
    from long_running_agents.domain.token import Token
    from long_running_agents.server.tokens import Issued, Tokens
    from long_running_agents.store.database import Database

_BY = "lra tokens"


@click.group()
def tokens() -> None:
    """Create, list, rotate and revoke the tokens that let programs in.

    What is changed holds at once, also for a server that runs on this home.
    """


@tokens.command()
@click.argument("name")
@click.option("--owner", metavar="OWNER", help="Whose things it opens; yours unless given.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([str(scope) for scope in Scope]),
    help="What it may do; read, chat and approve unless given.",
)
@click.option("--expires", metavar="WHEN", help="When it ends, such as 30d or 2030-01-31; never.")
@json_option
@pass_options
def create(
    options: Options,
    name: str,
    owner: str | None,
    scopes: tuple[str, ...],
    expires: str | None,
    as_json: bool,
) -> None:
    """Make a token and print it, this once; NAME tells what it is for."""
    from long_running_agents.cli.moments import coming
    from long_running_agents.clock import SystemClock
    from long_running_agents.server.tokens import USUAL, Wish

    loaded = options.load()
    wish = Wish(
        name=name,
        owner=owner or loaded.settings.owner,
        scopes=frozenset(Scope(scope) for scope in scopes) or USUAL,
        expires_at=None if expires is None else coming(expires, SystemClock().now()),
    )
    made = there_or_here(
        options,
        _asking("POST", "", plain(wish)),
        lambda: _whole(_change(options, lambda service: service.create(wish, by=_BY))),
    )
    _print_secret(made, as_json)


@tokens.command("list")
@click.option("--all", "every", is_flag=True, help="Also those that were revoked or have expired.")
@json_option
@pass_options
def list_tokens(options: Options, every: bool, as_json: bool) -> None:
    """List the tokens; nobody but their bearers knows them."""
    from long_running_agents.clock import SystemClock

    async def work(database: "Database") -> "Sequence[Token]":
        from long_running_agents.store import tokens

        return await database.read(tokens.every)

    now = SystemClock().now()
    # A home without a database has no tokens; that is an answer, not a failure.
    found = with_database(options, work) if has_database(options) else ()
    found = [token for token in found if every or token.good(now)]
    if as_json:
        print_json(found)
    elif not found:
        note("There are no tokens.")
    else:
        print_table(
            ["id", "owner", "scopes", "used", "until", "name"],
            [
                [
                    token.id,
                    token.owner,
                    ", ".join(sorted(token.scopes)),
                    "never" if token.used_at is None else moment(token.used_at),
                    _until(token, now),
                    token.name,
                ]
                for token in found
            ],
        )


@tokens.command()
@click.argument("token_id", metavar="ID")
@json_option
@pass_options
def rotate(options: Options, token_id: str, as_json: bool) -> None:
    """Print another secret for a token; the one before is worth nothing from now on."""
    from long_running_agents.domain.ids import TokenId

    made = there_or_here(
        options,
        _asking("POST", f"/{_quoted(token_id)}/rotate"),
        lambda: _whole(_change(options, lambda service: service.rotate(TokenId(token_id), by=_BY))),
    )
    _print_secret(made, as_json)


@tokens.command()
@click.argument("token_id", metavar="ID")
@json_option
@pass_options
def revoke(options: Options, token_id: str, as_json: bool) -> None:
    """Let a token be worth nothing from now on; its open sockets are closed."""
    from long_running_agents.domain.ids import TokenId

    gone = there_or_here(
        options,
        _asking("DELETE", f"/{_quoted(token_id)}"),
        lambda: plain(_change(options, lambda service: service.revoke(TokenId(token_id), by=_BY))),
    )
    if as_json:
        print_json(gone)
    else:
        note(f"revoked: {gone['name']} ({gone['id']})")


def _asking(
    method: str, path: str, body: dict[str, Any] | None = None
) -> "Callable[[Client], Awaitable[Any]]":
    """Have the server that owns the home do it."""

    async def ask(client: "Client") -> Any:
        return (await client.link.ask(method, f"/api/tokens{path}", body=body)).body

    return ask


def _change(options: Options, work: "Callable[[Tokens], Awaitable[Any]]") -> Any:
    """Change the tokens of a home that no server owns."""

    async def opened(database: "Database") -> Any:
        from long_running_agents.clock import SystemClock
        from long_running_agents.server.tokens import Tokens

        return await work(Tokens(database, SystemClock()))

    return with_database(options, opened, writes=True)


def _whole(issued: "Issued") -> dict[str, Any]:
    return {**plain(issued.token), "secret": issued.secret}


def _print_secret(made: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    note(f"{made['id']} of {made['owner']} may {', '.join(made['scopes'])}.")
    note("Keep it: it is shown this once.")
    click.echo(made["secret"])


def _until(token: "Token", now: "datetime") -> str:
    if token.revoked_at is not None:
        return f"revoked {moment(token.revoked_at)}"
    if token.expires_at is None:
        return "revoked"
    return f"{'' if token.good(now) else 'expired '}{moment(token.expires_at)}"


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
