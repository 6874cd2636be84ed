"""`lra memory search`, `list`, `show`, `stats`: looking, beside whoever owns the home."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import click

from long_running_agents.cli.memories import (
    KINDS,
    number_of,
    print_found,
    print_memories,
    print_shown,
)
from long_running_agents.cli.moments import moment_of
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, note, print_json, print_table
from long_running_agents.cli.reading import has_database, viewer_of, with_memories

if TYPE_CHECKING:
    from datetime import datetime

    from long_running_agents.domain.ids import SessionId
    from long_running_agents.domain.memory import Found, Fusion, Memory, Query, Viewer
    from long_running_agents.memory.memories import Memories, Shown, Stats

_NOTHING = "Nothing is remembered yet: 'lra chat' and 'lra memory add' begin it."

kind_option = click.option("--kind", type=click.Choice(KINDS), help="Only memories of this kind.")
source_option = click.option("--source", help="Only what came from here, such as 'web:…'.")


@click.command()
@click.argument("words", nargs=-1, metavar="[QUERY]")
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@kind_option
@click.option("-s", "--session", metavar="ID", help="Only what was heard in this session.")
@click.option("--since", metavar="WHEN", help="Only what happened from then on.")
@click.option("--until", metavar="WHEN", help="Only what happened up to then.")
@click.option("--as-of", metavar="WHEN", help="What was known then, instead of now.")
@click.option("--actor", help="Only words or deeds of this person.")
@source_option
@click.option(
    "--fusion",
    type=click.Choice(["weights", "rrf"]),
    default="weights",
    show_default=True,
    help="How the parts of the search are put together.",
)
@click.option("--disabled", is_flag=True, help="Also what is switched off.")
@click.option("--why", is_flag=True, help="Show what each part of the search gave.")
@json_option
@pass_options
def search(
    options: Options,
    words: tuple[str, ...],
    limit: int,
    disabled: bool,
    why: bool,
    as_json: bool,
    **filters: str | None,
) -> None:
    """Search what is remembered; without a query, one for each line of the input.

    WHEN is a day such as 2025-01-31, a time such as 2025-01-31T12:00, or an age such as 90d.
    """
    queries = [" ".join(words)] if words else _lines()
    blank = replace(_query("", limit, filters), disabled=disabled)

    def tell(found: "Found") -> None:
        if as_json:
            print_json(found)
        else:
            print_found(found, why=why)

    if not has_database(options):
        from long_running_agents.domain.memory import Found

        for _ in queries:
            tell(Found())
        return
    for found in _answers(options, queries, blank):
        tell(found)


def _answers(
    options: Options, queries: "Iterator[str] | list[str]", blank: "Query"
) -> Iterator["Found"]:
    """Open the home once, and search it for each query."""
    from long_running_agents.memory.opening import open_memories

    loaded = options.load()
    viewer = replace(viewer_of(loaded), session_id=blank.session_id)
    stack = AsyncExitStack()
    with asyncio.Runner() as runner:
        memories = runner.run(stack.enter_async_context(open_memories(loaded, read_only=True)))
        try:
            for query in queries:
                yield runner.run(memories.find(viewer, replace(blank, text=query)))
        finally:
            runner.run(stack.aclose())


def _lines() -> Iterator[str]:
    """What is typed, until the end of the input."""
    asks = sys.stdin.isatty()
    while True:
        if asks:
            click.echo("search> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _query(text: str, limit: int, filters: dict[str, str | None]) -> "Query":
    from long_running_agents.clock import SystemClock
    from long_running_agents.domain.memory import Kind, Query

    now = SystemClock().now()

    def at(name: str, *, end: bool = False) -> "datetime | None":
        given = filters[name]
        return None if given is None else moment_of(given, now, end=end)

    kind = filters["kind"]
    return Query(
        text=text,
        limit=limit,
        kinds=frozenset[Kind]() if kind is None else frozenset({Kind(kind)}),
        session_id=_session(filters["session"]),
        actor=filters["actor"],
        source=filters["source"],
        since=at("since"),
        until=at("until", end=True),
        as_of=at("as_of", end=True),
        fusion=cast("Fusion", filters["fusion"]),
    )


def _session(text: str | None) -> "SessionId | None":
    from long_running_agents.domain.ids import session_id

    return None if text is None else session_id(text)


@click.command("list")
@kind_option
@click.option("-s", "--session", metavar="ID", help="Only what was heard in this session.")
@source_option
@click.option("--history", is_flag=True, help="Also what newer memories have replaced.")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@click.option("--offset", type=click.IntRange(min=0), default=0, help="How many to leave out.")
@json_option
@pass_options
def list_memories(
    options: Options,
    history: bool,
    limit: int,
    offset: int,
    as_json: bool,
    **filters: str | None,
) -> None:
    """List what is remembered, the latest first."""
    from long_running_agents.domain.memory import Kind, Selection

    kind, session = filters["kind"], _session(filters["session"])
    selection = Selection(
        session_id=session,
        source=filters["source"],
        kind=None if kind is None else Kind(kind),
    )

    async def work(memories: "Memories", viewer: "Viewer") -> "list[Memory]":
        seer = replace(viewer, session_id=session)
        return await memories.listed(seer, selection, history=history, limit=limit, offset=offset)

    found = with_memories(options, work) if has_database(options) else []
    if as_json:
        print_json(found)
    elif not found:
        note(_NOTHING if selection.empty and not offset else "Nothing of that is remembered.")
    else:
        print_memories(found)


@click.command()
@click.argument("number", metavar="ID")
@json_option
@pass_options
def show(options: Options, number: str, as_json: bool) -> None:
    """Show one memory: where it came from, what it replaced, what was derived from it."""
    key = number_of(number)

    async def work(memories: "Memories", viewer: "Viewer") -> "Shown":
        return await memories.show(viewer.owner, key)

    found = with_memories(options, work)
    if as_json:
        print_json(found)
    else:
        print_shown(found)


@click.command()
@json_option
@pass_options
def stats(options: Options, as_json: bool) -> None:
    """Say how much is remembered, and how much of it is found by meaning."""

    async def work(memories: "Memories", viewer: "Viewer") -> "tuple[Stats, str | None]":
        space = None if memories.embedder is None else memories.embedder.space
        return await memories.stats(viewer.owner), space

    found, space = with_memories(options, work)
    if as_json:
        print_json(
            {
                "embedder": space,
                "counts": found.counts,
                "spaces": found.spaces,
                "missing": found.missing,
                "trash": found.trash,
            }
        )
        return
    rows = [[kind, f"{found.counts[kind]:,}"] for kind in sorted(found.counts)]
    rows += [
        ["memories", f"{sum(found.counts.values()):,}"],
        ["embedder", space or "off: only words are compared"],
        *([f"vectors {name}", f"{count:,}"] for name, count in found.spaces.items()),
        ["vectors missing", f"{found.missing:,}"],
        ["forgotten, can be undone", f"{found.trash:,}"],
    ]
    print_table(["what", "how much"], rows)
