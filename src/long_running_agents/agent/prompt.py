"""The instructions the model is given: a pure function, the stable parts first."""

from collections.abc import Sequence

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


def instructions(name: str, sections: Sequence[tuple[str, str]] = ()) -> str:
    """Put the instructions together.

    Args:
        name: What the agent calls itself.
        sections: Titles and texts that follow, such as SOUL.md and USER.md.
    """
    parts = [_BASE.format(name=name)]
    parts += [f"# {title}\n{text.strip()}" for title, text in sections if text.strip()]
    return "\n\n".join(parts)


def with_client(own: str, brought: str) -> str:
    """Our instructions, then those that the client brought along for this turn."""
    return f"{own}\n\n{_CLIENT}\n{brought}" if brought else own
