"""Watches: a look at what a job watches, by a command or at an address, without a model."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import unified_diff
from http import HTTPStatus
from itertools import takewhile

from long_running_agents.errors import LraError, SandboxUnavailable, Unavailable
from long_running_agents.sandbox.base import printable
from long_running_agents.tools.owner_resources import OwnerResources

_LONGEST = 60.0
"""Seconds that a command may take."""
_MOST_SEEN = 64 << 10
"""Characters that are looked at."""
_AT_ONCE = 4
"""Looks at the same time."""
_LINES = 500
"""Lines that are compared, from the first that differs on: more could take minutes."""
_AROUND = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchResult:
    """What a look has shown."""

    watch: str
    """The command or the address."""
    text: str = ""
    failed: str = ""
    """Why there was nothing to see; empty if there was."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """Looks at what jobs watch, each with what its owner has."""

    resources: Callable[[str], OwnerResources]
    patience: float = 2 * _LONGEST
    """Seconds after which a look is given up, with all that it takes to begin it."""
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def look(self, owner: str, watch: str) -> WatchResult:
        """Run the command in a sandbox of its own, or read the address."""
        try:
            async with self._places, asyncio.timeout(self.patience):
                text = await self._seen(self.resources(owner), watch)
        except TimeoutError:
            return WatchResult(
                watch=watch, failed=f"the look took more than {self.patience:g} seconds"
            )
        except LraError as error:
            return WatchResult(watch=watch, failed=str(error))
        return WatchResult(watch=watch, text=printable(text)[:_MOST_SEEN])

    async def _seen(self, own: OwnerResources, watch: str) -> str:
        if watch.lower().startswith(("http://", "https://")):
            page = await own.web().fetch(watch)
            if page.status >= HTTPStatus.BAD_REQUEST:
                raise Unavailable(f"{watch} answered {page.status}.")
            return page.text
        async with own.sandboxes.lent(f"watch {watch}") as sandbox:
            if not sandbox.isolation:
                raise SandboxUnavailable(
                    "The command would run without a sandbox, and nobody is there to watch.",
                    hint="Turn sandbox.unsafe_local off, and see 'lra sandbox doctor'.",
                )
            result = await sandbox.shell(watch, _LONGEST)
        if not result.success:
            why = (str(result.error or "") or result.stderr).strip()[-300:]
            raise Unavailable(f"The command ended with {result.exit_code}: {printable(why)}")
        return result.stdout


def difference(before: str, now: str) -> str:
    """What became of a text, as a unified diff of the part that has changed."""
    old, new = before.splitlines(), now.splitlines()
    pairs = zip(old, new, strict=False)
    same = max(0, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) - _AROUND)
    old, new = old[same : same + _LINES], new[same : same + _LINES]
    lines = [*unified_diff(old, new, "before", "now", lineterm="", n=_AROUND)]
    # The places would be counted from where the comparison begins.
    return "\n".join("@@" if line.startswith("@@ ") else line for line in lines)
