"""All sandboxes of a process: each has an id, an owner, and an end when nobody uses it."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Busy, NotFound, SandboxUnavailable, Unavailable, UsageError
from long_running_agents.sandbox.base import Probe, Sandbox, SandboxBackend, SandboxSpec

IDLE = 30 * 60.0
"""Seconds without use after which a sandbox goes."""
MOST = 8
"""Sandboxes that one owner may have."""
_LOOK_EVERY = 30.0


@dataclass
class HeldSandbox:
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
        self._held: dict[str, HeldSandbox] = {}
        self._making: dict[str, int] = {}

    def probe(self) -> Probe:
        """Try the backend, once."""
        return self._backend.probe()

    async def create(self, spec: SandboxSpec, *, owner: str = "") -> HeldSandbox:
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
        held = HeldSandbox(secrets.token_hex(6), owner, sandbox, self._clock.monotonic())
        self._held[held.id] = held
        return held

    def every(self, *, owner: str | None = None) -> list[HeldSandbox]:
        """Those that there are, oldest first."""
        return [held for held in self._held.values() if owner in (None, held.owner)]

    def find(self, sandbox_id: str) -> HeldSandbox:
        """The one with this id."""
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


Opening = Callable[[SandboxSpec], AbstractAsyncContextManager[Sandboxes]]
"""Opens all sandboxes of this process, with some of the usual kind kept ready."""


@dataclass(slots=True)
class _Own:
    """What one session has."""

    sandbox_id: str | None = None
    """Its own sandbox."""
    made: set[str] = field(default_factory=set[str])
    """Those it asked for beside."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Entered:
    """A sandbox to work in."""

    id: str
    sandbox: Sandbox
    fresh: bool
    """Whether it was made just now, so that nothing is left of earlier cells."""


class SessionSandboxes:
    """Finds the sandbox of a session, and makes it when it is first needed.

    Nothing is started before: a conversation that runs no code pays nothing for it.
    """

    def __init__(
        self,
        opening: Opening,
        spec: Callable[[], SandboxSpec],
        install: Callable[[Sequence[str]], None],
        lacks: Callable[[str], bool],
    ) -> None:
        """Know how to make sandboxes.

        Args:
            opening: Opens the sandboxes.
            spec: What a sandbox is made of, asked whenever one is made.
            install: Fetches packages for all that are made from now on; it takes a while.
            lacks: Whether a module belongs to the usual packages, which were never fetched.
        """
        self._opening = opening
        self._spec = spec
        self._install = install
        self._lacks = lacks
        self._unfetched = ""
        self._stack = AsyncExitStack()
        self._turn = asyncio.Lock()
        self._sandboxes: Sandboxes | None = None
        self._own: dict[str, _Own] = {}

    @asynccontextmanager
    async def entered(
        self, session: str, sandbox_id: str | None = None, *, attended: bool = True
    ) -> AsyncGenerator[Entered]:
        """Work in a session's own sandbox, or in another one that it made.

        Raises:
            NotFound: The session has no such sandbox, or not any more.
            SandboxUnavailable: None can be had here, or none with walls.
        """
        sandboxes = await self._opened()
        fresh = False
        if sandbox_id is None:
            sandbox_id, fresh = await self._usual(sandboxes, session)
        elif sandbox_id not in self._of(session).made | {self._of(session).sandbox_id}:
            raise NotFound(
                f"This session has no sandbox {sandbox_id!r}.", hint="Make one with create_sandbox."
            )
        async with sandboxes.using(sandbox_id) as sandbox:
            if not attended and not sandbox.isolation:
                raise SandboxUnavailable(
                    "Code would run without a sandbox, and nobody is there to watch.",
                    hint="Turn sandbox.unsafe_local off, and see 'lra sandbox doctor'.",
                )
            yield Entered(sandbox_id, sandbox, fresh)

    async def create(self, session: str) -> HeldSandbox:
        """Make one more sandbox for a session; raises as `Sandboxes.create` does."""
        sandboxes = await self._opened()
        held = await sandboxes.create(self._spec(), owner=session)
        self._of(session).made.add(held.id)
        return held

    @asynccontextmanager
    async def lent(self, borrower: str) -> AsyncGenerator[Sandbox]:
        """A fresh sandbox for one errand, which goes afterwards; raises as `create` does."""
        sandboxes = await self._opened()
        held = await sandboxes.create(self._spec(), owner=borrower)
        try:
            yield held.sandbox
        finally:
            await sandboxes.let_go(held.id)

    async def install(self, session: str, packages: Sequence[str]) -> None:
        """Fetch packages; the session's own sandbox goes, since it was made without them.

        Raises:
            UsageError: One of them is not the name of a package.
            Unavailable: They cannot be had.
        """
        await asyncio.to_thread(self._install, packages)
        own = self._of(session)
        async with own.turn:
            if self._sandboxes is not None and own.sandbox_id is not None:
                await self._sandboxes.let_go(own.sandbox_id)
            own.sandbox_id = None

    async def supply(self, session: str, module: str) -> str:
        """Fetch the usual packages when code misses one of them for the first time.

        Returns:
            What became of it, for whoever runs the code; nothing if it is not among them.
        """
        if not await asyncio.to_thread(self._lacks, module):
            return ""
        if not self._unfetched:
            try:
                await self.install(session, ())
            except (Unavailable, UsageError) as error:
                self._unfetched = error.message
            else:
                return (
                    "The usual packages are there now. The Python session begins anew: try again."
                )
        return (
            f"{module} is one of the usual packages, but they cannot be fetched: {self._unfetched}"
            " Where there is a network, 'lra sandbox prepare' fetches them once."
        )

    async def close(self) -> None:
        """End all of them."""
        self._own.clear()
        await self._stack.aclose()

    def _of(self, session: str) -> _Own:
        return self._own.setdefault(session, _Own())

    async def _opened(self) -> Sandboxes:
        async with self._turn:
            if self._sandboxes is None:
                self._sandboxes = await self._stack.enter_async_context(self._opening(self._spec()))
            return self._sandboxes

    async def _usual(self, sandboxes: Sandboxes, session: str) -> tuple[str, bool]:
        own = self._of(session)
        async with own.turn:
            if own.sandbox_id is not None and sandboxes.usable(own.sandbox_id):
                return own.sandbox_id, False
            if own.sandbox_id is not None:
                await sandboxes.let_go(own.sandbox_id)
            held = await sandboxes.create(self._spec(), owner=session)
            own.sandbox_id = held.id
            return held.id, True
