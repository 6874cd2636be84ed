"""Hosts and origins: whether a request was meant for this server, and from where it was sent.

A page of any site can send requests to any address, and can let its own name lead to ours. Its
browser says which name was asked for, and on whose behalf. Pure.
"""

import functools
import ipaddress
import re
from collections.abc import Collection

from long_running_agents.listening import is_loopback

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
    """Whether a host means this server.

    Args:
        host: The host that was asked for.
        here: The address of ours that the connection came to.
        allowed: Names that were set, such as example.org or *.example.org.
    """
    return is_loopback(host) or host == here or is_named(host, allowed)


def is_named(host: str, allowed: Collection[str]) -> bool:
    """Whether a host is one of the names that were set."""
    return any(
        host == name or (name.startswith("*.") and host.endswith(name[1:]))
        for name in (entry.lower() for entry in allowed)
    )


def is_same_origin(origin: str, scheme: str, host: str) -> bool:
    """Whether a page came from the very server that it now asks.

    Args:
        origin: The Origin header.
        scheme: The scheme of the request.
        host: The Host header.
    """
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
    """Whether a browser says that a page of another site loads this as a part of itself.

    Args:
        site: Sec-Fetch-Site, empty if it is not sent.
        mode: Sec-Fetch-Mode.
        method: The method of the request.
    """
    followed_a_link = mode == "navigate" and method in ("GET", "HEAD")
    return site in ("cross-site", "same-site") and not followed_a_link
