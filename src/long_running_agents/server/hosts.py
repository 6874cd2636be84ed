"""Hosts and origins: whether a request was meant for this server, and from where it was sent.

A page of any site can send requests to any address, and can let its own name lead to ours. Its
browser says which name was asked for, and on whose behalf. Pure. This is what CSRF, CORS and
DNS rebinding are decided by.
"""

import functools
import ipaddress
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.types import Scope

from long_running_agents.errors import UsageError
from long_running_agents.net.listen import is_loopback
from long_running_agents.server.auth import PEER, PeerCredentials

_REMEMBERED = 1024
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::\d{1,5})?")


@functools.lru_cache(_REMEMBERED)
def host_of(text: str) -> str | None:
    """The name or address in a Host header, in its plain form; None if it is none."""
    found = _HOST.fullmatch(text.lower())
    if found is None:
        return None
    if found["six"] is None:
        return found["name"]
    try:
        return str(ipaddress.IPv6Address(found["six"]))
    except ValueError:
        return None


def plain_address(address: str) -> str:
    """An address of a socket as a Host header would say it."""
    return address.partition("%")[0].removeprefix("::ffff:")


@functools.lru_cache(_REMEMBERED)
def neighbourhood(address: str) -> str:
    """What one caller has for sure: an address, or a whole /64 of the newer kind."""
    plain = plain_address(address)
    if ":" not in plain:
        return plain
    return str(ipaddress.ip_network(f"{plain}/64", strict=False))


def is_known(host: str, here: str, allowed: Collection[str]) -> bool:
    """Whether a host means this server, at its own address or by a name such as *.example.org."""
    return is_loopback(host) or host == here or is_named(host, allowed)


def is_named(host: str, allowed: Collection[str]) -> bool:
    """Whether a host is one of the names that were set."""
    return any(
        host == name or (name.startswith("*.") and host.endswith(name[1:]))
        for name in (entry.lower() for entry in allowed)
    )


def is_same_origin(origin: str, scheme: str, host: str) -> bool:
    """Whether a page came from the very server that it now asks."""
    secure = scheme in ("https", "wss")
    own, _, place = origin.lower().partition("://")
    if own != ("https" if secure else "http"):
        return False
    return _with_port(place, secure) == _with_port(host.lower(), secure)


def _with_port(host: str, secure: bool) -> str:
    return host if re.search(r":\d+$", host) else f"{host}:{443 if secure else 80}"


def is_listed(origin: str, allowed: Collection[str]) -> bool:
    """Whether a page is of a site that was set; 'null' is of no site."""
    return origin != "null" and origin.lower() in {each.lower().rstrip("/") for each in allowed}


def is_foreign_embedding(site: str, mode: str, method: str) -> bool:
    """Whether a browser says (Sec-Fetch-…) that a page of another site loads this within itself."""
    followed_a_link = mode == "navigate" and method in ("GET", "HEAD")
    return site in ("cross-site", "same-site") and not followed_a_link


_ONCE = frozenset({b"host", b"origin", b"authorization", b"cookie"})
"""Headers that decide who asks: two of them would be two answers."""
_FORWARDED = frozenset(
    {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via", "x-forwarded-proto"}
)


@dataclass(frozen=True, slots=True)
class RequestInfo:
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
    peer: PeerCredentials | None
    """Who connected, where that can be known."""

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
    def of_another_user(self) -> bool:
        """Whether another user of this machine made the connection, as far as can be known."""
        return self.peer is not None and not self.peer.is_us

    @property
    def forwarded(self) -> bool:
        """Whether a proxy passed it on, and the true caller may be anywhere."""
        return not _FORWARDED.isdisjoint(self.headers)


def visit_of(scope: Scope) -> RequestInfo:
    """Read a request, which says once what can only be said once."""
    headers: dict[str, str] = {}
    size = 0
    for name, value in scope["headers"]:
        size += len(name) + len(value)
        if name in _ONCE and name.decode("latin-1") in headers:
            raise UsageError(f"There is more than one {name.decode()!r} header.")
        headers[name.decode("latin-1")] = value.decode("latin-1")
    return RequestInfo(
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
        peer=scope.get("state", {}).get(PEER),
    )


def _first(pair: Any) -> str:
    return plain_address(str(pair[0])) if pair else ""
