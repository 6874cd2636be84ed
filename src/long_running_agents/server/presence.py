"""Presence: where the server that owns a home can be reached by the person's own programs.

A file in the home that only its owner can read: whoever can read it could read the database, too.
"""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, cast

from long_running_agents.errors import StorageFailed
from long_running_agents.home import Home


@dataclass(frozen=True, slots=True)
class Presence:
    """A running server."""

    pid: int
    address: str
    """Such as http://127.0.0.1:8000, without a slash at its end."""
    secret: str
    """Lets in whoever is on the same machine, with all scopes, until the server ends."""


def running(home: Home) -> Presence | None:
    """The server that owns a home now, if one does.

    A file that a dead server left behind counts for nothing: the lock on the home tells.
    """
    try:
        found: object = json.loads(home.server.read_text(encoding="utf-8"))
        fields = cast("dict[str, Any]", found)
        presence = Presence(int(fields["pid"]), str(fields["address"]), str(fields["secret"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return presence if home.owner() == presence.pid else None


@contextmanager
def announced(home: Home, address: str, secret: str) -> Generator[Presence]:
    """Tell the person's own programs about this server while inside.

    Raises:
        StorageFailed: The home cannot be written.
    """
    presence = Presence(os.getpid(), address, secret)
    try:
        _write(home, presence)
    except OSError as error:
        raise StorageFailed(
            f"{home.server} cannot be written: {error.strerror}.", hint="Check its permissions."
        ) from error
    try:
        yield presence
    finally:
        home.server.unlink(missing_ok=True)


def _write(home: Home, presence: Presence) -> None:
    unfinished = home.server.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(asdict(presence), file)
    unfinished.replace(home.server)
