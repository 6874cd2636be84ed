"""The guard against addresses that no foreign code or page may reach. Pure but for the resolver.

Whoever connects does three things: `check_url` on every URL, redirects included; `checked` on what
the name resolves to; and a connection to that very address, so that a name cannot change its mind.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from long_running_agents.errors import AddressRefused, Unavailable

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host and a port to its addresses."""
IsPublic = Callable[[str], bool]

WEB_PORTS = frozenset({80, 443})

# What the standard library calls global although it leads to private places, or may.
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fec0::/10",
    )
)
_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
)
_LOCAL = frozenset(
    {
        "arpa",
        "corp",
        "home",
        "internal",
        "intranet",
        "invalid",
        "lan",
        "local",
        "localdomain",
        "localhost",
        "onion",
        "private",
    }
)
"""Last words of names that lead nowhere on the open internet."""
_UNCLEAN = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBERS = re.compile(r"[0-9.]+")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a URL leads."""

    scheme: str
    host: str
    """A name in its plain form, or an address."""
    port: int


def is_public(address: str) -> bool:
    """Whether an address belongs to the open internet."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if not found.is_global or found.is_multicast or found.is_reserved or found.is_link_local:
        return False
    return not any(found.version == net.version and found in net for net in _NOT_PUBLIC)


def check_url(
    url: str, *, ports: frozenset[int] = WEB_PORTS, public: IsPublic = is_public
) -> Target:
    """Read a URL that may be fetched.

    Raises:
        AddressRefused: It may not; the message says why.
    """
    if _UNCLEAN.search(url):
        raise AddressRefused("There is a space, a control character or a backslash in the URL.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressRefused("The URL cannot be read.") from error
    scheme = parts.scheme.lower()
    if scheme not in ("http", "https"):
        raise AddressRefused(f"Only http and https may be fetched, not {scheme or 'nothing'!r}.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("There are credentials in the URL.", hint="Leave them out.")
    port = (443 if scheme == "https" else 80) if port is None else port
    if port not in ports:
        raise AddressRefused(f"Port {port} is not one of the web.")
    return Target(scheme, check_host(parts.hostname or "", public=public), port)


def check_host(host: str, *, public: IsPublic = is_public) -> str:
    """Read a host, in whatever way it is written; the plain form of it.

    Raises:
        AddressRefused: It is private, local or no host.
    """
    host = host.strip("[]").rstrip(".").lower()
    if ":" not in host:
        host = _plain(host)
    if ":" in host or _NUMBERS.fullmatch(host):
        if not public(host):
            raise AddressRefused(f"{host} is not an address of the open internet.")
        return host
    if not _NAME.fullmatch(host) or host.rpartition(".")[2] in _LOCAL:
        raise AddressRefused(f"{host[:80]!r} is not a name of the open internet.")
    return host


def _plain(host: str) -> str:
    """Fold the many ways to write a name or an address into one."""
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError as error:
            raise AddressRefused(f"{host[:80]!r} is not a name.") from error
    try:
        # As C libraries read it: 2130706433, 0x7f.1 and 0177.0.0.1 are all the same address.
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return host


async def checked(
    host: str, port: int, *, resolve: Resolver | None = None, public: IsPublic = is_public
) -> str:
    """The one address to connect to; every address of the name has to be public.

    Raises:
        AddressRefused: One of them is not.
        Unavailable: There is none.
    """
    try:
        found = list(await (resolve or look_up)(host, port))
    except OSError as error:
        raise Unavailable(f"{host} cannot be looked up: {error.strerror or error}.") from error
    if not found:
        raise Unavailable(f"{host} has no address.")
    if not all(public(address) for address in found):
        raise AddressRefused(f"{host} leads to an address that is not of the open internet.")
    return found[0]


async def look_up(host: str, port: int) -> list[str]:
    """Ask the system for a name's addresses."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def allows(entries: Sequence[str], host: str, port: int) -> bool:
    """Whether an allow-list has a host: `example.org`, `*.example.org` or `example.org:8443`."""
    for entry in entries:
        name, _, own_port = entry.lower().partition(":")
        if port not in ({int(own_port)} if own_port.isdigit() else WEB_PORTS):
            continue
        if host == name or (name.startswith("*.") and host.endswith(name[1:])):
            return True
    return False
