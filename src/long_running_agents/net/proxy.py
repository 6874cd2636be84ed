"""A proxy of ours: the only way out for foreign programs, through the guard against addresses."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from long_running_agents.errors import AddressRefused, LraError
from long_running_agents.net.addresses import (
    IsPublic,
    Resolver,
    allows,
    check_host,
    checked,
    is_public,
)

LARGEST_HEAD = 64 << 10
REFUSED = "x-proxy-refused"
"""The header by which an answer of ours is told from one of the other end."""
_PIECE = 64 << 10
_PATIENCE = 15.0
_REMEMBERED = 1000
_MOST = 64
"""Connections at a time: each takes two descriptors of ours."""
_PER_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"trailer",
        b"upgrade",
        b"host",
        b"expect",
    }
)


@dataclass(slots=True)
class Passage:
    """One connection that was asked for."""

    host: str
    port: int
    refused: str = ""
    """Why it was not made."""
    sent: int = 0
    received: int = 0


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a client asks for."""

    host: str
    port: int
    opening: bytes = b""
    """What to say first at the other end; nothing for a tunnel."""
    body: int | None = None
    """How many bytes of the client follow; None for a tunnel."""


Admit = Callable[[str, int], None]
"""Raises AddressRefused for a host and a port that may not be reached, whatever their address."""


class Proxy:
    """Passes connections on to addresses that are public. Whoever makes one lets it listen."""

    def __init__(
        self,
        admit: Admit,
        *,
        resolve: Resolver | None = None,
        public: IsPublic = is_public,
        most: int | None = None,
    ) -> None:
        """Prepare it.

        Args:
            admit: What else may not be reached.
            resolve: Who looks names up.
            public: Which addresses are public.
            most: How many bytes may come in, in all.
        """
        self.passages: deque[Passage] = deque(maxlen=_REMEMBERED)
        """What was asked for, newest last."""
        self.port = 0
        """Where it listens on loopback; 0 while it does not."""
        self._admit = admit
        self._resolve = resolve
        self._public = public
        self._left = most
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    @property
    def exhausted(self) -> bool:
        """Whether more came than may come."""
        return self._left is not None and self._left <= 0

    async def listen(self) -> None:
        """Listen on a port of loopback."""
        self._server = await asyncio.start_server(self.welcome, "127.0.0.1", 0, limit=LARGEST_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]

    def listen_on(self, server: asyncio.Server) -> None:
        """Take over a server whose guests are welcomed here."""
        self._server = server

    async def close(self) -> None:
        """Stop listening, and end what is open."""
        if self._server is not None:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client."""
        if len(self._open) >= _MOST:
            _refuse(writer, 503, "there are too many connections already")
            writer.close()
            return
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        passage = Passage("", 0)
        try:
            async with asyncio.timeout(_PATIENCE):
                wanted = _read(await reader.readuntil(b"\r\n\r\n"))
                passage = Passage(wanted.host, wanted.port)
                self.passages.append(passage)
                there = await self._connect(wanted)
            await self._pass_on(reader, writer, there, wanted, passage)
        except LraError as error:
            passage.refused = error.message
            _refuse(writer, 403, error.message)
        except (TimeoutError, OSError) as error:
            passage.refused = f"{passage.host} cannot be reached"
            _refuse(writer, 502, f"{passage.refused}: {error or 'no answer'}")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            _refuse(writer, 400, "the request cannot be read")
        finally:
            with contextlib.suppress(OSError):
                writer.close()

    async def _connect(self, wanted: _Wanted) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host = check_host(wanted.host, public=self._public)
        self._admit(host, wanted.port)
        address = await checked(host, wanted.port, resolve=self._resolve, public=self._public)
        return await asyncio.open_connection(address, wanted.port)

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        wanted: _Wanted,
        passage: Passage,
    ) -> None:
        far_reader, far_writer = there

        def sent(count: int) -> None:
            passage.sent += count

        def received(count: int) -> None:
            passage.received += count
            if self._left is not None:
                self._left -= count

        try:
            if wanted.body is None:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            far_writer.write(wanted.opening)
            sending = asyncio.ensure_future(_copy(reader, far_writer, wanted.body, sent))
            try:
                await _copy(far_reader, writer, None, received, lambda: not self.exhausted)
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
        finally:
            far_writer.close()


def _read(head: bytes) -> _Wanted:
    if b"\n" in head.replace(b"\r\n", b""):
        # To some servers a line ends here as well, and the rest would be a header of its own.
        raise AddressRefused("the request cannot be read")
    try:
        first, *lines = head[:-4].split(b"\r\n")
        method, target, _ = first.decode("ascii").split(" ")
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            return _Wanted(host.strip("[]"), int(port))
        return _plain(method, target, [line.partition(b":") for line in lines])
    except (ValueError, UnicodeDecodeError) as error:
        raise AddressRefused("the request cannot be read") from error


def _plain(method: str, target: str, lines: list[tuple[bytes, bytes, bytes]]) -> _Wanted:
    """Make a request anew, so that it says nothing to another host than the one asked for."""
    parts = urlsplit(target)
    if parts.scheme != "http" or not parts.hostname or parts.username is not None:
        raise AddressRefused("only http:// URLs without credentials are passed on")
    headers = {name.strip().lower(): value.strip() for name, _, value in lines}
    if b"transfer-encoding" in headers:
        raise AddressRefused("a body of unknown length is not passed on; use https")
    port = parts.port or 80
    host = parts.hostname if port == 80 else f"{parts.hostname}:{port}"  # noqa: PLR2004 - as the web does
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    opening = [f"{method} {path} HTTP/1.1".encode("ascii"), f"Host: {host}".encode("ascii")]
    opening += [name + b": " + value for name, value in headers.items() if name not in _PER_HOP]
    opening += [b"Connection: close", b"", b""]
    body = int(headers.get(b"content-length", b"0"))
    return _Wanted(parts.hostname, port, b"\r\n".join(opening), body)


async def _copy(
    source: asyncio.StreamReader,
    target: asyncio.StreamWriter,
    most: int | None,
    count: Callable[[int], None],
    go_on: Callable[[], bool] = lambda: True,
) -> None:
    """Pass bytes on until there are no more, or no more are due."""
    done = 0
    while (most is None or done < most) and go_on():
        part = await source.read(_PIECE if most is None else min(_PIECE, most - done))
        if not part:
            break
        target.write(part)
        await target.drain()
        done += len(part)
        count(len(part))
    if most is None and target.can_write_eof():
        target.write_eof()


def _refuse(writer: asyncio.StreamWriter, status: int, why: str) -> None:
    # Also as the reason: that is what most clients show.
    line = "".join(sign if " " <= sign <= "~" else "?" for sign in why)[:200]
    body = f"{why}\n".encode()
    head = (
        f"HTTP/1.1 {status} {line}\r\n{REFUSED}: 1\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with contextlib.suppress(OSError):
        writer.write(head.encode("ascii") + body)


class EgressProxy(Proxy):
    """Listens on a socket of the file system, for one sandbox."""

    def __init__(
        self,
        allowed: Sequence[str],
        path: Path,
        *,
        resolve: Resolver | None = None,
        public: IsPublic = is_public,
    ) -> None:
        super().__init__(self._check, resolve=resolve, public=public)
        self.path = path
        self._allowed = tuple(allowed)

    async def open(self, *, owner: int | None = None) -> None:
        """Listen; only the owner may come."""
        self.listen_on(await asyncio.start_unix_server(self.welcome, self.path, limit=LARGEST_HEAD))
        self.path.chmod(0o600)
        if owner is not None:
            os.chown(self.path, owner, owner)

    def _check(self, host: str, port: int) -> None:
        if not allows(self._allowed, host, port):
            raise AddressRefused(
                f"{host}:{port} is not on the sandbox's allow-list ({', '.join(self._allowed)})"
            )
