"""As much of the Docker API as a sandbox needs, over its socket. Podman speaks the same."""

import asyncio
import contextlib
import json
import struct
from pathlib import Path
from typing import Any

import httpx2

from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox.result import Json

_VERSION = "/v1.40"
_BASE = "http://docker"
_PATIENCE = 60.0
_BUILD = 1800.0
_STREAM = struct.Struct("!BxxxI")
_OUT = 1
_LONGEST_COMPLAINT = 4000
_OK = 300


class Attached:
    """A container's standard streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.out = asyncio.StreamReader()
        self.writer = writer
        self.complaints = b""
        """What it said on standard error."""
        self._reader = reader
        self._sorting = asyncio.ensure_future(self._sort())

    async def close(self) -> None:
        """Hang up."""
        self._sorting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._sorting
        self.writer.close()

    async def _sort(self) -> None:
        """Tell output from complaints: they come mixed, each piece with a head."""
        try:
            while True:
                kind, size = _STREAM.unpack(await self._reader.readexactly(_STREAM.size))
                while size:
                    piece = await self._reader.read(min(size, 1 << 16))
                    if not piece:
                        return
                    size -= len(piece)
                    if kind == _OUT:
                        self.out.feed_data(piece)
                    else:
                        self.complaints = (self.complaints + piece)[-_LONGEST_COMPLAINT:]
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            self.out.feed_eof()


class DockerApi:
    """Speaks to one daemon."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def version(self) -> Json:
        """What answers there.

        Raises:
            SandboxUnavailable: Nothing does.
        """
        transport = httpx2.HTTPTransport(uds=str(self.socket))
        try:
            with httpx2.Client(transport=transport, base_url=_BASE, timeout=_PATIENCE) as client:
                answer = client.get(f"{_VERSION}/version")
                return answer.json()
        except (httpx2.HTTPError, OSError, ValueError) as error:
            raise SandboxUnavailable(f"No Docker API answers at {self.socket}.") from error

    async def ask(
        self, method: str, path: str, *, body: Any = None, **more: str
    ) -> tuple[int, Json]:
        """Ask for something: the status, and what was answered.

        Raises:
            SandboxUnavailable: The daemon does not answer.
        """
        async with self._client(_PATIENCE) as client:
            try:
                answer = await client.request(method, _VERSION + path, json=body, params=more)
            except httpx2.HTTPError as error:
                raise SandboxUnavailable(
                    f"The Docker API at {self.socket} does not answer ({type(error).__name__})."
                ) from error
        try:
            told: Json = answer.json() if answer.content else {}
        except ValueError:
            told = {"message": answer.text}
        return answer.status_code, told

    async def build(self, tag: str, context: bytes) -> None:
        """Build an image from an archive with a Dockerfile.

        Raises:
            SandboxUnavailable: It cannot be built.
        """
        async with self._client(_BUILD) as client:
            try:
                answer = await client.post(
                    f"{_VERSION}/build",
                    params={"t": tag, "rm": "1"},
                    content=context,
                    headers={"Content-Type": "application/x-tar"},
                )
            except httpx2.HTTPError as error:
                raise SandboxUnavailable(f"The image {tag} cannot be built: {error}.") from error
        wrong = [line for line in answer.text.splitlines() if '"error"' in line]
        if answer.status_code >= _OK or wrong:
            told = wrong[-1] if wrong else answer.text
            with contextlib.suppress(ValueError, KeyError, TypeError):
                told = str(json.loads(told)["error"])
            raise SandboxUnavailable(f"The image {tag} cannot be built: {told[-300:]}")

    async def attach(self, container: str) -> Attached:
        """Take over a container's streams; the connection stops being HTTP."""
        reader, writer = await asyncio.open_unix_connection(self.socket)
        writer.write(
            f"POST {_VERSION}/containers/{container}/attach?stream=1&stdin=1&stdout=1&stderr=1"
            " HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            "Content-Length: 0\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ", 2)[1]
        if status not in (b"101", b"200"):
            writer.close()
            raise SandboxUnavailable("The container's streams cannot be had.")
        return Attached(reader, writer)

    def _client(self, patience: float) -> httpx2.AsyncClient:
        transport = httpx2.AsyncHTTPTransport(uds=str(self.socket))
        return httpx2.AsyncClient(transport=transport, base_url=_BASE, timeout=patience)
