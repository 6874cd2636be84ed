"""Files of a workspace that other rooms write, so no file tool does."""

import posixpath

from long_running_agents.errors import PathRefused
from long_running_agents.sandbox.workspace import relative

_SKILLS = "skills"
_MEMORY = "memory"


def check_writable(path: str) -> None:
    """Refuse a path that is somebody else's to write.

    Raises:
        PathRefused: It is; the hint says whose.
    """
    # Lower case, since some file systems take both for the same.
    inside = posixpath.normpath(relative(path)).lower()
    top = inside.split("/", 1)[0]
    if top == _MEMORY and inside.endswith(".md"):
        raise PathRefused(
            f"{path!r} shows what is remembered, and is written anew each time.",
            hint="Use write_memory, update_memory or forget_memory.",
        )
    if top == _SKILLS or inside.startswith(f"{_MEMORY}/{_SKILLS}/"):
        raise PathRefused(
            f"{path!r} belongs to the skills, which a person has to approve.",
            hint="Write it somewhere else.",
        )
