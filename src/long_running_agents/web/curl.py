"""Requests that a site cannot tell from a browser's, each to the very address that was checked."""

import asyncio
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from curl_cffi import AsyncCurl, Curl, CurlError, CurlInfo, CurlOpt
from curl_cffi.requests.impersonate import DEFAULT_CHROME

from long_running_agents.errors import AddressRefused, Unavailable
from long_running_agents.web.fetch import TransportRequest, TransportResponse

Address = IPv4Address | IPv6Address

_PACKINGS = "gzip, deflate, br, zstd"
_CONNECTING = 10_000
"""Milliseconds until there has to be a connection."""


class _Enough(Exception):
    """Ends a transfer."""


@dataclass(slots=True)
class _Listener:
    """Takes what curl hears."""

    size: int
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytearray = field(default_factory=bytearray)

    def header(self, line: bytes) -> int:
        """Take a line of the head."""
        if line.startswith(b"HTTP/"):
            # Also after a 103: what counts is the last head.
            self.headers = {}
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        if colon:
            self.headers.setdefault(name.strip().lower(), value.strip())
        return len(line)

    def piece(self, data: bytes) -> int:
        """Take a piece of the body. curl unpacks in small pieces, so no bomb gets far."""
        self.body += data[: self.size - len(self.body)]
        if len(self.body) >= self.size:
            raise _Enough
        return len(data)


@dataclass(frozen=True, slots=True)
class CurlTransport:
    """curl, with the handshake and the headers of a browser."""

    authorities: Path | None = None
    """Whom to trust instead of the usual authorities."""

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Ask, and follow no redirect."""
        # One for each request: it looks around ten times a second for as long as it lives.
        multi = AsyncCurl()
        curl = Curl()
        listener = _Listener(request.size)
        cut = False
        try:
            self._prepare(curl, request, listener)
            await multi.add_handle(curl)
        except asyncio.CancelledError:
            multi.remove_handle(curl)
            raise
        except _Enough:
            cut = True
        except CurlError as error:
            raise Unavailable(f"{request.target.host} did not answer: {_why(error)}.") from error
        finally:
            status, reached = _outcome(curl)
            await multi.close()
            curl.close()
        if reached is None or reached != _address(request.address):
            raise AddressRefused(f"{request.target.host} was not reached where it was checked.")
        return TransportResponse(
            status=status, headers=listener.headers, body=bytes(listener.body), cut=cut
        )

    def _prepare(self, curl: Curl, request: TransportRequest, listener: _Listener) -> None:
        if curl.impersonate(DEFAULT_CHROME):
            raise RuntimeError("curl does not know the browser that it says is its newest")
        curl.setopt(CurlOpt.URL, request.url)
        if _address(request.target.host) is None:
            address = f"[{request.address}]" if ":" in request.address else request.address
            pinned = f"{request.target.host}:{request.target.port}:{address}"
            curl.setopt(CurlOpt.RESOLVE, [pinned])
        # The environment may name a proxy, which would look names up anew.
        curl.setopt(CurlOpt.PROXY, "")
        curl.setopt(CurlOpt.NOPROXY, "*")
        curl.setopt(CurlOpt.FOLLOWLOCATION, 0)
        curl.setopt(CurlOpt.ACCEPT_ENCODING, _PACKINGS)
        curl.setopt(CurlOpt.PROTOCOLS_STR, "http,https")
        curl.setopt(CurlOpt.NOSIGNAL, 1)
        curl.setopt(CurlOpt.CONNECTTIMEOUT_MS, _CONNECTING)
        if self.authorities is not None:
            curl.setopt(CurlOpt.CAINFO, str(self.authorities))
        if request.headers:
            lines = [f"{name}: {value}".encode() for name, value in request.headers.items()]
            curl.setopt(CurlOpt.HTTPHEADER, lines)
        curl.setopt(CurlOpt.HEADERFUNCTION, listener.header)
        curl.setopt(CurlOpt.WRITEFUNCTION, listener.piece)


def _outcome(curl: Curl) -> tuple[int, Address | None]:
    """The status, and the address that was connected to."""
    status = curl.getinfo(CurlInfo.RESPONSE_CODE)
    reached = curl.getinfo(CurlInfo.PRIMARY_IP)
    return (
        status if isinstance(status, int) else 0,
        _address(reached.decode()) if isinstance(reached, bytes) else None,
    )


def _address(text: str) -> Address | None:
    """An address, however it is written; None for a name."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _why(error: CurlError) -> str:
    """What curl says, without where to read about curl."""
    text = str(error).partition(" See https://")[0]
    return text.rpartition("curl: ")[2].rstrip(". ")
