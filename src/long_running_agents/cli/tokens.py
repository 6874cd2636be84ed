"""`lra tokens`: who may come in to the server."""

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from long_running_agents.cli.access import there_or_here, with_database
from long_running_agents.cli.main import CommandGroup, Options
from long_running_agents.cli.output import moment, moment_of, note, plain, print_either, print_list
from long_running_agents.clock import SystemClock
from long_running_agents.domain.auth import scope_of
from long_running_agents.domain.ids import TokenId

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from long_running_agents.client import Client
    from long_running_agents.domain.auth import Token
    from long_running_agents.server.auth import Tokens, TokenSecret
    from long_running_agents.store.database import Database

_BY = "lra tokens"


@click.group(cls=CommandGroup)
def tokens() -> None:
    """Create, list, rotate and revoke the tokens that let programs in.

    What is changed holds at once, also for a server that runs on this home.
    """


@tokens.subcommand(json=True)
@click.argument("name")
@click.option("--owner", metavar="OWNER", help="Whose things it opens; yours unless given.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help="read, chat, approve, admin, or hook:ID for a job's webhook; the first three if not said.",
)
@click.option("--expires", metavar="WHEN", help="When it ends, such as 30d or 2030-01-31; never.")
def create(
    options: Options,
    name: str,
    owner: str | None,
    scopes: tuple[str, ...],
    expires: str | None,
    as_json: bool,
) -> None:
    """Make a token and print it, this once; NAME tells what it is for."""
    from long_running_agents.server.auth import USUAL, TokenRequest

    loaded, now = options.load(), SystemClock().now()
    wanted = TokenRequest(
        name=name,
        owner=owner or loaded.settings.owner,
        scopes=frozenset(map(scope_of, scopes)) or USUAL,
        expires_at=None if expires is None else moment_of(expires, now, end=True, ahead=True),
    )
    made = _change(
        options, lambda service: service.create(wanted, by=_BY), "POST", "", plain(wanted)
    )
    print_either(made, as_json, _print_secret)


@tokens.subcommand("list", json=True)
@click.option("--all", "every", is_flag=True, help="Also those that were revoked or have expired.")
def list_tokens(options: Options, every: bool, as_json: bool) -> None:
    """List the tokens; nobody but their bearers knows them."""
    from long_running_agents.store import tokens

    now = SystemClock().now()
    found = with_database(options, lambda database: database.read(tokens.every), empty=())
    print_list(
        [token for token in found if every or token.good(now)],
        "id, owner, scopes, used, until, name",
        lambda token: (
            token.id,
            token.owner,
            ", ".join(sorted(token.scopes)),
            "never" if token.used_at is None else moment(token.used_at),
            _until(token, now),
            token.name,
        ),
        as_json=as_json,
        nothing="There are no tokens.",
    )


@tokens.subcommand(json=True)
@click.argument("token_id", metavar="ID")
def rotate(options: Options, token_id: str, as_json: bool) -> None:
    """Replace a token's secret; the old one stops working."""
    key = TokenId(token_id)
    path = f"/{quote(key, safe='')}/rotate"
    made = _change(options, lambda service: service.rotate(key, by=_BY), "POST", path)
    print_either(made, as_json, _print_secret)


@tokens.subcommand(json=True)
@click.argument("token_id", metavar="ID")
def revoke(options: Options, token_id: str, as_json: bool) -> None:
    """Revoke a token; its open connections are closed."""
    key = TokenId(token_id)
    path = f"/{quote(key, safe='')}"
    gone = _change(options, lambda service: service.revoke(key, by=_BY), "DELETE", path)
    print_either(gone, as_json, lambda gone: note(f"revoked: {gone['name']} ({gone['id']})"))


def _change(
    options: Options,
    work: "Callable[[Tokens], Awaitable[Token | TokenSecret]]",
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Change tokens: by a request to the server that owns the home, else as its owner."""

    async def there(client: "Client") -> dict[str, Any]:
        return (await client.link.ask(method, f"/api/tokens{path}", body=body)).body

    async def here(database: "Database") -> dict[str, Any]:
        from long_running_agents.server.auth import Tokens, TokenSecret

        made = await work(Tokens(database, SystemClock()))
        if isinstance(made, TokenSecret):
            return {**plain(made.token), "secret": made.secret}
        return plain(made)

    return there_or_here(options, there, lambda: with_database(options, here, writes=True))


def _print_secret(made: dict[str, Any]) -> None:
    note(f"{made['id']} of {made['owner']} may {', '.join(made['scopes'])}.")
    note("Save it now: it is shown only once.")
    click.echo(made["secret"])


def _until(token: "Token", now: "datetime") -> str:
    if token.revoked_at is not None:
        return f"revoked {moment(token.revoked_at)}"
    if token.expires_at is None:
        return "revoked"
    return f"{'' if token.good(now) else 'expired '}{moment(token.expires_at)}"
