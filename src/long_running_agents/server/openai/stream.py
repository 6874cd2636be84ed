"""Following a turn for a client: its words as they come, until it comes to rest."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from fastapi import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from long_running_agents.agent.hub import Heard, Subscriber
from long_running_agents.agent.turns import TurnService
from long_running_agents.domain.budget import Spent
from long_running_agents.domain.events import (
    ApprovalRequested,
    DeltaEnvelope,
    Event,
    FellBehind,
    RequestRetried,
    StepBegan,
    TextWritten,
    ToolCalled,
    ToolReturned,
    TurnDone,
    TurnFailed,
    TurnLimited,
    TurnStopped,
    WordsArrived,
)
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import Busy, LraError, kind_of
from long_running_agents.server.errors import refusal
from long_running_agents.server.openai.history import ConversationService

ANEW = "[The answer broke off here, and begins anew.]"


@dataclass(frozen=True, slots=True)
class TurnAtRest:
    """The turn has ended, or waits for its client."""

    turn: Turn
    calls: Sequence[ToolCallRecord]
    """The calls that the client is to run."""
    failure: TurnFailed | None
    sent: str
    """All words that were passed on."""


Resting = tuple[Turn, Sequence[ToolCallRecord]]
Piece = str | TurnAtRest
"""A few more words, or the end."""


class TextAssembler:
    """Words of a turn in the order a client can take them: nothing can be taken back.

    Args:
        activity: Whether the client wants to read what the agent does meanwhile.
        late: Whether the turn began before somebody listened: its step is heard from the middle.
        whole: Whether the client wants all words at once: then there is nothing to take back.
        formed: Whether the client wants the answer in its form, and nothing beside it.
    """

    def __init__(
        self,
        *,
        activity: bool = False,
        late: bool = False,
        whole: bool = False,
        formed: bool = False,
    ) -> None:
        self.sent = ""
        self.late = late
        self._activity = activity and not formed
        self._formed = formed
        self._step = ""
        """What was passed on of the step under way."""
        self._whole = whole or formed
        self._muted = late or self._whole
        """Whether its words are held back until all of them are known."""

    def words(self, delta: WordsArrived | RequestRetried | FellBehind) -> str:
        """A few words arrived, were lost, or those of this step are void."""
        if isinstance(delta, FellBehind):
            # What is missing comes with the fact.
            self._muted = True
            return ""
        if isinstance(delta, RequestRetried):
            self._muted = self._muted or bool(self._step)
            return ""
        if self._muted:
            return ""
        first = self._apart() if not self._step else ""
        self._step += delta.text
        return self._say(first + delta.text)

    def fact(self, event: Event) -> str:
        """Something happened: what of it is to be said."""
        match event:
            case TurnDone(text=text) if self._formed:
                return self._say(text)
            case TextWritten(text=text) if not self._formed:
                said = self._rest_of(text)
                self._step, self._muted = "", self._whole
                return self._say(said)
            case TurnStopped(text=text) if text and not self._step:
                return self._say(self._apart() + text)
            case TurnLimited(text=text):
                self._step = ""
                return self._say(self._apart() + text)
            case ToolCalled() | ToolReturned() | ApprovalRequested() if self._activity:
                return self._say(self._apart() + _told(event))
            case _:
                return ""

    def _rest_of(self, text: str) -> str:
        if not self._step:
            return self._apart() + text
        if text.startswith(self._step):
            return text[len(self._step) :]
        return f"\n\n{ANEW}\n\n{text}"

    def _apart(self) -> str:
        return "\n\n" if self.sent else ""

    def _say(self, text: str) -> str:
        self.sent += text
        return text


class TurnStream:
    """One turn, from where a request began or continued it to where it comes to rest.

    The listener hears its session since before that, and `after` is the session's last event then;
    0 to hear all of the turn.
    """

    def __init__(
        self,
        turns: TurnService,
        conversations: ConversationService,
        turn: Turn,
        listener: Subscriber,
        after: int,
        sayer: TextAssembler,
    ) -> None:
        self.turn = turn
        self.before = Spent() if sayer.late else turn.spent
        """What the turn had used before this request."""
        self.rest: TurnAtRest | None = None
        self._failure: TurnFailed | None = None
        self._turns = turns
        self._conversations = conversations
        self._listener = listener
        self._seen = after
        self._sayer = sayer
        self._moved = asyncio.Event()

    async def pieces(self) -> AsyncGenerator[Piece]:
        """Words, then the end."""
        if self._sayer.late:
            for text in await self._catch_up():
                yield text
        resting = asyncio.ensure_future(self._resting())
        try:
            async with aclosing(self._words(resting)) as words:
                async for text in words:
                    yield text
            turn, calls = resting.result()
            # The bell may be behind; the log is not.
            for text in await self._catch_up():
                yield text
            self.rest = TurnAtRest(turn, calls, self._failure, self._sayer.sent)
            yield self.rest
        finally:
            resting.cancel()
            await self._listener.aclose()

    async def _words(self, resting: asyncio.Future[Resting]) -> AsyncGenerator[str]:
        """What is heard until the turn has come to rest."""
        hearing: asyncio.Future[Heard] | None = None
        try:
            while True:
                hearing = hearing or asyncio.ensure_future(anext(self._listener))
                await asyncio.wait({resting, hearing}, return_when=asyncio.FIRST_COMPLETED)
                if not hearing.done():
                    return
                heard, hearing = hearing.result(), None
                if text := self._hear(heard):
                    yield text
        finally:
            if hearing is not None:
                hearing.cancel()

    def _hear(self, heard: Heard) -> str:
        if heard.turn_id != self.turn.id:
            return ""
        if isinstance(heard, DeltaEnvelope):
            delta = heard.delta
            return "" if isinstance(delta, StepBegan) else self._sayer.words(delta)
        self._moved.set()
        return self._fact(heard.seq, heard.event)

    def _fact(self, seq: int, event: Event) -> str:
        if seq <= self._seen:
            return ""
        self._seen = seq
        if isinstance(event, TurnFailed):
            self._failure = event
        return self._sayer.fact(event)

    async def _catch_up(self) -> Iterator[str]:
        told = await self._conversations.told(self.turn)
        return filter(None, [self._fact(recorded.seq, recorded.event) for recorded in told])

    async def _resting(self) -> Resting:
        while True:
            turn = await self._turns.settled(self.turn.id)
            if turn.status.ended:
                return turn, []
            if calls := await self._turns.client_calls(turn.id):
                return turn, calls
            # A person has to say; whatever happens next in the turn may be that.
            await self._moved.wait()
            self._moved.clear()


def _told(event: ToolCalled | ToolReturned | ApprovalRequested) -> str:
    """What the agent does, folded away where a front end can do that."""
    match event:
        case ToolCalled(tool=tool, input=given):
            title, text = f"Calls {tool}", str(given)
        case ToolReturned(tool=tool, result_preview=text, outcome=outcome):
            title = f"{tool}: {outcome}"
        case ApprovalRequested(tool=tool, question=text):
            title = f"{tool} waits for an approval"
    shown = text.replace("<", "&lt;")
    return f'<details type="reasoning">\n<summary>{title}</summary>\n\n{shown}\n\n</details>'


PATIENCE = 8.0
"""Seconds that the status of a response waits for the first word."""
SIGN = 15.0
"""Seconds of silence before a sign of life."""
_GONE = 499
_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}

Pieces = AsyncGenerator[Piece | LraError]
"""Words, then how the turn came to rest, or why nobody knows."""


class TurnRenderer(Protocol):
    """Puts a turn into the form of a protocol."""

    def whole(self, rest: TurnAtRest) -> dict[str, Any]:
        """All of it at once."""
        ...

    def events(self, pieces: Pieces) -> AsyncGenerator[bytes]:
        """Server-sent events, as the words come."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIClient:
    """Whoever is at the other end, and what is to be done for them."""

    http: HttpRequest
    keep: Callable[[TurnAtRest], Awaitable[None]]
    """Remembers how the turn came to rest, before the client hears of it."""
    leave: Callable[[], Awaitable[None]]
    """What is done when the client goes away before that."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a response says beside its body."""


class SseWriter:
    """Passes the words of turns on, whole or as they come."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._farewells: set[asyncio.Future[None]] = set()

    async def answered(
        self, client: OpenAIClient, following: TurnStream, renderer: TurnRenderer, *, stream: bool
    ) -> Response:
        """The words of a turn, all at once or as a stream."""
        if stream:
            return await self._streamed(client, following, renderer)
        ending = asyncio.ensure_future(_end(self._kept(client, following)))
        try:
            if not await self._unless_gone(client, ending):
                self._part(client, following)
                return Response(status_code=_GONE)
            rest = ending.result()
        finally:
            ending.cancel()
        told = dict(client.headers)
        return _refused(rest) or JSONResponse(renderer.whole(rest), headers=told)

    async def _streamed(
        self, client: OpenAIClient, following: TurnStream, renderer: TurnRenderer
    ) -> Response:
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
        if first.done() and isinstance(rest := first.result(), TurnAtRest):
            refused = _refused(rest)
            if refused is not None:
                await pieces.aclose()
                return refused
        chunks = self._alive(renderer.events(_from(first, pieces)))
        return EventStream(chunks, client.headers, lambda: self._part(client, following))

    async def _kept(self, client: OpenAIClient, following: TurnStream) -> AsyncGenerator[Piece]:
        async with aclosing(following.pieces()) as pieces:
            async for piece in pieces:
                if isinstance(piece, TurnAtRest) and piece.turn.status in _GOOD:
                    await client.keep(piece)
                yield piece

    async def _unless_gone(
        self, client: OpenAIClient, wanted: asyncio.Future[Any], seconds: float | None = None
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

    async def _alive(self, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        coming: asyncio.Future[bytes] | None = None
        try:
            while True:
                coming = coming or asyncio.ensure_future(anext(chunks))
                if not await self._clock.wait(coming, SIGN):
                    yield b": still at work\n\n"
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

    def _part(self, client: OpenAIClient, following: TurnStream) -> None:
        """See whether the client went away before the turn came to rest."""
        if following.rest is None:
            farewell = asyncio.ensure_future(client.leave())
            self._farewells.add(farewell)
            farewell.add_done_callback(self._farewells.discard)


_GOOD = (TurnStatus.DONE, TurnStatus.LIMITED, TurnStatus.WAITING)


class EventStream(StreamingResponse):
    """Server-sent events; whoever made it hears when the client has them all, or has gone."""

    def __init__(
        self, content: AsyncGenerator[bytes], headers: Mapping[str, str], over: Callable[[], None]
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


def failure_of(rest: TurnAtRest) -> LraError | None:
    """Why a turn has nothing to say; None when it has."""
    if rest.failure is not None and rest.turn.status is TurnStatus.FAILED:
        return kind_of(rest.failure.code)(rest.failure.message, hint=rest.failure.hint)
    if rest.turn.status is TurnStatus.STOPPED and not rest.sent:
        return Busy("The turn was stopped.")
    return None


def _refused(rest: TurnAtRest) -> Response | None:
    if (error := failure_of(rest)) is None:
        return None
    # We have tried as often as makes sense: a client that asks again would begin another turn.
    return refusal(error, {"x-should-retry": "false"})


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


async def _end(pieces: AsyncGenerator[Piece]) -> TurnAtRest:
    async with aclosing(pieces):
        async for piece in pieces:
            if isinstance(piece, TurnAtRest):
                return piece
    raise AssertionError("a turn comes to rest")


async def _gone(http: HttpRequest) -> None:
    while (await http.receive())["type"] != "http.disconnect":
        pass
