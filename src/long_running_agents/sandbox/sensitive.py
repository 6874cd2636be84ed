"""Finding what usually holds secrets, so that no code in a sandbox sees it."""

import os
from pathlib import Path

from long_running_agents.domain.workspace import is_sensitive
from long_running_agents.errors import PathRefused

_MOST_SENSITIVE = 1000


def sensitive_in(root: Path, *, depth: int = 3) -> list[tuple[str, bool]]:
    """Sensitive names that lie in a folder already, and whether each is a folder.

    Raises:
        PathRefused: There are so many that somebody means to hide one among them.
    """
    found: list[tuple[str, bool]] = []
    for here, folders, files in os.walk(root):
        below = os.path.relpath(here, root)
        prefix = "" if below == "." else f"{below}/"
        found += [(prefix + name, True) for name in folders if is_sensitive(name)]
        found += [(prefix + name, False) for name in files if is_sensitive(name)]
        too_deep = prefix.count("/") >= depth
        folders[:] = [name for name in folders if not too_deep and not is_sensitive(name)]
        if len(found) > _MOST_SENSITIVE:
            raise PathRefused(
                f"More than {_MOST_SENSITIVE} names in the workspace usually hold secrets.",
                hint="Delete those that do not, such as made-up .env files.",
            )
    return found
