"""`lra approvals`: open questions, their answers, what was granted, and what was decided."""

import asyncio
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.joining import client_of, joined
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, moment, note, print_json, print_table
from long_running_agents.cli.reading import has_database, with_database
from long_running_agents.errors import Busy, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.cli.desk import Desk
    from long_running_agents.cli.following import Verdict
    from long_running_agents.config import Loaded
    from long_running_agents.domain.approval import Approval
    from long_running_agents.domain.grant import Grant
    from long_running_agents.domain.judgement import Judgement
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
    from long_running_agents.clock import SystemClock
    from long_running_agents.domain.ids import session_id

    where = None if chosen is None else session_id(chosen)
    owner, now = options.load().settings.owner, SystemClock().now()

    async def work(database: "Database") -> "Sequence[Approval]":
        from long_running_agents.store import approvals

        found = await database.read(lambda tx: approvals.open_questions(tx, where, owner=owner))
        # Whoever opens the home next writes down that they have expired.
        return [each for each in found if not each.overdue(now)]

    # A home without a database has no questions; that is an answer, not a failure.
    found = with_database(options, work) if has_database(options) else ()
    if as_json:
        print_json(found)
    elif not found:
        note("Nothing waits for an answer.")
    else:
        print_table(
            ["id", "asked", "tool", "arguments", "session", "why"],
            [
                [
                    each.id,
                    moment(each.asked_at),
                    each.tool,
                    each.args,
                    each.session_id,
                    each.question,
                ]
                for each in found
            ],
        )


@approvals.command()
@click.argument("approval_id", metavar="ID")
@click.option("--session", is_flag=True, help="Also allow the like for the rest of the session.")
@click.option("--always", is_flag=True, help="Also allow the like from now on, until revoked.")
@pass_options
def allow(options: Options, approval_id: str, session: bool, always: bool) -> int:
    """Let a call run; its turn goes on, and this waits for the outcome."""
    from long_running_agents.cli.following import Verdict
    from long_running_agents.domain.grant import Lasting

    if session and always:
        raise UsageError("--session and --always contradict each other.", hint="Give one.")
    lasting = Lasting.ONCE
    if session or always:
        lasting = Lasting.SESSION if session else Lasting.ALWAYS
    return _answer(options, approval_id, Verdict(allowed=True, lasting=lasting))


@approvals.command()
@click.argument("approval_id", metavar="ID")
@click.argument("reason", required=False, default="")
@pass_options
def deny(options: Options, approval_id: str, reason: str) -> int:
    """Refuse a call; the model is told the REASON and goes on."""
    from long_running_agents.cli.following import Verdict

    return _answer(options, approval_id, Verdict(allowed=False, reason=reason))


@approvals.command("grants")
@click.option("--all", "revoked", is_flag=True, help="Also those that were revoked.")
@json_option
@pass_options
def list_grants(options: Options, revoked: bool, as_json: bool) -> None:
    """List what was allowed for a session or for always."""
    owner = options.load().settings.owner

    async def work(database: "Database") -> "Sequence[Grant]":
        from long_running_agents.store import grants

        return await database.read(lambda tx: grants.of_owner(tx, owner, revoked=revoked))

    found = with_database(options, work) if has_database(options) else ()
    if as_json:
        print_json(found)
    elif not found:
        note("Nothing is granted.")
    else:
        print_table(
            ["id", "since", "used", "where", "what"],
            [
                [
                    each.id,
                    moment(each.created_at),
                    str(each.used),
                    each.session_id or "everywhere",
                    f"{each.scope} (revoked)" if each.revoked_at else str(each.scope),
                ]
                for each in found
            ],
        )


@approvals.command()
@click.argument("grant_id", metavar="GRANT")
@pass_options
def revoke(options: Options, grant_id: str) -> None:
    """Take a grant back: the next such call asks again."""
    from long_running_agents.clock import SystemClock
    from long_running_agents.domain.ids import GrantId

    owner, now = options.load().settings.owner, SystemClock().now()

    async def work(database: "Database") -> "Grant":
        from long_running_agents.store import grants

        return await database.write(lambda tx: grants.revoke(tx, owner, GrantId(grant_id), now))

    async def ask() -> str | None:
        async with client_of(options.load()) as client:
            return None if client is None else await client.revoke(GrantId(grant_id))

    scope = asyncio.run(ask()) or with_database(options, work, writes=True).scope
    note(f"revoked: {scope}")


@approvals.command()
@click.option("-n", "--limit", default=50, type=click.IntRange(min=1), help="How many; 50.")
@click.option("-s", "--session", "chosen", metavar="ID", help="Only this session's.")
@json_option
@pass_options
def log(options: Options, limit: int, chosen: str | None, as_json: bool) -> None:
    """Show what was decided about calls, why, and by whom; the newest last."""
    from long_running_agents.domain.ids import session_id

    where = None if chosen is None else session_id(chosen)
    owner = options.load().settings.owner

    async def work(database: "Database") -> "Sequence[Judgement]":
        from long_running_agents.store import decisions

        found = await database.read(
            lambda tx: decisions.newest(tx, owner, limit=limit, session_id=where)
        )
        return found[::-1]

    found = with_database(options, work) if has_database(options) else ()
    if as_json:
        print_json(found)
    else:
        print_table(
            ["when", "session", "decision", "by", "tool", "arguments", "why"],
            [
                [
                    moment(each.at),
                    each.session_id,
                    each.decision,
                    each.who,
                    each.tool,
                    each.args,
                    each.why,
                ]
                for each in found
            ],
        )


def _answer(options: Options, approval_id: str, verdict: "Verdict") -> int:
    turn = asyncio.run(_settle(options.load(), approval_id, verdict))
    return 0 if turn.status in ("done", "waiting") else 1


async def _settle(loaded: "Loaded", approval_id: str, verdict: "Verdict") -> "Turn":
    async with joined(loaded) as desk:
        if desk is not None:
            return await _decided(desk, approval_id, verdict)
    from long_running_agents.cli.own_desk import opened

    async with opened(loaded) as desk:
        return await _decided(desk, approval_id, verdict)


async def _decided(desk: "Desk", approval_id: str, verdict: "Verdict") -> "Turn":
    from long_running_agents.domain.ids import ApprovalId
    from long_running_agents.domain.turn import TurnStatus

    key = ApprovalId(approval_id)
    asking = await desk.turn_of(key)
    try:
        await desk.turns.answer(
            key, allowed=verdict.allowed, reason=verdict.reason, lasting=verdict.lasting
        )
    except Busy:
        # It has expired or was answered before; what came of that is not held up.
        if asking is not None:
            await desk.turns.settled(asking)
        raise
    if asking is None:
        raise NotFound(f"Approval {approval_id!r} was answered, but its turn is not known.")
    turn = await desk.turns.settled(asking)
    if turn.status is TurnStatus.WAITING:
        for other in await desk.turns.open_questions(turn.session_id):
            note(f"the turn still waits: 'lra approvals allow {other.id}' ({other.tool})")
    if turn.answer:
        from long_running_agents.cli.output import shown

        click.echo(shown(turn.answer))
    if turn.error:
        note(turn.error)
    return turn
