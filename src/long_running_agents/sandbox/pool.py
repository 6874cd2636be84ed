"""Sandboxes that are ready before anybody asks."""

import asyncio
import contextlib
from collections import deque

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox.port import Probe, Sandbox, SandboxBackend
from long_running_agents.sandbox.spec import SandboxSpec

_REST = 0.5


class Pool:
    """A backend that keeps a few sandboxes of the usual kind warm."""

    def __init__(
        self, backend: SandboxBackend, spec: SandboxSpec, clock: Clock, *, size: int = 2
    ) -> None:
        """Stand before a backend.

        Args:
            backend: Makes the sandboxes.
            spec: The usual kind; others are made when they are asked for.
            clock: Tells the time.
            size: How many are kept ready.
        """
        self._backend = backend
        self._spec = spec
        self._clock = clock
        self._size = size
        self._turn = asyncio.Lock()
        self._warm: deque[Sandbox] = deque()
        self._filling: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """The name of the backend behind."""
        return self._backend.name

    @property
    def ready(self) -> int:
        """How many are waiting."""
        return len(self._warm)

    def probe(self) -> Probe:
        """Try the backend, once."""
        return self._backend.probe()

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Hand out a warm sandbox if it is of the usual kind, or make one."""
        sandbox = self._take() if spec == self._spec else None
        if spec == self._spec:
            # Whoever took one is to work first; making the next takes a core for a moment.
            self.warm_up(after=_REST)
        return sandbox or await self._backend.create(spec)

    def warm_up(self, *, after: float = 0.0) -> None:
        """Begin to make what is missing; nobody has to wait for it."""
        if not self._closed and (self._filling is None or self._filling.done()):
            self._filling = asyncio.ensure_future(self._fill(after))

    async def filled(self) -> None:
        """Wait until as many are ready as should be, or cannot be."""
        if not self._closed:
            await self._fill(0.0)

    async def close(self) -> None:
        """Destroy those that nobody took."""
        self._closed = True
        if self._filling is not None:
            self._filling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._filling
        while self._warm:
            await self._warm.popleft().destroy()

    def _take(self) -> Sandbox | None:
        while self._warm:
            sandbox = self._warm.popleft()
            if sandbox.alive:
                return sandbox
        return None

    async def _fill(self, after: float) -> None:
        if after:
            await self._clock.sleep(after)
        async with self._turn:
            while len(self._warm) < self._size:
                try:
                    self._warm.append(await self._backend.create(self._spec))
                except SandboxUnavailable:
                    # Whoever asks for one is told.
                    return
