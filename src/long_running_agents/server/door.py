"""The door: who is let in, whatever way they come."""

import hmac
from dataclasses import dataclass

from long_running_agents.config.settings import GatewaySettings
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.token import Caller, Token
from long_running_agents.errors import TooMany, Unauthorized
from long_running_agents.listening import is_loopback
from long_running_agents.server.connections import Connections
from long_running_agents.server.hosts import neighbourhood
from long_running_agents.server.rates import Rate
from long_running_agents.server.tokens import Tokens
from long_running_agents.store.database import Database

_WRONG_PER_MINUTE = 10
_WRONG_AT_ONCE = 20
_BURST = 6
"""Requests of that part of a minute may come at once."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Somebody who was let in, and the token that did it, if it took one."""

    caller: Caller
    token: Token | None = None


class Door:
    """What a server knows of those who come in: tokens, what is open, and how often they knock."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        gateway: GatewaySettings,
        owner: str,
        *,
        control: str = "",
    ) -> None:
        """Stand before a home.

        Args:
            database: Where the tokens are.
            clock: Tells the time.
            gateway: What was set.
            owner: Whose home it is.
            control: The secret of this run, for the person's own programs on this machine.
        """
        self.clock = clock
        self.gateway = gateway
        self.connections = Connections(gateway.max_sockets)
        self.tokens = Tokens(database, clock, ended=self.connections.end_of)
        self._owner = owner
        self._control = control
        self._wrong = Rate(clock, _WRONG_PER_MINUTE, _WRONG_AT_ONCE)
        often = gateway.requests_per_minute
        self._requests = Rate(clock, often, max(1.0, often / _BURST))

    @property
    def needs_token(self) -> bool:
        """Whether everybody needs a token."""
        return self.gateway.require_token or not is_loopback(self.gateway.host)

    def local(self) -> Admitted:
        """Somebody at this machine, who needs no token."""
        return Admitted(Caller(owner=self._owner))

    def count(self, address: str) -> None:
        """Count a request from another machine.

        Raises:
            TooMany: It is one too many.
        """
        if wait := self._requests.take(neighbourhood(address)):
            raise TooMany("There are too many requests from your address.", seconds=wait)

    async def admit(self, secret: str, address: str, *, at_home: bool = False) -> Admitted:
        """Let in whoever has a good token.

        Args:
            secret: What they present.
            address: Where they come from.
            at_home: Whether they are on this machine.

        Raises:
            Unauthorized: The token is not good.
            TooMany: Too many from there were not. A good one is let in all the same.
        """
        if self._control and at_home and _same(secret, self._control):
            return self.local()
        token = await self.tokens.bearer(secret)
        if token is not None:
            caller = Caller(owner=token.owner, scopes=token.scopes, token_id=token.id)
            return Admitted(caller, token)
        if wait := self._wrong.take(neighbourhood(address)):
            raise TooMany("There were too many wrong tokens from your address.", seconds=wait)
        raise Unauthorized(
            "This token is not known, or no longer good.",
            hint="'lra tokens list' shows which are. On the server's own machine, send none.",
        )


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
