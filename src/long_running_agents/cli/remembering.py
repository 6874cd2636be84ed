"""`lra memory add`, `correct`, `disable` and the like: what a person does, as the home's owner."""

import shlex
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.failures import FAILED, OK
from long_running_agents.cli.memories import KINDS, SCOPES, number_of, print_memories
from long_running_agents.cli.options import Options, pass_options
from long_running_agents.cli.output import dim, json_option, note, print_json, safe
from long_running_agents.cli.reading import changing_memories, with_memories
from long_running_agents.errors import Denied, UsageError

if TYPE_CHECKING:
    from long_running_agents.cli.desk import MemoryDesk
    from long_running_agents.domain.memory import Draft, Memory, Scope, Viewer, Written
    from long_running_agents.memory.filling import Progress
    from long_running_agents.memory.memories import Memories

_WRITTEN_KINDS = tuple(kind for kind in KINDS if kind != "conversation")


@click.command()
@click.argument("text")
@click.option(
    "--kind",
    type=click.Choice(_WRITTEN_KINDS),
    default="fact",
    show_default=True,
    help="What sort of thing it is.",
)
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="user",
    show_default=True,
    help="Who shall see it: every session, only this agent, or only one session.",
)
@click.option("-s", "--session", metavar="ID", help="The session, for --scope session.")
@click.option("--supersedes", metavar="ID", help="The memory that it corrects or replaces.")
@click.option("--keep-both", is_flag=True, help="Write it although something similar is known.")
@json_option
@pass_options
def add(
    options: Options,
    text: str,
    supersedes: str | None,
    keep_both: bool,
    as_json: bool,
    **chosen: str | None,
) -> int:
    """Remember something; exit 1 if it is similar to what is known, 4 if it is refused."""
    from long_running_agents.domain.memory import Draft, Kind, Scope

    if (chosen["scope"] == "session") != (chosen["session"] is not None):
        raise UsageError(
            "A session and the scope of a session go together:",
            hint="write '--scope session --session ID', or neither.",
        )
    old = None if supersedes is None else number_of(supersedes)
    draft = Draft(content=text, kind=Kind(chosen["kind"]))
    scope = Scope(chosen["scope"])

    async def work(memories: "MemoryDesk", viewer: "Viewer") -> "Written":
        placed, seer = _placed(draft, scope, viewer, chosen["session"])
        return await memories.write(seer, placed, supersedes=old, keep_both=keep_both)

    written = changing_memories(options, work)
    return _tell(written, as_json, _Retry(_command(options, text, chosen)))


def _placed(
    draft: "Draft", scope: "Scope", viewer: "Viewer", session: str | None
) -> "tuple[Draft, Viewer]":
    """A draft in a scope, with the agent or session that this speaks of."""
    from long_running_agents.domain.ids import session_id
    from long_running_agents.domain.memory import Scope

    match scope:
        case Scope.AGENT:
            return replace(draft, scope=scope, agent=viewer.agent), viewer
        case Scope.SESSION if session is not None:
            key = session_id(session)
            placed = replace(draft, scope=scope, session_id=key)
            return placed, replace(viewer, session_id=key)
        case _:
            return draft, viewer


@dataclass(frozen=True, slots=True)
class _Retry:
    """The command as it was typed, so that it can be typed again with a decision."""

    command: str


def _command(options: Options, text: str, chosen: dict[str, str | None]) -> str:
    owner = [] if options.owner is None else ["--owner", options.owner]
    usual = {"kind": "fact", "scope": "user"}
    given = [
        part
        for name, value in chosen.items()
        if value is not None and value != usual.get(name)
        for part in (f"--{name}", value)
    ]
    return shlex.join(["lra", "memory", *owner, "add", text, *given])


def _tell(written: "Written", as_json: bool, retry: _Retry | None = None) -> int:
    from long_running_agents.domain.memory import Merged, Refused, Similar, Stored

    if isinstance(written, Refused):
        raise Denied(f"Not written: {written.reason}.")
    if as_json:
        print_json({"status": type(written).__name__.lower(), **_fields(written)})
    match written:
        case Stored(memory, old):
            replaced = "" if old is None else f" It replaces #{old.id}, which is kept as history."
            _say(f"#{memory.id}", f"Remembered.{replaced}", as_json)
        case Merged(memory):
            _say(f"#{memory.id}", "Known already.", as_json)
        case Similar(known):
            if not as_json:
                print_memories(known)
            note("Not written: it is similar to what is known. Type one of these, or let it be:")
            command = "lra memory add …" if retry is None else retry.command
            for memory in known:
                _advise(f"{command} --supersedes {memory.id}", f"it replaces #{memory.id}")
            _advise(f"{command} --keep-both", "both are true")
            return FAILED
    return OK


def _fields(written: "Written") -> dict[str, object]:
    return {name: getattr(written, name) for name in written.__slots__}


def _say(number: str, text: str, as_json: bool) -> None:
    if not as_json:
        click.echo(number)
        note(text)


def _advise(command: str, meaning: str) -> None:
    click.echo(f"  {safe(command)}  {dim(meaning)}", err=True)


@click.command()
@click.argument("number", metavar="ID")
@click.argument("text")
@json_option
@pass_options
def correct(options: Options, number: str, text: str, as_json: bool) -> int:
    """Say what is true instead of a memory; the old wording is kept as history."""
    key = number_of(number)

    async def work(memories: "MemoryDesk", viewer: "Viewer") -> "Written":
        return await memories.correct(viewer, key, text)

    return _tell(changing_memories(options, work), as_json)


@click.command()
@click.argument("number", metavar="ID")
@json_option
@pass_options
def disable(options: Options, number: str, as_json: bool) -> None:
    """Switch a memory off: it is kept, and neither search nor recall finds it."""
    _switch(options, number, as_json, enabled=False)


@click.command()
@click.argument("number", metavar="ID")
@json_option
@pass_options
def enable(options: Options, number: str, as_json: bool) -> None:
    """Switch a memory on again."""
    _switch(options, number, as_json, enabled=True)


def _switch(options: Options, number: str, as_json: bool, *, enabled: bool) -> None:
    key = number_of(number)

    async def work(memories: "MemoryDesk", viewer: "Viewer") -> "Memory":
        return await memories.switch(viewer, key, enabled=enabled)

    memory = changing_memories(options, work)
    if as_json:
        print_json(memory)
    again = f"'lra memory enable {memory.id}' brings it back."
    state = "It is in use." if memory.enabled else f"It is kept, and nothing finds it: {again}"
    _say(f"#{memory.id}", state, as_json)


@click.command()
@pass_options
def reindex(options: Options) -> None:
    """Make the index of words again, and the vectors that are missing."""

    async def work(memories: "Memories", viewer: "Viewer") -> tuple[str, int]:
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
