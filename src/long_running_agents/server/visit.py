"""A visit: what the guard reads of a request before anybody else does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.types import Scope

from long_running_agents.errors import UsageError
from long_running_agents.listening import is_loopback
from long_running_agents.server.hosts import plain_address

_ONCE = frozenset({b"host", b"origin", b"authorization", b"cookie"})
"""Headers that decide who asks: two of them would be two answers."""
_FORWARDED = frozenset(
    {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via", "x-forwarded-proto"}
)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request's address, host and headers, as the socket and the parser know them."""

    kind: str
    method: str
    path: str
    query: bytes
    scheme: str
    headers: Mapping[str, str]
    size: int
    """Bytes of all headers."""
    protocols: Sequence[str]
    address: str
    """Where the connection comes from."""
    here: str
    """The address of ours that it came to."""

    @property
    def host(self) -> str:
        """The host that was asked for."""
        return self.headers.get("host", "")

    @property
    def origin(self) -> str | None:
        """The site whose page asks; None for a program."""
        return self.headers.get("origin")

    @property
    def has_body(self) -> bool:
        """Whether more comes after the headers, without being asked for."""
        sends = self.headers.get("content-length", "0") != "0"
        return (sends or "transfer-encoding" in self.headers) and "expect" not in self.headers

    @property
    def on_this_machine(self) -> bool:
        """Whether the connection was made here."""
        return is_loopback(self.address) or self.address == self.here

    @property
    def forwarded(self) -> bool:
        """Whether a proxy passed it on, and the true caller may be anywhere."""
        return not _FORWARDED.isdisjoint(self.headers)


def visit_of(scope: Scope) -> Visit:
    """Read a request.

    Raises:
        UsageError: It says twice what can only be said once.
    """
    headers: dict[str, str] = {}
    size = 0
    for name, value in scope["headers"]:
        size += len(name) + len(value)
        if name in _ONCE and name.decode("latin-1") in headers:
            raise UsageError(f"There is more than one {name.decode()!r} header.")
        headers[name.decode("latin-1")] = value.decode("latin-1")
    return Visit(
        kind=scope["type"],
        method=scope.get("method", "GET"),
        path=scope["path"],
        query=scope.get("query_string", b""),
        scheme=scope.get("scheme", "http"),
        headers=headers,
        size=size,
        protocols=scope.get("subprotocols", ()),
        address=_first(scope.get("client")),
        here=_first(scope.get("server")),
    )


def _first(pair: Any) -> str:
    return plain_address(str(pair[0])) if pair else ""
