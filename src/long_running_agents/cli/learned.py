"""`lra learned` and `lra reflect`: what was learned, taking it back, and reading finished turns."""

from collections import Counter
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.access import with_learned
from long_running_agents.cli.main import CommandGroup, Options, command
from long_running_agents.cli.output import note, print_either, print_list, session_option, shown
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.reflection import LearnedState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.domain.reflection import Learned, ReflectionReport

_MOST = 1000


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.option(
    "--state",
    type=click.Choice([state.value for state in LearnedState]),
    help="Only what is in this state.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def learned(context: click.Context, state: str | None, as_json: bool) -> None:
    """Show what was learned, merged, refused and put aside, and take it back."""
    if context.invoked_subcommand is not None:
        return
    only = None if state is None else LearnedState(state)
    options = context.ensure_object(Options)
    found = with_learned(options, lambda service: service.every(state=only, limit=_MOST))
    _list(found, as_json=as_json, nothing="Nothing was learned.")


@learned.subcommand(json=True)
@click.argument("number", type=int)
def undo(options: Options, number: int, as_json: bool) -> None:
    """Wake what was put aside, or forget what was learned, within 30 days."""
    found = with_learned(options, lambda service: service.undo(number))
    done = "it is in use again" if found.state is LearnedState.RESTING else found.reason
    print_either(found, as_json, lambda each: click.echo(shown(f"{each.text}\n  {done}")))


@learned.subcommand(json=True)
def curate(options: Options, as_json: bool) -> None:
    """Put aside what is unused, expired, there twice or harmful; 'lra serve' does so weekly."""
    report = with_learned(options, lambda service: service.curate())
    _report(report, as_json=as_json, nothing="Nothing was put aside.")


@command(json=True)
@session_option("Only this session; all that are quiet unless given.")
def reflect(options: Options, session: SessionId | None, as_json: bool) -> None:
    """Learn from finished turns that were not read yet."""
    report = with_learned(options, lambda service: service.reflect(session))
    _report(report, as_json=as_json, nothing="Nothing was learned.")
    if not as_json:
        note(f"{report.turns} turns of {report.sessions} sessions read, {report.tokens} tokens")


def _report(report: "ReflectionReport", *, as_json: bool, nothing: str) -> None:
    def show(found: "ReflectionReport") -> None:
        _list(found.learned, as_json=False, nothing=nothing)
        if found.note:
            note(found.note)

    print_either(report, as_json, show)


def _list(found: "Sequence[Learned]", *, as_json: bool, nothing: str) -> None:
    print_list(
        found,
        "number, kind, state, shown, used, harmed, text, quote, reason",
        lambda each: (
            each.number,
            each.kind,
            each.state,
            each.shown,
            each.used,
            each.harmed,
            each.text,
            each.quote,
            each.reason,
        ),
        as_json=as_json,
        nothing=nothing,
    )
    if found and not as_json:
        counts = Counter(each.state for each in found)
        note(", ".join(f"{counts[state]} {state}" for state in LearnedState if counts[state]))
