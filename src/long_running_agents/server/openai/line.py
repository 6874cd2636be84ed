"""The line to a client: words as they come, a sign of life between them, and its going away."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request as HttpRequest
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import Busy, LraError
from long_running_agents.server.failures import refusal
from long_running_agents.server.openai.following import Following, Piece, Rest

PATIENCE = 8.0
"""Seconds that the status of a response waits for the first word."""
SIGN = 15.0
"""Seconds of silence before a sign of life."""
_GONE = 499
_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}

Pieces = AsyncGenerator[Piece | LraError]
"""Words, then how the turn came to rest, or why nobody knows."""
Render = Callable[[Pieces], AsyncGenerator[str]]
"""Puts pieces into the form of a protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Whoever is at the other end, and what is to be done for them."""

    http: HttpRequest
    keep: Callable[[Rest], Awaitable[None]]
    """Remembers how the turn came to rest, before the client hears of it."""
    leave: Callable[[], Awaitable[None]]
    """What is done when the client goes away before that."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a response says beside its body."""


class Line:
    """Passes the words of turns on, whole or as they come.

    Args:
        clock: Waits.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._farewells: set[asyncio.Future[None]] = set()

    async def whole(self, client: Client, following: Following) -> Rest | Response:
        """How a turn came to rest; or what is answered when it did so badly."""
        ending = asyncio.ensure_future(_end(self._kept(client, following)))
        try:
            if not await self._unless_gone(client, ending):
                self._part(client, following)
                return Response(status_code=_GONE)
            rest = ending.result()
        finally:
            ending.cancel()
        return _refused(rest) or rest

    async def streamed(self, client: Client, following: Following, render: Render) -> Response:
        """The words of a turn as they come.

        What fails before the first word is answered with its own status.
        """
        pieces = self._kept(client, following)
        first = asyncio.ensure_future(anext(pieces))
        try:
            there = await self._unless_gone(client, first, PATIENCE)
        except asyncio.CancelledError:
            first.cancel()
            raise
        if not there:
            first.cancel()
            self._part(client, following)
            return Response(status_code=_GONE)
        if first.done() and isinstance(rest := first.result(), Rest):
            refused = _refused(rest)
            if refused is not None:
                await pieces.aclose()
                return refused
        chunks = self._alive(render(_from(first, pieces)))
        return EventStream(chunks, client.headers, lambda: self._part(client, following))

    async def _kept(self, client: Client, following: Following) -> AsyncGenerator[Piece]:
        async with aclosing(following.pieces()) as pieces:
            async for piece in pieces:
                if isinstance(piece, Rest) and piece.turn.status in _GOOD:
                    await client.keep(piece)
                yield piece

    async def _unless_gone(
        self, client: Client, wanted: asyncio.Future[Any], seconds: float | None = None
    ) -> bool:
        """Wait for something, but not longer than the client; False when it has gone."""
        leaving = asyncio.ensure_future(_gone(client.http))
        both = asyncio.ensure_future(
            asyncio.wait({wanted, leaving}, return_when=asyncio.FIRST_COMPLETED)
        )
        try:
            if seconds is None:
                await both
            else:
                await self._clock.wait(both, seconds)
            return wanted.done() or not leaving.done()
        finally:
            both.cancel()
            leaving.cancel()

    async def _alive(self, chunks: AsyncGenerator[str]) -> AsyncGenerator[str]:
        coming: asyncio.Future[str] | None = None
        try:
            while True:
                coming = coming or asyncio.ensure_future(anext(chunks))
                if not await self._clock.wait(coming, SIGN):
                    yield ": still at work\n\n"
                    continue
                try:
                    chunk = coming.result()
                except StopAsyncIteration:
                    return
                coming = None
                yield chunk
        finally:
            if coming is not None:
                coming.cancel()

    def _part(self, client: Client, following: Following) -> None:
        """See whether the client went away before the turn came to rest."""
        if following.rest is None:
            farewell = asyncio.ensure_future(client.leave())
            self._farewells.add(farewell)
            farewell.add_done_callback(self._farewells.discard)


_GOOD = (TurnStatus.DONE, TurnStatus.LIMITED, TurnStatus.WAITING)


class EventStream(StreamingResponse):
    """Server-sent events; whoever made it hears when the client has them all, or has gone."""

    def __init__(
        self, content: AsyncGenerator[str], headers: Mapping[str, str], over: Callable[[], None]
    ) -> None:
        told = {**_HEADERS, **headers}
        super().__init__(content, media_type="text/event-stream", headers=told)
        self._over = over

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:
            # The server ends, and not the client: the turn goes on when the home is opened again.
            raise
        except BaseException:
            self._over()
            raise
        self._over()


def failure_of(rest: Rest) -> LraError | None:
    """Why a turn has nothing to say; None when it has."""
    if rest.failure is not None and rest.turn.status is TurnStatus.FAILED:
        return _error(rest.failure.code)(rest.failure.message, hint=rest.failure.hint)
    if rest.turn.status is TurnStatus.STOPPED and not rest.sent:
        return Busy("The turn was stopped.")
    return None


def _refused(rest: Rest) -> Response | None:
    if (error := failure_of(rest)) is None:
        return None
    # We have tried as often as makes sense: a client that asks again would begin another turn.
    return refusal(error, {"x-should-retry": "false"})


def _error(code: str) -> type[LraError]:
    """The class of an error of which only the code is left."""
    kinds: list[type[LraError]] = [LraError]
    for kind in kinds:
        if kind.code == code:
            return kind
        kinds.extend(kind.__subclasses__())
    return LraError


async def _from(
    first: asyncio.Future[Piece], rest: AsyncGenerator[Piece]
) -> AsyncGenerator[Piece | LraError]:
    try:
        async with aclosing(rest):
            yield await first
            async for piece in rest:
                yield piece
    except LraError as error:
        # Too late for a status of its own.
        yield error


async def _end(pieces: AsyncGenerator[Piece]) -> Rest:
    async with aclosing(pieces):
        async for piece in pieces:
            if isinstance(piece, Rest):
                return piece
    raise AssertionError("a turn comes to rest")


async def _gone(http: HttpRequest) -> None:
    while (await http.receive())["type"] != "http.disconnect":
        pass
