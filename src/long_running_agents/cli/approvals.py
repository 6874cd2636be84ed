"""`lra approvals`: open questions, their answers, what was granted, and what was decided."""

import asyncio
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

import click

from long_running_agents.cli.access import joined, open_home, there_or_here, with_database
from long_running_agents.cli.main import CommandGroup, Options
from long_running_agents.cli.output import moment, note, print_list, session_option, shown
from long_running_agents.clock import SystemClock
from long_running_agents.domain.ids import ApprovalId, GrantId, SessionId
from long_running_agents.errors import Busy, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from long_running_agents.cli.access import AgentApi
    from long_running_agents.cli.follow import Verdict
    from long_running_agents.config import LoadedSettings
    from long_running_agents.domain.turn import Turn
    from long_running_agents.store.database import Database, Transaction

T = TypeVar("T")


@click.group(cls=CommandGroup)
def approvals() -> None:
    """List and answer pending approvals."""


@approvals.subcommand("list", json=True)
@session_option("Only this session's.")
def list_approvals(options: Options, session: SessionId | None, as_json: bool) -> None:
    """List pending approvals."""
    from long_running_agents.store import approvals

    now = SystemClock().now()
    found = _stored(options, lambda tx, owner: approvals.open_questions(tx, session, owner=owner))
    print_list(
        # Whoever opens the home next writes down that they have expired.
        [each for each in found if not each.overdue(now)],
        "id, asked, tool, arguments, session, why",
        attrgetter("id", "asked_at", "tool", "args", "session_id", "question"),
        as_json=as_json,
        nothing="No approvals are pending.",
    )


def _stored(options: Options, read: "Callable[[Transaction, str], Sequence[T]]") -> "Sequence[T]":
    """What is stored for the owner."""
    owner = options.load().settings.owner
    return with_database(
        options, lambda database: database.read(lambda tx: read(tx, owner)), empty=()
    )


@approvals.subcommand()
@click.argument("approval_id", metavar="ID")
@click.option("--session", is_flag=True, help="Also allow similar calls in this session.")
@click.option("--always", is_flag=True, help="Also allow similar calls from now on, until revoked.")
def allow(options: Options, approval_id: str, session: bool, always: bool) -> int:
    """Let a call run; its turn goes on, and this waits for the outcome."""
    from long_running_agents.cli.follow import Verdict
    from long_running_agents.domain.approval import GrantDuration

    if session and always:
        raise UsageError("--session and --always contradict each other.", hint="Give one.")
    lasting = GrantDuration.ONCE
    if session or always:
        lasting = GrantDuration.SESSION if session else GrantDuration.ALWAYS
    return _answer(options, approval_id, Verdict(allowed=True, lasting=lasting))


@approvals.subcommand()
@click.argument("approval_id", metavar="ID")
@click.argument("reason", required=False, default="")
def deny(options: Options, approval_id: str, reason: str) -> int:
    """Refuse a call; the model is told the REASON and goes on."""
    from long_running_agents.cli.follow import Verdict

    return _answer(options, approval_id, Verdict(allowed=False, reason=reason))


@approvals.subcommand("grants", json=True)
@click.option("--all", "revoked", is_flag=True, help="Show revoked ones, too.")
def list_grants(options: Options, revoked: bool, as_json: bool) -> None:
    """List saved permissions."""
    from long_running_agents.store import approvals

    print_list(
        _stored(options, lambda tx, owner: approvals.of_owner(tx, owner, revoked=revoked)),
        "id, since, used, where, what",
        lambda each: (
            each.id,
            moment(each.created_at),
            each.used,
            each.session_id or "everywhere",
            f"{each.scope} (revoked)" if each.revoked_at else each.scope,
        ),
        as_json=as_json,
        nothing="No permissions are saved.",
    )


@approvals.subcommand()
@click.argument("grant_id", metavar="GRANT")
def revoke(options: Options, grant_id: str) -> None:
    """Revoke a saved permission: the next such call asks again."""
    from long_running_agents.store import approvals

    owner, key = options.load().settings.owner, GrantId(grant_id)

    async def here(database: "Database") -> str:
        now = SystemClock().now()
        return str((await database.write(lambda tx: approvals.revoke(tx, owner, key, now))).scope)

    scope = there_or_here(
        options,
        lambda client: client.revoke(key),
        lambda: with_database(options, here, writes=True),
    )
    note(f"revoked: {scope}")


@approvals.subcommand(json=True)
@click.option("-n", "--limit", default=50, type=click.IntRange(min=1), help="How many; 50.")
@session_option("Only this session's.")
def log(options: Options, limit: int, session: SessionId | None, as_json: bool) -> None:
    """Show what was decided about calls, why, and by whom; the newest last."""
    from long_running_agents.store import decisions

    found = _stored(
        options, lambda tx, owner: decisions.newest(tx, owner, limit=limit, session_id=session)
    )
    print_list(
        found[::-1],
        "when, session, decision, by, tool, arguments, why",
        attrgetter("at", "session_id", "decision", "who", "tool", "args", "why"),
        as_json=as_json,
    )


def _answer(options: Options, approval_id: str, verdict: "Verdict") -> int:
    turn = asyncio.run(_settle(options.load(), approval_id, verdict))
    return 0 if turn.status in ("done", "waiting") else 1


async def _settle(loaded: "LoadedSettings", approval_id: str, verdict: "Verdict") -> "Turn":
    async with joined(loaded) as agent:
        if agent is not None:
            return await _decided(agent, approval_id, verdict)
    async with open_home(loaded) as agent:
        return await _decided(agent, approval_id, verdict)


async def _decided(agent: "AgentApi", approval_id: str, verdict: "Verdict") -> "Turn":
    from long_running_agents.domain.turn import TurnStatus

    key = ApprovalId(approval_id)
    asking = await agent.turn_of(key)
    try:
        await verdict.give(agent.turns, key)
    except Busy:
        # It has expired or was answered before; what came of that is not held up.
        if asking is not None:
            await agent.turns.settled(asking)
        raise
    if asking is None:
        raise NotFound(f"Approval {approval_id!r} was answered, but its turn is not known.")
    turn = await agent.turns.settled(asking)
    if turn.status is TurnStatus.WAITING:
        for other in await agent.turns.open_questions(turn.session_id):
            note(f"the turn still waits: 'lra approvals allow {other.id}' ({other.tool})")
    if turn.answer:
        click.echo(shown(turn.answer))
    if turn.error:
        note(turn.error)
    return turn
