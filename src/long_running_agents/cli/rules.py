"""`lra rules`: list, pin, accept, dismiss, lift, enforce."""

from typing import TYPE_CHECKING

import click

from long_running_agents.cli.access import there_or_here, with_sessions
from long_running_agents.cli.main import CommandGroup, Options
from long_running_agents.cli.output import (
    note,
    print_list,
    rule_cells,
    rule_outcome,
    session_option,
)
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.rule import PinnedRule, RuleId, RuleState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from long_running_agents.agent.sessions import SessionService
    from long_running_agents.api import RuleApi

number_argument = click.argument("number", type=click.IntRange(min=1, max=2**53))


@click.group(cls=CommandGroup)
def rules() -> None:
    """List, pin, lift and enforce the rules that hold."""


@rules.subcommand("list", json=True)
@session_option("Only those that this session sees.")
@click.option("--all", "ended", is_flag=True, help="Show lifted and dismissed ones, too.")
def list_rules(options: Options, session: SessionId | None, ended: bool, as_json: bool) -> None:
    """List pinned and suggested rules."""
    print_list(
        with_sessions(
            options, lambda service: _service(service).every(session, ended=ended), empty=()
        ),
        "id, state, where, tokens, rule",
        lambda rule: (rule.id, *rule_cells(rule), rule.tokens, rule.text),
        as_json=as_json,
        nothing="No rules yet: 'lra rules pin TEXT' pins one.",
    )


@rules.subcommand()
@click.argument("text")
@session_option("The session it holds in; all of them unless given.")
def pin(options: Options, text: str, session: SessionId | None) -> None:
    """Pin TEXT as a rule: every request to a model has it from now on."""
    _told(_changing(options, lambda service: service.pin(text, session_id=session)))


def _change(options: Options, number: int, state: RuleState) -> None:
    key = RuleId(number)
    _told(_changing(options, lambda service: service.change(key, state=state)))


@rules.subcommand()
@number_argument
def lift(options: Options, number: int) -> None:
    """Lift a rule: from the next turn on it holds no more."""
    _change(options, number, RuleState.LIFTED)


@rules.subcommand()
@number_argument
def accept(options: Options, number: int) -> None:
    """Pin a rule that was suggested."""
    _change(options, number, RuleState.ACTIVE)


@rules.subcommand()
@number_argument
def dismiss(options: Options, number: int) -> None:
    """Dismiss a suggestion; it is not made again."""
    _change(options, number, RuleState.DISMISSED)


@rules.subcommand()
@number_argument
@click.option("--off", is_flag=True, help="Leave it to the model again.")
def enforce(options: Options, number: int, off: bool) -> None:
    """Have the approval gate enforce a rule, from the next turn on."""
    key = RuleId(number)
    _told(_changing(options, lambda service: service.change(key, enforced=not off)))


def _service(sessions: "SessionService") -> "RuleApi":
    from long_running_agents.agent.rules import RuleService

    return RuleService(sessions)


def _changing(options: Options, work: "Callable[[RuleApi], Awaitable[PinnedRule]]") -> PinnedRule:
    """Change rules: at the server that owns the home, else as its owner."""
    return there_or_here(
        options,
        lambda client: work(client.rules),
        lambda: with_sessions(options, lambda service: work(_service(service)), writes=True),
    )


def _told(rule: PinnedRule) -> None:
    note(rule_outcome(rule, "lra rules"))
