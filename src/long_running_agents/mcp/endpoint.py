"""A server at an address: streamable HTTP, with a bound for what comes back."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client
from typing_extensions import override

from long_running_agents.mcp.spec import Endpoint

LARGEST_ANSWER = 16 << 20
_CONNECTING = 10.0
_EVENTS = "text/event-stream"


@asynccontextmanager
async def reached(endpoint: Endpoint, patience: float) -> AsyncGenerator[tuple[Any, Any]]:
    """A way to an address while inside.

    The library follows redirects on the same origin only, so the headers go nowhere else.

    Args:
        endpoint: The address.
        patience: Seconds to wait for something to come.
    """
    async with (
        httpx2.AsyncClient(
            # Unpacked, a small answer can be of any size.
            headers={**endpoint.headers, "Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(patience, connect=_CONNECTING),
            follow_redirects=False,
            event_hooks={"response": [_bound]},
        ) as client,
        streamable_http_client(
            endpoint.url, http_client=client, max_sse_event_size=LARGEST_ANSWER
        ) as streams,
    ):
        yield streams


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("The answer is compressed, although that was not asked for.")
    # A stream of events goes on for as long as it likes; the library bounds each of them.
    if not response.headers.get("content-type", "").startswith(_EVENTS):
        response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream))


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for piece in self._stream:
            length += len(piece)
            if length > LARGEST_ANSWER:
                raise httpx2.StreamError(f"The answer has more than {LARGEST_ANSWER} bytes.")
            yield piece

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()
