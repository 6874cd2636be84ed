"""`lra memory forget` and `undo`."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.memories import cells, number_of
from long_running_agents.cli.moments import moment_of
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import json_option, moment, note, print_json, print_table
from long_running_agents.cli.reading import changing_memories, with_memories
from long_running_agents.errors import NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from long_running_agents.cli.desk import MemoryDesk
    from long_running_agents.domain.memory import Forgetting, Memory, Selection, Viewer
    from long_running_agents.memory.memories import Memories

Batch = tuple[str, int, "datetime", "datetime"]
"""What was forgotten together: its name, how much, when, and until when it can be undone."""


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--query", metavar="WORDS", help="Every memory that has all of these words.")
@click.option("-s", "--session", metavar="ID", help="What was heard in this session.")
@click.option("--source", help="What came from here, such as 'web:…' or 'import:…'.")
@click.option("--before", metavar="WHEN", help="What is older: 90d, or 2025-01-01.")
@click.option("--now", "at_once", is_flag=True, help="For good: it cannot be undone.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@json_option
@pass_options
def forget(
    options: Options,
    ids: tuple[str, ...],
    at_once: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **named: str | None,
) -> None:
    """Forget memories with everything derived from them; conditions narrow each other.

    What would go is shown first. For 30 days it can be undone, unless --now is given. Sessions
    keep their words: 'lra sessions delete' removes those.
    """
    meant = with_memories(options, lambda memories, viewer: _meant(memories, viewer, ids, named))
    if not meant.memories:
        if as_json:
            print_json(meant)
        note("Nothing like that is remembered.")
        return
    if as_json and dry_run:
        print_json(meant)
    elif not as_json:
        _print(meant)
    if dry_run or not (yes or _agreed(meant, at_once=at_once)):
        note("Nothing was forgotten.")
        return
    gone = changing_memories(
        options, lambda memories, viewer: _forget(memories, viewer, meant, at_once)
    )
    if as_json:
        print_json(gone)
    again = "It cannot be undone." if gone.batch is None else _undo_hint(options, gone.batch)
    note(f"Forgot {_count(len(gone.memories))}. {again}")


async def _meant(
    memories: "Memories",
    viewer: "Viewer",
    ids: tuple[str, ...],
    named: dict[str, str | None],
) -> "Forgetting":
    """What would be forgotten."""
    from long_running_agents.domain.ids import session_id
    from long_running_agents.domain.memory import Selection
    from long_running_agents.memory.narrowing import narrowed

    numbers = frozenset(number_of(text) for text in ids)
    session, before, query = named["session"], named["before"], named["query"]
    selection = Selection(
        ids=numbers or None,
        session_id=None if session is None else session_id(session),
        source=named["source"],
        before=None if before is None else moment_of(before, memories.clock.now()),
    )
    if numbers:
        await _expect(memories, viewer, selection)
    if query is not None:
        selection = await narrowed(memories.database, viewer.owner, selection, query)
    return await memories.would_forget(viewer.owner, selection)


async def _expect(memories: "Memories", viewer: "Viewer", selection: "Selection") -> None:
    """Refuse numbers that are not there: one of them may be mistyped."""
    known = await memories.would_forget(viewer.owner, type(selection)(ids=selection.ids))
    unknown = sorted((selection.ids or frozenset()) - {memory.id for memory in known.memories})
    if unknown:
        raise NotFound(
            f"No memory {', '.join(f'#{number}' for number in unknown)}.",
            hint="'lra memory list' shows what there is; nothing was forgotten.",
        )


async def _forget(
    memories: "MemoryDesk", viewer: "Viewer", meant: "Forgetting", at_once: bool
) -> "Forgetting":
    """Forget what was shown, and not what has come to be like it meanwhile."""
    from long_running_agents.domain.memory import Selection

    shown = Selection(ids=frozenset(memory.id for memory in meant.memories))
    gone = await memories.forget(viewer.owner, shown, at_once=at_once)
    return replace(gone, derived=meant.derived)


def _print(meant: "Forgetting") -> None:
    rows = [
        [*cells(memory)[:-1], "derived" if memory.id in meant.derived else "", memory.content]
        for memory in meant.memories
    ]
    print_table(["id", "kind", "said", "day", "why", "text"], rows)


def _agreed(meant: "Forgetting", *, at_once: bool) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            f"This would forget {_count(len(meant.memories))}, and nobody is there to be asked.",
            hint="Add --yes to do it.",
        )
    how = "for good" if at_once else "for now; it can be undone for 30 days"
    return click.confirm(f"Forget {_count(len(meant.memories))} {how}?", err=True)


def _count(number: int) -> str:
    return "1 memory" if number == 1 else f"{number:,} memories"


def _undo_hint(options: Options, batch: str) -> str:
    owner = "" if options.owner is None else f"--owner {options.owner} "
    return f"'lra memory {owner}undo {batch}' brings it back."


@click.command()
@click.argument("batch", required=False)
@json_option
@pass_options
def undo(options: Options, batch: str | None, as_json: bool) -> None:
    """Bring back what was forgotten; without BATCH, list what can be brought back."""
    if batch is None:
        _print_batches(with_memories(options, _batches), as_json)
        return

    async def work(memories: "MemoryDesk", viewer: "Viewer") -> "list[Memory]":
        return await memories.undo(viewer.owner, batch)

    back = changing_memories(options, work)
    if as_json:
        print_json(back)
    else:
        print_table(["id", "kind", "said", "day", "text"], [cells(memory) for memory in back])
    note(f"Remembered again: {_count(len(back))}.")


async def _batches(memories: "Memories", viewer: "Viewer") -> list[Batch]:
    from long_running_agents.store import memory_trash

    now = memories.clock.now()
    return await memories.database.read(lambda tx: memory_trash.batches(tx, viewer.owner, now))


def _print_batches(found: "Sequence[Batch]", as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {"batch": name, "memories": count, "forgotten_at": at, "until": until}
                for name, count, at, until in found
            ]
        )
    elif not found:
        note("Nothing can be undone.")
    else:
        print_table(
            ["batch", "memories", "forgotten", "until"],
            [[name, str(count), moment(at), moment(until)] for name, count, at, until in found],
        )
