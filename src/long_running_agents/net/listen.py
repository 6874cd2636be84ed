"""Listening for clients: what every server of ours does alike."""

import asyncio
import contextlib
import functools
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import uvicorn
from starlette.types import ASGIApp, Receive

from long_running_agents.errors import Unavailable

T = TypeVar("T")

_REMEMBERED = 1024
_NOTHING: Mapping[str, Any] = {}
_USUAL: Mapping[str, Any] = {
    "ws": "none",
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    # Whose address a request comes from is what the socket says, whatever a header claims.
    "proxy_headers": False,
    "server_header": False,
}


async def serve(
    app: ASGIApp,
    host: str,
    port: int,
    ready: Callable[[str], None],
    options: Mapping[str, Any] = _NOTHING,
) -> None:
    """Serve an application until cancelled or interrupted; at port 0, at a free one."""
    config = configured(app, options)
    with listening(host, port) as listener:
        ready(address_of(host, listener))
        await uvicorn.Server(config).serve(sockets=[listener])


def configured(app: ASGIApp, options: Mapping[str, Any] = _NOTHING) -> uvicorn.Config:
    """How every server of ours listens, but for these options."""
    return uvicorn.Config(app, **{**_USUAL, **options})


def address_of(host: str, listener: socket.socket) -> str:
    """What a client has to be told."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens already, so that a client that is told the address may come at once.

    Raises:
        Unavailable: Nothing can listen there.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise Unavailable(
            f"Nothing can listen at {host}, port {port}: {error.strerror}.",
            hint="Stop what uses the port, or choose another.",
        ) from error
    # What is accepted inherits it. The loop would set it only where the protocol is given, and
    # without it every answer waits for the client's delayed acknowledgement of its head: 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def while_connected(work: Awaitable[T], receive: Receive) -> T | None:
    """What some work gives; None when the client has gone, for whom it is then ended."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await leaving
    with contextlib.suppress(asyncio.CancelledError):
        return await working
    return None


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@functools.lru_cache(_REMEMBERED)
def is_loopback(host: str) -> bool:
    """Whether a name or an address can only mean this machine."""
    if host == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return found.is_loopback
