"""Following a turn for a client: its words as they come, until it comes to rest."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from long_running_agents.agent.conversations import ConversationService
from long_running_agents.agent.hub import Heard, Listener
from long_running_agents.agent.turns import TurnService
from long_running_agents.domain.budget import Spent
from long_running_agents.domain.events import (
    ApprovalRequested,
    Event,
    FellBehind,
    Passing,
    RequestRetried,
    StepBegan,
    TextWritten,
    ToolCalled,
    ToolReturned,
    TurnFailed,
    TurnLimited,
    TurnStopped,
    WordsArrived,
)
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import Turn

ANEW = "[The answer broke off here, and begins anew.]"


@dataclass(frozen=True, slots=True)
class Rest:
    """The turn has ended, or waits for its client."""

    turn: Turn
    calls: Sequence[ToolCallRecord]
    """The calls that the client is to run."""
    failure: TurnFailed | None
    sent: str
    """All words that were passed on."""


Resting = tuple[Turn, Sequence[ToolCallRecord]]
Piece = str | Rest
"""A few more words, or the end."""


class Sayer:
    """Words of a turn in the order a client can take them: nothing can be taken back.

    Args:
        activity: Whether the client wants to read what the agent does meanwhile.
        late: Whether the turn began before somebody listened: its step is heard from the middle.
        whole: Whether the client wants all words at once: then there is nothing to take back.
    """

    def __init__(self, *, activity: bool = False, late: bool = False, whole: bool = False) -> None:
        self.sent = ""
        self.late = late
        self._activity = activity
        self._step = ""
        """What was passed on of the step under way."""
        self._whole = whole
        self._muted = late or whole
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
            case TextWritten(text=text):
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


class Following:
    """One turn, from where a request began or continued it to where it comes to rest.

    Args:
        turns: Its owner's turns.
        conversations: Its owner's conversations.
        turn: The turn.
        listener: Hears its session since before that.
        after: The session's last event before that; 0 to hear all of the turn.
        sayer: Puts its words in order.
    """

    def __init__(
        self,
        turns: TurnService,
        conversations: ConversationService,
        turn: Turn,
        listener: Listener,
        after: int,
        sayer: Sayer,
    ) -> None:
        self.turn = turn
        self.before = Spent() if sayer.late else turn.spent
        """What the turn had used before this request."""
        self.rest: Rest | None = None
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
            self.rest = Rest(turn, calls, self._failure, self._sayer.sent)
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
        if isinstance(heard, Passing):
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
        told = await self._conversations.told(self.turn, self._seen)
        said = [self._fact(recorded.seq, recorded.event) for recorded in told]
        return filter(None, said)

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
