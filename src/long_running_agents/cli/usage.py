"""`lra usage`: what was spent."""

from typing import TYPE_CHECKING

import click

from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, note, print_json, print_table
from long_running_agents.cli.reading import has_database, with_database

if TYPE_CHECKING:
    from long_running_agents.agent.usage import Spending
    from long_running_agents.store.database import Database
    from long_running_agents.store.usage import Total

_RANGES = ("today", "7d", "30d", "all")


@click.command()
@click.option(
    "--range",
    "wanted",
    type=click.Choice(_RANGES),
    default="today",
    show_default=True,
    help="Calendar days, today included.",
)
@click.option("--tz", metavar="ZONE", help="Where days begin; this machine's zone unless given.")
@json_option
@pass_options
def usage(options: Options, wanted: str, tz: str | None, as_json: bool) -> None:
    """Say what was spent: requests, tokens and money, by model, by day and by session."""
    from long_running_agents.domain import days

    zone = None if tz is None else days.zone_of(tz)
    owner = options.load().settings.owner

    async def work(database: "Database") -> "Spending":
        from long_running_agents.agent.usage import UsageService
        from long_running_agents.clock import SystemClock

        return await UsageService(database, SystemClock(), owner).spent(days.Range(wanted), zone)

    if not has_database(options):
        note("Nothing was spent yet.")
        return
    spent = with_database(options, work)
    if as_json:
        print_json(spent)
        return
    print_table(
        ["what", "which", "requests", "input", "output", "cost"],
        [
            *(_row("model", name, total) for name, total in spent.models.items()),
            *(_row("day", str(day), total) for day, total in spent.days.items()),
            *(
                _row("session", spent.titles.get(key, key), total)
                for key, total in spent.sessions.items()
            ),
            _row("total", wanted, spent.total),
        ],
    )


def _row(what: str, which: str, total: "Total") -> list[str]:
    cost = "unknown" if total.cost is None else f"${total.cost:.4f}"
    numbers = (total.requests, total.input_tokens, total.output_tokens)
    return [what, which, *(f"{number:,}" for number in numbers), cost]
