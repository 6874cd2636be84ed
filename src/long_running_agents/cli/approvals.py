"""`lra approvals`: open questions and their answers."""

import asyncio
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, moment, note, print_json, print_table
from long_running_agents.cli.reading import has_database, with_database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.config import Loaded
    from long_running_agents.domain.approval import Approval
    from long_running_agents.domain.turn import Turn
    from long_running_agents.store.database import Database


@click.group()
def approvals() -> None:
    """List and answer open questions."""


@approvals.command("list")
@click.option("-s", "--session", "chosen", metavar="ID", help="Only this session's.")
@json_option
@pass_options
def list_approvals(options: Options, chosen: str | None, as_json: bool) -> None:
    """List calls that wait for an answer."""
    from long_running_agents.domain.ids import session_id

    where = None if chosen is None else session_id(chosen)

    async def work(database: "Database") -> "Sequence[Approval]":
        from long_running_agents.store import approvals

        return await database.read(lambda tx: approvals.open_questions(tx, where))

    # A home without a database has no questions; that is an answer, not a failure.
    found = with_database(options, work) if has_database(options) else ()
    if as_json:
        print_json(found)
    elif not found:
        note("Nothing waits for an answer.")
    else:
        print_table(
            ["id", "asked", "tool", "arguments", "session"],
            [
                [each.id, moment(each.asked_at), each.tool, each.args, each.session_id]
                for each in found
            ],
        )


@approvals.command()
@click.argument("approval_id", metavar="ID")
@pass_options
def allow(options: Options, approval_id: str) -> int:
    """Let a call run; its turn goes on, and this waits for the outcome."""
    return _answer(options, approval_id, allowed=True, reason="")


@approvals.command()
@click.argument("approval_id", metavar="ID")
@click.argument("reason", required=False, default="")
@pass_options
def deny(options: Options, approval_id: str, reason: str) -> int:
    """Refuse a call; the model is told the REASON and goes on."""
    return _answer(options, approval_id, allowed=False, reason=reason)


def _answer(options: Options, approval_id: str, *, allowed: bool, reason: str) -> int:
    turn = asyncio.run(_settle(options.load(), approval_id, allowed=allowed, reason=reason))
    return 0 if turn.status in ("done", "waiting") else 1


async def _settle(loaded: "Loaded", approval_id: str, *, allowed: bool, reason: str) -> "Turn":
    from long_running_agents.app import open_app
    from long_running_agents.domain.ids import ApprovalId
    from long_running_agents.domain.turn import TurnStatus
    from long_running_agents.store import approvals

    key = ApprovalId(approval_id)
    async with open_app(loaded) as app:
        approval = await app.database.read(lambda tx: approvals.get(tx, key))
        await app.turns.answer(key, allowed=allowed, reason=reason)
        turn = await app.turns.settled(approval.turn_id)
        if turn.status is TurnStatus.WAITING:
            for other in await app.turns.open_questions(turn.session_id):
                note(f"the turn still waits: 'lra approvals allow {other.id}' ({other.tool})")
    if turn.answer:
        from long_running_agents.cli.output import shown

        click.echo(shown(turn.answer))
    if turn.error:
        note(turn.error)
    return turn
