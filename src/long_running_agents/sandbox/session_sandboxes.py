"""The sandboxes of conversations: each session has one of its own, and may make more."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from long_running_agents.errors import NotFound, SandboxUnavailable
from long_running_agents.sandbox.port import Sandbox
from long_running_agents.sandbox.sandboxes import Held, Sandboxes
from long_running_agents.sandbox.spec import SandboxSpec

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
    ) -> None:
        """Know how to make sandboxes.

        Args:
            opening: Opens the sandboxes.
            spec: What a sandbox is made of, asked whenever one is made.
            install: Fetches packages for all that are made from now on; it takes a while.
        """
        self._opening = opening
        self._spec = spec
        self._install = install
        self._stack = AsyncExitStack()
        self._turn = asyncio.Lock()
        self._sandboxes: Sandboxes | None = None
        self._own: dict[str, _Own] = {}

    @asynccontextmanager
    async def entered(
        self, session: str, sandbox_id: str | None = None, *, attended: bool = True
    ) -> AsyncGenerator[Entered]:
        """Work in a session's own sandbox, or in another one that it made.

        Args:
            session: The session.
            sandbox_id: One that it made; its own unless given.
            attended: Whether somebody watches, so that code may run without walls.

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

    async def create(self, session: str) -> Held:
        """Make one more sandbox for a session.

        Raises:
            Busy: There are as many as allowed.
            SandboxUnavailable: None can be had here.
        """
        sandboxes = await self._opened()
        held = await sandboxes.create(self._spec(), owner=session)
        self._of(session).made.add(held.id)
        return held

    @asynccontextmanager
    async def lent(self, borrower: str) -> AsyncGenerator[Sandbox]:
        """A fresh sandbox for one errand, which goes afterwards.

        Raises:
            Busy: The borrower has as many as allowed.
            SandboxUnavailable: None can be had here.
        """
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
