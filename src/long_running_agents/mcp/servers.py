"""All servers of a home."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from long_running_agents.config import Loaded
from long_running_agents.domain.policy import Rule, Rules, Ruling
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import NotFound
from long_running_agents.home import Home
from long_running_agents.mcp import names, servers_file
from long_running_agents.mcp.server import Server
from long_running_agents.mcp.spec import ServerSpec
from long_running_agents.mcp.talk import Talk

_CONVERSATION = "long_running_agents.mcp.conversation"


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers in the order of the file."""

    file: Path
    each: Sequence[Server] = ()
    secrets: frozenset[str] = frozenset()

    def named(self, name: str) -> Server:
        """The server with this name.

        Raises:
            NotFound: There is none.
        """
        for server in self.each:
            if server.spec.name == name:
                return server
        known = ", ".join(server.spec.name for server in self.each) or "none"
        raise NotFound(f"No MCP server {name!r} in {self.file}.", hint=f"There is: {known}.")

    def ruled(self, rules: Rules) -> Rules:
        """Rules of the gate with those of the file before them."""
        asking = [
            Rule(
                decision=Ruling.ASK,
                tool=names.pattern(server.spec.name, given),
                reason=f"mcp.json requires an approval ({server.spec.name}: {given})",
            )
            for server in self.each
            for given in server.spec.require_approval
        ]
        return replace(rules, custom=[*asking, *rules.custom])

    def guarded(self, loaded: Loaded) -> Loaded:
        """The same settings; what is secret in the file is kept out of everything written."""
        return replace(loaded, redact=loaded.redact.also(self.secrets)) if self.secrets else loaded

    async def close(self) -> None:
        """End them all at once."""
        await asyncio.gather(*(server.close() for server in self.each))


def servers_of(loaded: Loaded, clock: Clock, taken: Callable[[], Collection[str]]) -> Servers:
    """The servers that a home's mcp.json names; nothing is started before it is used.

    Args:
        loaded: The settings.
        clock: Tells the time.
        taken: Tells the names that no foreign tool may have; asked when there is a server.

    Raises:
        ConfigError: The file is not as it has to be.
    """
    path = Home(loaded.home).mcp_file
    found = servers_file.read(path, loaded.variables)

    reserved = taken() if found.servers else ()
    old: set[str] = set()

    async def begin(spec: ServerSpec) -> Talk:
        # A second of work, which belongs neither to the start of the program nor into a turn.
        await asyncio.to_thread(import_module, _CONVERSATION)
        from long_running_agents.mcp import conversation  # noqa: PLC0415 - as above

        talk = await conversation.begin(spec, clock, reserved, old=spec.name in old)
        if talk.old:
            # Next time it need not be asked.
            old.add(spec.name)
        return talk

    return Servers(path, tuple(Server(spec, begin, clock) for spec in found.servers), found.secrets)
