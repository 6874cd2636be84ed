"""All sandboxes of a process: each has an id, an owner, and an end when nobody uses it."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Busy, NotFound
from long_running_agents.sandbox.port import Probe, Sandbox, SandboxBackend
from long_running_agents.sandbox.spec import SandboxSpec

IDLE = 30 * 60.0
"""Seconds without use after which a sandbox goes."""
MOST = 8
"""Sandboxes that one owner may have."""
_LOOK_EVERY = 30.0


@dataclass
class Held:
    """A sandbox that somebody has."""

    id: str
    owner: str
    sandbox: Sandbox
    used_at: float
    in_use: int = 0


class Sandboxes:
    """Makes, finds and forgets sandboxes."""

    def __init__(
        self, backend: SandboxBackend, clock: Clock, *, idle: float = IDLE, most: int = MOST
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._idle = idle
        self._most = most
        self._held: dict[str, Held] = {}
        self._making: dict[str, int] = {}

    def probe(self) -> Probe:
        """Try the backend, once."""
        return self._backend.probe()

    async def create(self, spec: SandboxSpec, *, owner: str = "") -> Held:
        """Make a sandbox.

        Raises:
            Busy: The owner has as many as allowed.
            SandboxUnavailable: None can be had here.
        """
        own = sum(held.owner == owner for held in self._held.values())
        if own + self._making.get(owner, 0) >= self._most:
            raise Busy(f"There are {self._most} sandboxes already.", hint="Destroy one first.")
        self._making[owner] = self._making.get(owner, 0) + 1
        try:
            sandbox = await self._backend.create(spec)
        finally:
            self._making[owner] -= 1
        held = Held(secrets.token_hex(6), owner, sandbox, self._clock.monotonic())
        self._held[held.id] = held
        return held

    def every(self, *, owner: str | None = None) -> list[Held]:
        """Those that there are, oldest first."""
        return [held for held in self._held.values() if owner in (None, held.owner)]

    def find(self, sandbox_id: str) -> Held:
        """The one with this id.

        Raises:
            NotFound: There is none, or not any more.
        """
        if sandbox_id not in self._held:
            raise NotFound(f"No sandbox {sandbox_id!r}.", hint="Create one.")
        return self._held[sandbox_id]

    @asynccontextmanager
    async def using(self, sandbox_id: str) -> AsyncGenerator[Sandbox]:
        """Work with a sandbox; meanwhile it does not grow old."""
        held = self.find(sandbox_id)
        held.in_use += 1
        try:
            yield held.sandbox
        finally:
            held.in_use -= 1
            held.used_at = self._clock.monotonic()

    async def destroy(self, sandbox_id: str) -> None:
        """End one."""
        held = self.find(sandbox_id)
        del self._held[sandbox_id]
        await held.sandbox.destroy()

    def usable(self, sandbox_id: str) -> bool:
        """Whether it is still there and alive."""
        held = self._held.get(sandbox_id)
        return held is not None and held.sandbox.alive

    async def let_go(self, sandbox_id: str) -> None:
        """End one, if it is still there."""
        with contextlib.suppress(NotFound):
            await self.destroy(sandbox_id)

    async def sweep(self) -> list[str]:
        """End those that nobody has used for long; their ids."""
        now = self._clock.monotonic()
        old = [
            held.id
            for held in self._held.values()
            if not held.in_use and now - held.used_at >= self._idle
        ]
        for sandbox_id in old:
            await self.destroy(sandbox_id)
        return old

    async def keep_swept(self) -> None:
        """Sweep now and then, until cancelled."""
        while True:
            await self._clock.sleep(min(_LOOK_EVERY, self._idle))
            await self.sweep()

    async def close(self) -> None:
        """End all of them."""
        for sandbox_id in list(self._held):
            await self.let_go(sandbox_id)


@asynccontextmanager
async def swept(sandboxes: Sandboxes) -> AsyncGenerator[Sandboxes]:
    """Sandboxes that are looked after, and all gone in the end."""
    sweeping = asyncio.ensure_future(sandboxes.keep_swept())
    try:
        yield sandboxes
    finally:
        sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sweeping
        await sandboxes.close()
