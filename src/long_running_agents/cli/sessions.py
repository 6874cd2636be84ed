"""`lra sessions`: list, show, rename, fork, export, import, delete."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import (
    dim,
    json_option,
    moment,
    note,
    print_json,
    print_table,
    shown,
)
from long_running_agents.cli.reading import changing_sessions, has_database, with_sessions
from long_running_agents.errors import StorageFailed, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.agent.sessions import SessionService
    from long_running_agents.cli.desk import SessionDesk
    from long_running_agents.domain.ids import SessionId
    from long_running_agents.domain.session import Session, SessionPreview
    from long_running_agents.domain.task import Task
    from long_running_agents.domain.turn import Turn


@click.group()
def sessions() -> None:
    """List, show, rename, fork, export, import, delete sessions."""


@sessions.command("list")
@click.option("--search", default="", help="Only sessions in which this was said.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@json_option
@pass_options
def list_sessions(options: Options, search: str, limit: int, as_json: bool) -> None:
    """List sessions, the latest first."""

    async def work(service: "SessionService") -> "Sequence[SessionPreview]":
        return await service.previews(limit=limit, search=search)

    # A home without a database has no sessions; that is an answer, not a failure.
    found = with_sessions(options, work) if has_database(options) else ()
    if as_json:
        print_json(found)
    elif not found:
        note("No session says that." if search else "No sessions yet: 'lra chat' begins one.")
    else:
        print_table(
            ["id", "updated", "turns", "title", "last words"],
            [
                [
                    preview.session.id,
                    moment(preview.session.updated_at),
                    str(preview.turns),
                    preview.session.title,
                    preview.last_words,
                ]
                for preview in found
            ],
        )


@sessions.command()
@click.argument("session_id", metavar="ID")
@json_option
@pass_options
def show(options: Options, session_id: str, as_json: bool) -> None:
    """Show a session's turns and tasks."""

    async def work(
        service: "SessionService",
    ) -> "tuple[Session, Sequence[Turn], Sequence[Task]]":
        key = _id(session_id)
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


@sessions.command()
@click.argument("session_id", metavar="ID")
@click.argument("title")
@pass_options
def rename(options: Options, session_id: str, title: str) -> None:
    """Give a session another title."""

    async def work(service: "SessionDesk") -> None:
        await service.rename(_id(session_id), title)

    changing_sessions(options, work)
    note(f"{session_id} is now {title.strip()!r}.")


@sessions.command()
@click.argument("session_id", metavar="ID")
@click.option("--at", metavar="TURN", help="The last turn to copy; the newest unless given.")
@json_option
@pass_options
def fork(options: Options, session_id: str, at: str | None, as_json: bool) -> None:
    """Begin a new session with a copy of an old one."""
    from long_running_agents.domain.ids import TurnId

    async def work(service: "SessionDesk") -> "Session":
        return await service.fork(_id(session_id), at=None if at is None else TurnId(at))

    session = changing_sessions(options, work)
    if as_json:
        print_json(session)
    else:
        click.echo(session.id)
        note(f"'lra chat --session {session.id}' goes on there.")


@sessions.command()
@click.argument("session_id", metavar="ID")
@click.option(
    "--format",
    "form",
    type=click.Choice(["md", "jsonl"]),
    default="md",
    show_default=True,
    help="Markdown for people, JSON Lines without loss.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file."
)
@pass_options
def export(
    options: Options, session_id: str, form: Literal["md", "jsonl"], output: Path | None
) -> None:
    """Write a session out as text."""

    async def work(service: "SessionService") -> str:
        return await service.export(_id(session_id), form)

    text = with_sessions(options, work)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageFailed(
            f"{output} cannot be written: {error.strerror}.", hint="Choose another file."
        ) from error
    note(f"Written to {output}.")


@sessions.command("import")
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@json_option
@pass_options
def import_session(options: Options, path: Path, as_json: bool) -> None:
    """Take over a session that 'export --format jsonl' wrote; its calls are never run again."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}.", hint="Name a file of UTF-8 text."
        ) from error

    session = changing_sessions(options, lambda desk: desk.take_over(text))
    if as_json:
        print_json(session)
    else:
        click.echo(session.id)
        note(f"'lra chat --session {session.id}' goes on there.")


@sessions.command()
@click.argument("session_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do it.")
@pass_options
def delete(options: Options, session_id: str, yes: bool) -> None:
    """Delete a session with everything in it."""
    if not yes:
        raise UsageError(
            f"Deleting {session_id!r} cannot be undone.",
            hint="Add --yes to do it; 'lra sessions export' keeps a copy.",
        )

    async def work(service: "SessionDesk") -> None:
        await service.delete(_id(session_id))

    changing_sessions(options, work)
    note(f"{session_id} is deleted.")


def _id(text: str) -> "SessionId":
    from long_running_agents.domain.ids import session_id

    return session_id(text)
