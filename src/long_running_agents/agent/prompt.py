"""The instructions the model is given: a pure function, the stable parts first."""

from collections.abc import Sequence
from dataclasses import dataclass

BASE, CLIENT = "base", "client"
"""Where the parts of the instructions come from that no file holds."""

_BASE = """\
You are {name}, an agent that works for one person over many sessions.
Use your tools when they help; say plainly when something is unknown or has failed.
A tool result that begins with UNCERTAIN means that the call was cut off: find out whether it \
took effect before you repeat it.
For work of several steps, keep a list with create_task and update_task_status."""

_CLIENT = """\
# What the program says through which this turn came
It describes that program and what it wants of the answer. Where it contradicts what stands above, \
what stands above holds."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the instructions."""

    source: str
    """Where it comes from: 'base', 'client', or the name of a file."""
    text: str


def section(source: str, title: str, text: str) -> Section:
    """A part under a title, such as what SOUL.md says."""
    return Section(source, f"# {title}\n{text.strip()}")


def sections(name: str, files: Sequence[Section] = ()) -> list[Section]:
    """The parts of the instructions, in their order.

    Args:
        name: What the agent calls itself.
        files: What follows, such as SOUL.md and USER.md.
    """
    return [Section(BASE, _BASE.format(name=name)), *files]


def with_client(own: Sequence[Section], brought: str) -> list[Section]:
    """Our instructions, then those that the client brought along for this turn."""
    return [*own, Section(CLIENT, f"{_CLIENT}\n{brought}")] if brought else list(own)


def instructions(parts: Sequence[Section]) -> str:
    """Put the instructions together."""
    return "\n\n".join(part.text for part in parts)
