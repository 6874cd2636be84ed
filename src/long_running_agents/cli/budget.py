"""`lra budget`: what may still be used today and in a session, and raising it."""

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.access import has_database, open_agent, with_database
from long_running_agents.cli.main import CommandGroup, Options
from long_running_agents.cli.output import note, print_list, session_option, shown
from long_running_agents.clock import SystemClock
from long_running_agents.domain.ids import SessionId

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from long_running_agents.domain.budget import BudgetLine
    from long_running_agents.domain.turn import Turn
    from long_running_agents.store.database import Database


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def budget(context: click.Context) -> None:
    """Show what may still be used today, and raise limits."""
    if context.invoked_subcommand is None:
        context.invoke(show)


@budget.subcommand(json=True)
@session_option("Show the limits of this session, too.")
def show(options: Options, session: SessionId | None, as_json: bool) -> None:
    """Show the limits of today and of a session, and what is used of them."""

    def work(database: "Database") -> "Awaitable[Sequence[BudgetLine]]":
        from long_running_agents.agent.budgets import BudgetBook, shared_limits

        settings = options.load().settings
        book = BudgetBook(database, SystemClock(), shared_limits(settings))
        return book.lines(settings.owner, session)

    print_list(
        with_database(options, work) if has_database(options) else (),
        "scope, what, used, under way, limit, share",
        lambda line: (
            f"{line.scope} {line.key}",
            line.resource,
            f"{line.spent:g}",
            f"{line.held:g}",
            f"{line.limit:g}",
            f"{line.share:.0%}",
        ),
        as_json=as_json,
        nothing="No limits are set: budget.day and budget.session in the settings set them.",
    )


@budget.subcommand("raise")
@session_option("Raise the limits of this session; those of today unless given.")
@click.option("--tokens", type=click.IntRange(min=1), help="So many tokens more.")
@click.option("--cost", type=click.FloatRange(min=0, min_open=True), help="So many dollars more.")
@click.option("--steps", type=click.IntRange(min=1), help="So many requests more.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="So many more.")
def raise_limits(
    options: Options,
    session: SessionId | None,
    tokens: int | None,
    cost: float | None,
    steps: int | None,
    seconds: float | None,
) -> None:
    """Raise limits, by the same again unless said; turns that they stopped go on."""
    money = None if cost is None else Decimal(str(cost))

    async def work() -> "list[Turn]":
        async with open_agent(options.load(), None, terminal=False, resuming=True) as (agent, _):
            going_on = await agent.budgets.more(
                session, tokens=tokens, cost=money, steps=steps, seconds=seconds
            )
            note(f"Raised. Turns that go on: {len(going_on)}.")
            return [await agent.turns.settled(turn.id) for turn in going_on]

    for turn in asyncio.run(work()):
        note(f"{turn.session_id}: {turn.status}")
        if turn.answer:
            click.echo(shown(turn.answer))
