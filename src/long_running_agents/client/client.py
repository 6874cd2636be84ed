"""A running server, for programs: `async with Client.at(url) as client`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import quote

from long_running_agents.client.link import PATIENCE, Address, Find, Link
from long_running_agents.client.memories import Memories
from long_running_agents.client.sessions import Sessions
from long_running_agents.client.skills import Skills
from long_running_agents.client.turns import Turns
from long_running_agents.clock import SystemClock
from long_running_agents.domain.ids import GrantId
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a server is."""

    version: str
    agent: str
    model: str
    """The model that answers where a session has not chosen its own; empty for none."""


class Client:
    """Everything that a server does for somebody, by noun."""

    def __init__(self, link: Link, owner: str = MINE) -> None:
        """Talk to a server.

        Args:
            link: The way to it.
            owner: What the owner is called in what is told; the server decides who it is.
        """
        self.link = link
        self.turns = Turns(link, owner)
        self.sessions = Sessions(link, owner)
        self.memories = Memories(link, owner)
        self.skills = Skills(link, owner)

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str, token: str = "") -> "AsyncGenerator[Client]":
        """A client of a server, while inside.

        Args:
            url: Where it is, such as http://127.0.0.1:8000.
            token: What lets one in; empty where none is needed.
        """
        address = Address(url.rstrip("/"), token)
        async with cls.found(lambda: address, SystemClock()) as client:
            yield client

    @classmethod
    @asynccontextmanager
    async def found(
        cls, find: Find, clock: Clock, *, owner: str = MINE, patience: float = PATIENCE
    ) -> "AsyncGenerator[Client]":
        """A client of a server that may be somewhere else the next time, while inside.

        Args:
            find: Says where the server is.
            clock: Tells the time, and waits.
            owner: What the owner is called in what is told.
            patience: How many seconds a server that went away is waited for.
        """
        link = Link(find, clock, patience=patience)
        try:
            yield cls(link, owner)
        finally:
            await link.close()

    async def status(self) -> Status:
        """Say what the server is."""
        told = (await self.link.ask("GET", "/api/status")).body
        return Status(version=told["version"], agent=told["agent"], model=told["model"])

    async def models(self) -> Sequence[str]:
        """The names of the models that can be asked there."""
        told = (await self.link.ask("GET", "/api/models")).body
        return [each["name"] for each in told["models"] if each["installed"]]

    async def choose_model(self, name: str) -> str:
        """Have the server ask another model, wherever a session has not chosen its own.

        Returns:
            What a person should know; empty for nothing.
        """
        reply = await self.link.ask("POST", "/api/models/select", body={"model_id": name})
        return str(reply.body["note"])

    async def revoke(self, grant_id: GrantId) -> str:
        """Take a grant back, and say what it was for."""
        reply = await self.link.ask("DELETE", f"/api/grants/{quote(grant_id)}")
        return str(reply.body["scope"])
