"""`lra memory`: search, list, write, correct, forget, export and import what is remembered."""

import asyncio
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from long_running_agents.cli.access import changing_memories, has_database, viewer_of, with_memories
from long_running_agents.cli.main import FAILED, OK, CommandGroup, Options
from long_running_agents.cli.output import (
    cells,
    choice_option,
    confirmed,
    dim,
    moment,
    moment_of,
    note,
    number_of,
    output_option,
    plain,
    print_either,
    print_json,
    print_list,
    print_table,
    private_file,
    safe,
    said_by,
    session_option,
    shown,
    yes_option,
)
from long_running_agents.clock import SystemClock
from long_running_agents.errors import Denied, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from datetime import datetime

    from long_running_agents.api import MemoryApi
    from long_running_agents.domain.memory import (
        Forgetting,
        Hit,
        Memory,
        MemoryId,
        MemoryResults,
        Query,
        Viewer,
        Written,
    )
    from long_running_agents.memory.service import MemoryDetail, MemoryService, Stats
    from long_running_agents.memory.transfer import Imported
    from long_running_agents.memory.vectors import Progress


KINDS = ("conversation", "fact", "lesson", "summary", "note", "task")
"""The kinds of memories, for help that loads nothing."""
SCOPES = ("user", "agent", "session")
"""Who can see a memory, for help that loads nothing."""
FORMS = ("export", "lines", "notes")
"""What can be imported, for help that loads nothing."""

_TITLES = "id, kind, said, day, text"
_REASONS = 10
_NOTHING = "Nothing is remembered yet: 'lra chat' and 'lra memory add' begin it."

kind_option = click.option("--kind", type=click.Choice(KINDS), help="Only memories of this kind.")
source_option = click.option("--source", help="Only what came from here, such as 'web:…'.")
heard_option = session_option("Only what was heard in this session.")


def _number(_: click.Context, __: click.Parameter, text: str | None) -> "MemoryId | None":
    return None if text is None else number_of(text)


number_argument = click.argument("number", metavar="ID", callback=_number)


@click.group(cls=CommandGroup)
@click.option("--owner", metavar="NAME", help="Whose memories; the setting 'owner' unless given.")
@click.pass_context
def memory(context: click.Context, owner: str | None) -> None:
    """Search, list, correct and forget what is remembered."""
    context.obj = replace(context.ensure_object(Options), owner=owner)


def _print_memories(found: "Sequence[Memory]", *, as_json: bool = False) -> None:
    print_list(found, _TITLES, cells, as_json=as_json)


def _print_found(found: "MemoryResults", *, why: bool, as_json: bool) -> None:
    """Print what a search found, with its reasons if they are wanted."""
    if as_json:
        print_json(found)
        return
    if not found.hits:
        note("Nothing that is remembered answers this.")
    elif why and sys.stdout.isatty():
        rows = [(cells(hit.memory), ("", "", "", "", _reasons(hit))) for hit in found.hits]
        print_list([row for pair in rows for row in pair], _TITLES, lambda row: row)
    elif why:
        print_list(found.hits, f"{_TITLES}, why", lambda hit: (*cells(hit.memory), _reasons(hit)))
    else:
        _print_memories([hit.memory for hit in found.hits])
    if found.degraded:
        note(f"Only a part was searched: {found.degraded}.")


def _reasons(hit: "Hit") -> str:
    """Why a memory was found: its score, and what each part of the search gave it."""
    parts = sorted(hit.why.items(), key=lambda part: -part[1])
    return ", ".join([f"score {hit.score:.2f}", *(f"{name} {given:.2f}" for name, given in parts)])


def _print_shown(found: "MemoryDetail") -> None:
    memory = found.memory
    who = said_by(memory.trust, memory.actor)
    head = f"#{memory.id} {memory.kind}, said by {who}, {moment(memory.event_at)}"
    click.echo(click.style(shown(head), bold=True))
    click.echo(f"{shown(memory.content)}\n")
    for name, value in _facts(memory):
        click.echo(f"{dim(f'{name:<9}')} {shown(value)}")
    for title, related in (
        ("It replaced", found.history),
        ("It was derived from", found.origins),
        ("Derived from it", found.derived),
    ):
        if related:
            click.echo(f"\n{dim(title)}")
            for each in related:
                click.echo(shown("  ".join(" ".join(cell.split()) for cell in cells(each))))


def _facts(memory: "Memory") -> list[tuple[str, str]]:
    facts = [
        ("scope", memory.scope if memory.agent is None else f"{memory.scope} ({memory.agent})"),
        ("source", memory.source),
        ("recorded", moment(memory.recorded_at)),
    ]
    if memory.session_id is not None:
        turn = "" if memory.turn_id is None else f", {memory.turn_id}"
        facts.append(("session", f"{memory.session_id}{turn}"))
    if memory.valid_to is not None:
        by = "" if memory.superseded_by is None else f", replaced by #{memory.superseded_by}"
        facts.append(("valid", f"until {moment(memory.valid_to)}{by}"))
    if memory.expires_at is not None:
        facts.append(("expires", moment(memory.expires_at)))
    if not memory.enabled:
        facts.append(("in use", f"no: 'lra memory enable {memory.id}' switches it on"))
    if memory.seen > 1:
        facts.append(("said", f"{memory.seen} times"))
    return facts


@memory.subcommand(json=True)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--query", metavar="WORDS", help="Every memory that has all of these words.")
@session_option("What was heard in this session.")
@click.option("--source", help="What came from here, such as 'web:…' or 'import:…'.")
@click.option("--before", metavar="WHEN", help="What is older: 90d, or 2025-01-01.")
@click.option("--now", "at_once", is_flag=True, help="For good: it cannot be undone.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@yes_option
def forget(
    options: Options,
    ids: tuple[str, ...],
    at_once: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **named: Any,
) -> None:
    """Forget memories with everything derived from them; conditions narrow each other.

    What would go is shown first. For 30 days it can be undone, unless --now is given. Sessions
    keep their words: 'lra sessions delete' removes those.
    """
    from long_running_agents.domain.memory import Selection

    meant = with_memories(
        options, lambda memories, viewer: _meant(memories, viewer.owner, ids, named)
    )
    if not meant.memories:
        if as_json:
            print_json(meant)
        note("Nothing like that is remembered.")
        return
    if as_json and dry_run:
        print_json(meant)
    elif not as_json:
        derived = {memory.id: "derived" for memory in meant.memories if memory.id in meant.derived}
        print_list(
            meant.memories,
            "id, kind, said, day, why, text",
            lambda memory: (*cells(memory)[:-1], derived.get(memory.id, ""), memory.content),
        )
    count = _count(len(meant.memories))
    how = "for good" if at_once else "for now; it can be undone for 30 days"
    unheard = f"This would forget {count}, and nobody can confirm it."
    if dry_run or not (yes or confirmed(f"Forget {count} {how}?", unheard)):
        note("Nothing was forgotten.")
        return
    # What was shown, and not what has come to be like it meanwhile.
    shown = Selection(ids=frozenset(memory.id for memory in meant.memories))
    gone = changing_memories(
        options, lambda memories, viewer: memories.forget(viewer.owner, shown, at_once=at_once)
    )
    if as_json:
        print_json(replace(gone, derived=meant.derived))
    owner = "" if options.owner is None else f"--owner {options.owner} "
    undo = f"'lra memory {owner}undo {gone.batch}' brings it back."
    again = "It cannot be undone." if gone.batch is None else undo
    note(f"Forgot {_count(len(gone.memories))}. {again}")


async def _meant(
    memories: "MemoryService", owner: str, ids: tuple[str, ...], named: dict[str, Any]
) -> "Forgetting":
    from long_running_agents.domain.memory import Selection
    from long_running_agents.memory.search import narrowed

    numbers = frozenset(number_of(text) for text in ids)
    before, query = named["before"], named["query"]
    selection = Selection(
        ids=numbers or None,
        session_id=named["session"],
        source=named["source"],
        before=None if before is None else moment_of(before, memories.clock.now()),
    )
    # One of them may be mistyped.
    known = await memories.would_forget(owner, Selection(ids=numbers)) if numbers else None
    if known and (unknown := sorted(numbers - {memory.id for memory in known.memories})):
        raise NotFound(
            f"No memory {', '.join(f'#{number}' for number in unknown)}.",
            hint="'lra memory list' shows what there is; nothing was forgotten.",
        )
    if query is not None:
        selection = await narrowed(memories.database, owner, selection, query)
    return await memories.would_forget(owner, selection)


def _count(number: int) -> str:
    return "1 memory" if number == 1 else f"{number:,} memories"


@memory.subcommand(json=True)
@click.argument("batch", required=False)
def undo(options: Options, batch: str | None, as_json: bool) -> None:
    """Bring back what was forgotten; without BATCH, list what can be brought back."""
    if batch is None:
        print_list(
            with_memories(options, _batches),
            "batch, memories, forgotten, until",
            lambda each: tuple(each.values()),
            as_json=as_json,
            nothing="Nothing can be undone.",
        )
        return
    back = changing_memories(options, lambda memories, viewer: memories.undo(viewer.owner, batch))
    _print_memories(back, as_json=as_json)
    note(f"Remembered again: {_count(len(back))}.")


async def _batches(memories: "MemoryService", viewer: "Viewer") -> list[dict[str, Any]]:
    from long_running_agents.store import memory_trash

    now = memories.clock.now()
    found = await memories.database.read(lambda tx: memory_trash.batches(tx, viewer.owner, now))
    names = ("batch", "memories", "forgotten_at", "until")
    return [dict(zip(names, each, strict=True)) for each in found]


@memory.subcommand(json=True)
@click.argument("words", nargs=-1, metavar="[QUERY]")
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@kind_option
@heard_option
@click.option("--since", metavar="WHEN", help="Only what happened from then on.")
@click.option("--until", metavar="WHEN", help="Only what happened up to then.")
@click.option("--as-of", metavar="WHEN", help="What was known then, instead of now.")
@click.option("--actor", help="Only words or deeds of this person.")
@source_option
@choice_option("--fusion", ["weights", "rrf"], "How the parts of the search are put together.")
@click.option("--disabled", is_flag=True, help="Also what is switched off.")
@click.option("--why", is_flag=True, help="Show what each part of the search gave.")
def search(
    options: Options,
    words: tuple[str, ...],
    limit: int,
    disabled: bool,
    why: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Search what is remembered; without a query, one for each line of the input.

    WHEN is a day such as 2025-01-31, a time such as 2025-01-31T12:00, or an age such as 90d.
    """
    queries = [" ".join(words)] if words else _lines()
    blank = replace(_query(limit, filters), disabled=disabled)
    if not has_database(options):
        from long_running_agents.domain.memory import MemoryResults

        answers = (MemoryResults() for _ in queries)
    else:
        answers = _answers(options, queries, blank)
    for found in answers:
        _print_found(found, why=why, as_json=as_json)


def _answers(
    options: Options, queries: "Iterator[str] | list[str]", blank: "Query"
) -> Iterator["MemoryResults"]:
    """Open the home once, and search it for each query."""
    from long_running_agents.memory.factory import open_memories

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

    def line() -> str:
        if asks:
            click.echo("search> ", nl=False, err=True)
        return sys.stdin.readline()

    return filter(None, map(str.strip, iter(line, "")))


def _query(limit: int, filters: dict[str, Any]) -> "Query":
    from long_running_agents.domain.memory import MemoryKind, Query

    now = SystemClock().now()

    def at(name: str, *, end: bool = False) -> "datetime | None":
        given = filters[name]
        return None if given is None else moment_of(given, now, end=end)

    kind = filters["kind"]
    return Query(
        text="",
        limit=limit,
        kinds=frozenset[MemoryKind]() if kind is None else frozenset({MemoryKind(kind)}),
        session_id=filters["session"],
        actor=filters["actor"],
        source=filters["source"],
        since=at("since"),
        until=at("until", end=True),
        as_of=at("as_of", end=True),
        fusion=filters["fusion"],
    )


@memory.subcommand("list", json=True)
@kind_option
@heard_option
@source_option
@click.option("--history", is_flag=True, help="Also what newer memories have replaced.")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@click.option("--offset", type=click.IntRange(min=0), default=0, help="How many to leave out.")
def list_memories(
    options: Options, history: bool, limit: int, offset: int, as_json: bool, **filters: Any
) -> None:
    """List what is remembered, the latest first."""
    from long_running_agents.domain.memory import MemoryKind, Selection

    kind, session = filters["kind"], filters["session"]
    selection = Selection(
        session_id=session,
        source=filters["source"],
        kind=None if kind is None else MemoryKind(kind),
    )

    def work(memories: "MemoryService", viewer: "Viewer") -> "Awaitable[list[Memory]]":
        seer = replace(viewer, session_id=session)
        return memories.listed(seer, selection, history=history, limit=limit, offset=offset)

    found = with_memories(options, work) if has_database(options) else []
    if not found and not as_json:
        note(_NOTHING if selection.empty and not offset else "Nothing of that is remembered.")
    else:
        _print_memories(found, as_json=as_json)


@memory.subcommand(json=True)
@number_argument
def show(options: Options, number: "MemoryId", as_json: bool) -> None:
    """Show one memory: where it came from, what it replaced, what was derived from it."""
    found = with_memories(options, lambda memories, viewer: memories.show(viewer.owner, number))
    print_either(found, as_json, _print_shown)


@memory.subcommand(json=True)
def stats(options: Options, as_json: bool) -> None:
    """Say how much is remembered, and how much of it is found by meaning."""

    async def work(memories: "MemoryService", viewer: "Viewer") -> "tuple[Stats, str | None]":
        space = None if memories.embedder is None else memories.embedder.space
        return await memories.stats(viewer.owner), space

    found, space = with_memories(options, work)
    if as_json:
        print_json({"embedder": space, **plain(found)})
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


_WRITTEN_KINDS = tuple(kind for kind in KINDS if kind != "conversation")


@memory.subcommand(json=True)
@click.argument("text")
@choice_option("--kind", _WRITTEN_KINDS, "What sort of thing it is.")
@choice_option(
    "--scope", SCOPES, "Who shall see it: every session, only this agent, or only one session."
)
@session_option("The session, for --scope session.")
@click.option(
    "--supersedes", metavar="ID", callback=_number, help="The memory that it corrects or replaces."
)
@click.option("--keep-both", is_flag=True, help="Write it although something similar is known.")
def add(
    options: Options,
    text: str,
    supersedes: "MemoryId | None",
    keep_both: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Remember something; exit 1 if it is similar to what is known, 4 if it is refused."""
    from long_running_agents.domain.memory import MemoryDraft, MemoryKind, MemoryScope

    if (chosen["scope"] == "session") != (chosen["session"] is not None):
        raise UsageError(
            "A session and the scope of a session go together:",
            hint="write '--scope session --session ID', or neither.",
        )
    scope = MemoryScope(chosen["scope"])
    session = chosen["session"]

    def work(memories: "MemoryApi", viewer: "Viewer") -> "Awaitable[Written]":
        agent = viewer.agent if scope is MemoryScope.AGENT else None
        kind = MemoryKind(chosen["kind"])
        draft = MemoryDraft(content=text, kind=kind, scope=scope, agent=agent, session_id=session)
        seer = replace(viewer, session_id=session)
        return memories.write(seer, draft, supersedes=supersedes, keep_both=keep_both)

    written = changing_memories(options, work)
    return _tell(written, as_json, _retyped(options, text, chosen))


def _retyped(options: Options, text: str, chosen: dict[str, Any]) -> str:
    """The command as it was typed, so that it can be typed again with a decision."""
    owner = [] if options.owner is None else ["--owner", options.owner]
    usual = {"kind": "fact", "scope": "user"}
    given = [
        part
        for name, value in chosen.items()
        if value is not None and value != usual.get(name)
        for part in (f"--{name}", value)
    ]
    return shlex.join(["lra", "memory", *owner, "add", text, *given])


def _tell(written: "Written", as_json: bool, command: str = "lra memory add …") -> int:
    from long_running_agents.domain.memory import Merged, Refused, Similar, Stored

    if isinstance(written, Refused):
        raise Denied(f"Not written: {written.reason}.")
    if as_json:
        print_json({"status": type(written).__name__.lower(), **plain(written)})
    match written:
        case Stored(memory, old):
            replaced = "" if old is None else f" It replaces #{old.id}, which is kept as history."
            _say(f"#{memory.id}", f"Remembered.{replaced}", as_json)
        case Merged(memory):
            _say(f"#{memory.id}", "Known already.", as_json)
        case Similar(known):
            if not as_json:
                _print_memories(known)
            note("Not written: it is similar to what is known. Type one of these, or let it be:")
            ways = {f"--supersedes {each.id}": f"it replaces #{each.id}" for each in known}
            for flag, meaning in {**ways, "--keep-both": "both are true"}.items():
                click.echo(f"  {safe(f'{command} {flag}')}  {dim(meaning)}", err=True)
            return FAILED
    return OK


def _say(number: str, text: str, as_json: bool) -> None:
    if not as_json:
        click.echo(number)
        note(text)


@memory.subcommand(json=True)
@number_argument
@click.argument("text")
def correct(options: Options, number: "MemoryId", text: str, as_json: bool) -> int:
    """Say what is true instead of a memory; the old wording is kept as history."""
    written = changing_memories(
        options, lambda memories, viewer: memories.correct(viewer, number, text)
    )
    return _tell(written, as_json)


@memory.subcommand(json=True)
@number_argument
def disable(options: Options, number: "MemoryId", as_json: bool) -> None:
    """Switch a memory off: it is kept, and neither search nor recall finds it."""
    _switch(options, number, as_json, enabled=False)


@memory.subcommand(json=True)
@number_argument
def enable(options: Options, number: "MemoryId", as_json: bool) -> None:
    """Switch a memory on again."""
    _switch(options, number, as_json, enabled=True)


def _switch(options: Options, number: "MemoryId", as_json: bool, *, enabled: bool) -> None:
    memory = changing_memories(
        options, lambda memories, viewer: memories.switch(viewer, number, enabled=enabled)
    )
    if as_json:
        print_json(memory)
    again = f"'lra memory enable {memory.id}' brings it back."
    state = "It is in use." if memory.enabled else f"It is kept, and nothing finds it: {again}"
    _say(f"#{memory.id}", state, as_json)


@memory.subcommand()
def reindex(options: Options) -> None:
    """Make the index of words again, and the vectors that are missing."""

    async def work(memories: "MemoryService", viewer: "Viewer") -> tuple[str, int]:
        with click.progressbar(length=1, label="embedding", file=sys.stderr) as bar:

            def tell(progress: "Progress") -> None:
                bar.length = max(1, progress.done + progress.left)
                bar.update(progress.done - bar.pos)

            missing = await memories.reindex(tell)
            bar.update((bar.length or 1) - bar.pos)
        return missing, sum((await memories.stats(viewer.owner)).counts.values())

    missing, count = with_memories(options, work, writes=True)
    click.echo(f"{count:,} memories are indexed.")
    if missing:
        note(f"They are found by words only: {missing}.")


@memory.subcommand()
@output_option
def export(options: Options, output: Path | None) -> None:
    """Write everything that is remembered as JSON, one memory a line."""

    async def work(memories: "MemoryService", viewer: "Viewer") -> int:
        from long_running_agents.memory.transfer import export_lines

        count = 0
        with nullcontext(sys.stdout) if output is None else private_file(output) as file:
            async for line in export_lines(memories, viewer.owner):
                file.write(f"{line}\n")
                count += 1
        return count

    count = with_memories(options, work)
    if output is not None:
        note(f"Written to {output}: {count:,}.")


@memory.subcommand("import", json=True)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--form", type=click.Choice(FORMS), help="What it is; found out unless given.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
def import_memories(
    options: Options, path: Path, form: str | None, dry_run: bool, as_json: bool
) -> None:
    """Take over the memories of a file: an export, plain JSON lines, Markdown notes."""
    from long_running_agents.memory.transfer import Format, import_file

    chosen = None if form is None else Format(form)

    def work(memories: "MemoryService", viewer: "Viewer") -> "Awaitable[Imported]":
        return import_file(memories, viewer.owner, path, form=chosen, rehearse=dry_run)

    done = with_memories(options, work, writes=True)
    if as_json:
        print_json(done)
        return
    would = "Would add" if dry_run else "Added"
    click.echo(
        f"{would} {done.added:,}, known already {done.merged:,}, refused {len(done.refused):,}."
    )
    for refusal in done.refused[:_REASONS]:
        note(f"  line {refusal.line}: {refusal.reason}")
    if len(done.refused) > _REASONS:
        note(f"  … and {len(done.refused) - _REASONS:,} more; --json shows them all")
