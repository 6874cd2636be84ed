"""The instructions the model is given: a pure function, the stable parts first."""

from collections.abc import Sequence

_BASE = """\
You are {name}, an agent that works for one person over many sessions.
Use your tools when they help; say plainly when something is unknown or has failed.
A tool result that begins with UNCERTAIN means that the call was cut off: find out whether it \
took effect before you repeat it.
For work of several steps, keep a list with create_task and update_task_status."""


def instructions(name: str, sections: Sequence[tuple[str, str]] = ()) -> str:
    """Put the instructions together.

    Args:
        name: What the agent calls itself.
        sections: Titles and texts that follow, such as SOUL.md and USER.md.
    """
    parts = [_BASE.format(name=name)]
    parts += [f"# {title}\n{text.strip()}" for title, text in sections if text.strip()]
    return "\n\n".join(parts)
