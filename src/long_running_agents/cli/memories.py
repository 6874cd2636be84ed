"""Memories on a screen: one line each, and everything about one."""

import sys
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.output import dim, moment, note, print_table, shown
from long_running_agents.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_running_agents.domain.memory import Found, Hit, Memory, MemoryId
    from long_running_agents.memory.memories import Shown

KINDS = ("conversation", "fact", "lesson", "summary", "note", "task")
"""The kinds of memories, for help that loads nothing."""
SCOPES = ("user", "agent", "session")
"""Who can see a memory, for help that loads nothing."""

_TITLES = ["id", "kind", "said", "day", "text"]
_DIGITS = 18


def number_of(text: str) -> "MemoryId":
    """A memory's number, typed with or without its sign."""
    from long_running_agents.domain.memory import MemoryId

    digits = text.strip().removeprefix("#")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
        raise UsageError(f"{text!r} is no memory's number:", hint="write it as 12 or '#12'.")
    return MemoryId(int(digits))


def said_by(trust: str, actor: str = "user") -> str:
    """Who said it, in a word."""
    return ("you" if actor == "user" else actor) if trust == "user" else trust


def cells(memory: "Memory") -> list[str]:
    """A memory as a row of a table."""
    who = said_by(memory.trust, memory.actor)
    day = f"{memory.event_at.astimezone():%Y-%m-%d}"
    kind = memory.kind if memory.enabled else f"{memory.kind}, off"
    return [f"#{memory.id}", kind, who, day, memory.content]


def print_memories(found: "Sequence[Memory]") -> None:
    """Print memories, one line each."""
    print_table(_TITLES, [cells(memory) for memory in found])


def print_found(found: "Found", *, why: bool) -> None:
    """Print what a search brought up, with its reasons if they are wanted."""
    if not found.hits:
        note("Nothing that is remembered answers this.")
    elif why and sys.stdout.isatty():
        beneath = ["", "", "", ""]
        rows = [row for hit in found.hits for row in (cells(hit.memory), [*beneath, reasons(hit)])]
        print_table(_TITLES, rows)
    elif why:
        print_table([*_TITLES, "why"], [[*cells(hit.memory), reasons(hit)] for hit in found.hits])
    else:
        print_memories([hit.memory for hit in found.hits])
    if found.degraded:
        note(f"Only a part was searched: {found.degraded}.")


def reasons(hit: "Hit") -> str:
    """Why a memory was found: its score, and what each part of the search gave it."""
    parts = sorted(hit.why.items(), key=lambda part: -part[1])
    return ", ".join([f"score {hit.score:.2f}", *(f"{name} {given:.2f}" for name, given in parts)])


def print_shown(found: "Shown") -> None:
    """Print everything about one memory."""
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
