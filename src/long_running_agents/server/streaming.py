"""Events as a stream over plain HTTP."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from fastapi.responses import StreamingResponse

from long_running_agents.agent.hub import Heard
from long_running_agents.agent.turns import TurnService
from long_running_agents.domain.events import CLOSING, Recorded
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.turn import Turn
from long_running_agents.server.wire import heard as wire

_PATIENCE = 15.0
"""Seconds without news after which something is sent all the same, so that nobody hangs up."""
STREAM = "text/event-stream"
RESPONSES: dict[int | str, dict[str, Any]] = {200: {"content": {STREAM: {}}}}
"""What a route that may stream says of itself."""


def wants_stream(accept: str | None) -> bool:
    """Whether a client asks for a stream."""
    return STREAM in (accept or "")


def streamed(frames: AsyncGenerator[str]) -> StreamingResponse:
    """A response that goes on as long as there is something to hear."""
    return StreamingResponse(frames, media_type=STREAM, headers={"X-Accel-Buffering": "no"})


async def of_session(turns: TurnService, session_id: SessionId, after: int) -> AsyncGenerator[str]:
    """Everything that happens in a session after a number, without end."""
    async for heard in _heard(turns, session_id, after):
        yield _frame(heard)


async def of_turn(turns: TurnService, turn: Turn) -> AsyncGenerator[str]:
    """Everything that happened and happens in a turn, to its end."""
    after = await turns.before(turn.id)
    async for heard in _heard(turns, turn.session_id, after):
        if heard is not None and heard.turn_id != turn.id:
            continue
        yield _frame(heard)
        if isinstance(heard, Recorded) and isinstance(heard.event, CLOSING):
            return


async def _heard(
    turns: TurnService, session_id: SessionId, after: int
) -> AsyncGenerator[Heard | None]:
    """What is heard; None whenever nothing was for a while."""
    news = asyncio.Event()
    listener = turns.listen(session_id, after, news)
    while True:
        news.clear()
        while (heard := await listener.taken()) is not None:
            yield heard
        try:
            async with asyncio.timeout(_PATIENCE):
                await news.wait()
        except TimeoutError:
            yield None


def _frame(heard: Heard | None) -> str:
    if heard is None:
        return ": nothing new\n\n"
    if isinstance(heard, Recorded):
        return f"id: {heard.seq}\nevent: {heard.event.type}\ndata: {wire.text(heard)}\n\n"
    return f"event: {heard.delta.type}\ndata: {wire.text(heard)}\n\n"
