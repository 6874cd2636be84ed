"""All servers of a home."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_running_agents.config import LoadedSettings
from long_running_agents.domain.policy import PolicyRule, PolicyRules, Ruling
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LraError, NotFound, Unavailable
from long_running_agents.home import Home
from long_running_agents.mcp import base, config
from long_running_agents.mcp.base import (
    Answer,
    CallFailed,
    CallNotRun,
    CallSucceeded,
    Listing,
    ServerSpec,
)

if TYPE_CHECKING:
    from long_running_agents.mcp.session import McpSession

log = logging.getLogger(__name__)

PATIENCE = 4.0
"""Seconds a turn waits for a server that starts; it goes on starting without the turn."""
_PATIENCE_FOR_NEWS = 1.0
"""Seconds a turn waits for tools that have changed; till then it has those of before."""
_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 300.0

Begin = Callable[[ServerSpec], Awaitable["McpSession"]]
"""Starts a server and greets it.

Raises:
    LraError: It cannot be had.
"""


class McpServerState(StrEnum):
    """How a server is."""

    IDLE = "idle"
    """Nobody needed it yet."""
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerStatus:
    """What can be said of a server."""

    name: str
    where: str
    """The program, or the address."""
    state: McpServerState
    reason: str = ""
    """Why it is not ready; empty when it is."""
    protocol: str = ""
    listing: Listing


class McpServer:
    """Speaks with one server, and remembers its tools."""

    def __init__(self, spec: ServerSpec, begin: Begin, clock: Clock) -> None:
        self.spec = spec
        self._begin = begin
        self._clock = clock
        self._talk: McpSession | None = None
        self._listing: Listing | None = None
        self._attempt: asyncio.Task[None] | None = None
        self._since = 0.0
        self._starts = 0
        """Since a call was answered."""
        self._not_before = 0.0
        self._reason = spec.problem
        self._closed = False

    @property
    def status(self) -> McpServerStatus:
        """How it is at this moment."""
        return McpServerStatus(
            name=self.spec.name,
            where=str(self.spec.way),
            state=self._state(),
            reason=self._reason,
            protocol="" if self._talk is None else self._talk.protocol,
            listing=self._listing or Listing(),
        )

    async def tools(self, patience: float = PATIENCE) -> Listing:
        """Its tools as far as they are known; a server that is not ready in time has none.

        Args:
            patience: How long to wait, counted from the moment it was started.
        """
        talk = self._talk
        changed = bool(self._listing and talk and not talk.over and talk.stale)
        if self._listing is None or changed:
            attempt = self._started()
            patience = min(patience, _PATIENCE_FOR_NEWS) if changed else patience
            left = self._since + patience - self._clock.monotonic()
            if attempt is not None and left > 0:
                await self._clock.wait(attempt, left)
        return self._listing or Listing()

    async def call(self, tool: str, args: Mapping[str, Any]) -> Answer:
        """Call a tool; a server that died is started again first.

        Raises:
            Unavailable: It cannot be had now, and the call has not run.
        """
        talk = await self._talking()
        answer = await talk.call(tool, args)
        if isinstance(answer, CallNotRun):
            # It had gone without our noticing.
            await self._drop(talk, answer.reason)
            talk = await self._talking()
            answer = await talk.call(tool, args)
        if isinstance(answer, CallNotRun):
            await self._drop(talk, answer.reason)
            raise self._unavailable()
        if isinstance(answer, CallSucceeded | CallFailed):
            self._starts = 0
        return answer

    async def close(self) -> None:
        """End it."""
        self._closed = True
        if self._attempt is not None:
            self._attempt.cancel()
            await asyncio.wait([self._attempt])
        if self._talk is not None:
            await self._talk.close()
            self._talk = None

    def _state(self) -> McpServerState:
        if self.spec.disabled:
            return McpServerState.DISABLED
        if self._alive():
            return McpServerState.READY
        if self._attempt is not None:
            return McpServerState.STARTING
        return McpServerState.FAILED if self._reason else McpServerState.IDLE

    def _alive(self) -> bool:
        return self._talk is not None and not self._talk.over

    async def _talking(self) -> "McpSession":
        if not self._alive() and (attempt := self._started()):
            await self._clock.wait(attempt, self.spec.timeout)
        if self._talk is None or self._talk.over:
            raise self._unavailable()
        return self._talk

    def _unavailable(self) -> Unavailable:
        pause = self._not_before - self._clock.monotonic()
        again = f" It is tried again in {pause:.0f} seconds." if pause > 0 else ""
        # Why is for the person: the words may be the server's own.
        return Unavailable(
            f"The MCP server {self.spec.name!r} is not there.{again}",
            hint=f"'lra mcp test {self.spec.name}' tells more.",
        )

    def _started(self) -> asyncio.Task[None] | None:
        """The attempt that is under way, or a new one; None while it is too early for one."""
        if self._attempt is None and not self._closed and self._may_start():
            self._since = self._clock.monotonic()
            self._attempt = asyncio.create_task(self._try())
        return self._attempt

    def _may_start(self) -> bool:
        unable = self.spec.disabled or self.spec.problem
        early = self._starts > 0 and self._clock.monotonic() < self._not_before
        return not unable and (self._alive() or not early)

    async def _try(self) -> None:
        try:
            await self._renew()
            self._reason = ""
        except LraError as error:
            await self._drop(self._talk, error.message.rstrip("."))
            self._not_before = self._clock.monotonic() + self._pause()
            # Tools that cannot be called are not worth their place.
            self._listing = None
        finally:
            self._attempt = None

    async def _renew(self) -> None:
        if self._talk is not None and self._talk.over:
            await self._drop(self._talk, "it ended by itself")
        if self._talk is None:
            self._starts += 1
            self._not_before = self._since + self._pause()
            self._talk = await self._begin(self.spec)
        self._listing = await self._talk.tools()
        for refusal in self._listing.refused:
            log.info("%s: %r is not offered: %s", self.spec.name, refusal.tool, refusal.reason)

    async def _drop(self, talk: "McpSession | None", reason: str) -> None:
        if talk is not self._talk:
            # Somebody else has seen it, too, and was faster.
            return
        self._talk = None
        self._reason = reason
        log.warning("the MCP server %s is not there: %s", self.spec.name, reason)
        if talk is not None:
            await talk.close()

    def _pause(self) -> float:
        return min(_FIRST_PAUSE * 2 ** (self._starts - 1), _LONGEST_PAUSE)


_CONVERSATION = "long_running_agents.mcp.session"


@dataclass(frozen=True, slots=True)
class McpServers:
    """The servers in the order of the file."""

    file: Path
    each: Sequence[McpServer] = ()
    secrets: frozenset[str] = frozenset()

    def named(self, name: str) -> McpServer:
        """The server with this name.

        Raises:
            NotFound: There is none.
        """
        for server in self.each:
            if server.spec.name == name:
                return server
        known = ", ".join(server.spec.name for server in self.each) or "none"
        raise NotFound(f"No MCP server {name!r} in {self.file}.", hint=f"There is: {known}.")

    def ruled(self, rules: PolicyRules) -> PolicyRules:
        """Rules of the gate with those of the file before them."""
        asking = [
            PolicyRule(
                decision=Ruling.ASK,
                tool=base.pattern(server.spec.name, given),
                reason=f"mcp.json requires an approval ({server.spec.name}: {given})",
            )
            for server in self.each
            for given in server.spec.require_approval
        ]
        return replace(rules, custom=[*asking, *rules.custom])

    def guarded(self, loaded: LoadedSettings) -> LoadedSettings:
        """The same settings; what is secret in the file is kept out of everything written."""
        return replace(loaded, redact=loaded.redact.also(self.secrets)) if self.secrets else loaded

    async def close(self) -> None:
        """End them all at once."""
        await asyncio.gather(*(server.close() for server in self.each))


def servers_of(
    loaded: LoadedSettings, clock: Clock, taken: Callable[[], Collection[str]]
) -> McpServers:
    """The servers that a home's mcp.json names; nothing is started before it is used.

    Asked only when there is a server, `taken` tells the names that no foreign tool may have.

    Raises:
        ConfigError: The file is not as it has to be.
    """
    path = Home(loaded.home).mcp_file
    found = config.read(path, loaded.variables)
    reserved = taken() if found.servers else ()
    old: set[str] = set()

    async def begin(spec: ServerSpec) -> "McpSession":
        # A second of work, which belongs neither to the start of the program nor into a turn.
        await asyncio.to_thread(import_module, _CONVERSATION)
        from long_running_agents.mcp import session  # noqa: PLC0415 - as above

        talk = await session.begin(spec, clock, reserved, old=spec.name in old)
        if talk.old:
            # Next time it need not be asked.
            old.add(spec.name)
        return talk

    return McpServers(
        path, tuple(McpServer(spec, begin, clock) for spec in found.servers), found.secrets
    )
