"""`lra sessions`: list, show, rename, fork, export, import, delete."""

from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from long_running_agents.cli.access import (
    changing_sessions,
    has_database,
    with_database,
    with_sessions,
)
from long_running_agents.cli.main import CommandGroup, Options, command
from long_running_agents.cli.output import (
    choice_option,
    dim,
    moment,
    note,
    output_option,
    print_either,
    print_json,
    print_list,
    print_table,
    private_file,
    session_key,
    session_option,
    shown,
)
from long_running_agents.clock import SystemClock
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from long_running_agents.agent.sessions import SessionService, Spending
    from long_running_agents.domain.session import Session
    from long_running_agents.domain.task import Task
    from long_running_agents.domain.turn import Turn
    from long_running_agents.store.database import Database
    from long_running_agents.store.usage import UsageTotal


session_argument = click.argument("session_id", metavar="ID", callback=session_key)


@click.group(cls=CommandGroup)
def sessions() -> None:
    """List, show, rename, fork, export, import, delete sessions."""


@sessions.subcommand("list", json=True)
@click.option("--search", default="", help="Only sessions in which this was said.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@choice_option("--origin", ["own", "openai", "mcp", "all"], "Your own, or those of other programs.")
def list_sessions(options: Options, search: str, limit: int, origin: str, as_json: bool) -> None:
    """List sessions, the latest first."""
    from long_running_agents.domain.session import SessionOrigin

    only = None if origin == "all" else SessionOrigin(origin)
    print_list(
        with_sessions(
            options,
            lambda service: service.previews(limit=limit, search=search, origin=only),
            empty=(),
        ),
        "id, updated, turns, title, last words",
        attrgetter("session.id", "session.updated_at", "turns", "session.title", "last_words"),
        as_json=as_json,
        nothing="No session says that." if search else "No sessions yet: 'lra chat' begins one.",
    )


@sessions.subcommand(json=True)
@session_argument
def show(options: Options, session_id: SessionId, as_json: bool) -> None:
    """Show a session's turns and tasks."""

    async def work(service: "SessionService") -> "tuple[Session, Sequence[Turn], Sequence[Task]]":
        key = session_id
        return await service.get(key), await service.turns(key), await service.tasks(key)

    session, turns, tasks = with_sessions(options, work)
    if as_json:
        print_json({"session": session, "turns": turns, "tasks": tasks})
        return
    from long_running_agents.domain.task import outline

    click.echo(click.style(shown(session.title), bold=True))
    click.echo(dim(f"{session.id}, begun {moment(session.created_at)}"))
    if session.forked_from:
        click.echo(dim(f"forked from {session.forked_from}"))
    for turn in turns:
        click.echo(f"\n{dim(f'{turn.number}. {turn.id} {turn.status}')}")
        click.echo(f"{click.style('you:', bold=True)} {shown(turn.prompt)}")
        if turn.answer:
            click.echo(shown(turn.answer))
        if turn.error:
            click.echo(dim(shown(turn.error)))
    if tasks:
        click.echo(f"\n{shown(outline(tasks))}")


@sessions.subcommand()
@session_argument
@click.argument("title")
def rename(options: Options, session_id: SessionId, title: str) -> None:
    """Give a session another title."""
    changing_sessions(options, lambda service: service.rename(session_id, title))
    note(f"{session_id} is now {title.strip()!r}.")


@sessions.subcommand(json=True)
@session_argument
@click.option("--at", metavar="TURN", help="The last turn to copy; the newest unless given.")
def fork(options: Options, session_id: SessionId, at: str | None, as_json: bool) -> None:
    """Begin a new session with a copy of an old one."""
    turn = None if at is None else TurnId(at)
    session = changing_sessions(options, lambda service: service.fork(session_id, at=turn))
    print_either(session, as_json, _print_new)


def _print_new(session: "Session") -> None:
    click.echo(session.id)
    note(f"'lra chat --session {session.id}' goes on there.")


@sessions.subcommand()
@session_argument
@choice_option("--format", ["md", "jsonl"], "Markdown for people, JSON Lines without loss.", "form")
@output_option
def export(
    options: Options, session_id: SessionId, form: Literal["md", "jsonl"], output: Path | None
) -> None:
    """Write a session out as text."""
    text = with_sessions(options, lambda service: service.export(session_id, form))
    if output is None:
        click.echo(text, nl=False)
        return
    with private_file(output) as file:
        file.write(text)
    note(f"Written to {output}.")


@sessions.subcommand("import", json=True)
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def import_session(options: Options, path: Path, as_json: bool) -> None:
    """Take over a session that 'export --format jsonl' wrote; its calls are never run again."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}.", hint="Name a file of UTF-8 text."
        ) from error

    session = changing_sessions(options, lambda service: service.take_over(text))
    print_either(session, as_json, _print_new)


@sessions.subcommand()
@session_argument
@click.option("--yes", is_flag=True, help="Do it.")
def delete(options: Options, session_id: SessionId, yes: bool) -> None:
    """Delete a session with everything in it."""
    if not yes:
        raise UsageError(
            f"Deleting {session_id!r} cannot be undone.",
            hint="Add --yes to do it; 'lra sessions export' keeps a copy.",
        )
    changing_sessions(options, lambda service: service.delete(session_id))
    note(f"{session_id} is deleted.")


@click.group(cls=CommandGroup)
def tasks() -> None:
    """Show a session's tasks."""


@tasks.subcommand("list", json=True)
@session_option("The newest session unless given.")
def list_tasks(options: Options, session: SessionId | None, as_json: bool) -> None:
    """List a session's tasks as a tree."""
    from long_running_agents.domain.task import outline, summary

    async def work(service: "SessionService") -> "Sequence[Task]":
        newest = None if session else await service.newest()
        key = newest.id if newest else session
        return [] if key is None else await service.tasks(key)

    found = with_sessions(options, work)
    if as_json:
        print_json(found)
    elif not found:
        note("No tasks.")
    else:
        click.echo(shown(outline(found)))
        note(summary(found))


@command(json=True)
@choice_option("--range", ["today", "7d", "30d", "all"], "Calendar days, today included.", "wanted")
@click.option("--tz", metavar="ZONE", help="Where days begin; this machine's zone unless given.")
def usage(options: Options, wanted: str, tz: str | None, as_json: bool) -> None:
    """Say what was spent: requests, tokens and money, by model, by day and by session."""
    from long_running_agents.domain import ids

    zone = None if tz is None else ids.zone_of(tz)
    owner = options.load().settings.owner

    def work(database: "Database") -> "Awaitable[Spending]":
        from long_running_agents.agent.sessions import UsageService

        return UsageService(database, SystemClock(), owner).spent(ids.DayRange(wanted), zone)

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


def _row(what: str, which: str, total: "UsageTotal") -> list[str]:
    cost = "unknown" if total.cost is None else f"${total.cost:.4f}"
    numbers = (total.requests, total.input_tokens, total.output_tokens)
    return [what, which, *(f"{number:,}" for number in numbers), cost]
