"""The front desk: accepts an owner's messages, and answers for what becomes of them."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from long_running_agents.agent import answering, waiting
from long_running_agents.agent.answering import Answer
from long_running_agents.agent.delivering import Delivered, deliver
from long_running_agents.agent.driving import TurnDriver
from long_running_agents.agent.hub import Hub, Listener, Overhearer
from long_running_agents.agent.outcome import Stopped
from long_running_agents.agent.settling import settle
from long_running_agents.domain.approval import UNANSWERED, Approval, ApprovalState
from long_running_agents.domain.events import (
    CLOSING,
    Event,
    MessageAccepted,
    Recorded,
    TurnResumed,
)
from long_running_agents.domain.grant import Lasting
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId, new_id
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE, UNTITLED, Mode, Session, title_from
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import RETRYABLE, Origin, Terms, Turn, TurnStatus
from long_running_agents.errors import Busy, NotFound, UsageError
from long_running_agents.store import approvals, events, requests, sessions, turns
from long_running_agents.store.database import Database, Transaction

_USUAL = Terms()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """A turn at rest, or on its way there."""

    turn: Turn
    closing: Event | None
    """How it ended; None while it has not."""
    questions: Sequence[Approval]
    """What it waits for."""


class TurnService:
    """Start, stop, answer, resume and retry an owner's turns.

    Args:
        database: Where they are.
        hub: Rings what was stored.
        clock: Tells the time.
        driver: Drives them.
        owner: Whose turns; those of others are not there.
    """

    def __init__(
        self,
        database: Database,
        hub: Hub,
        clock: Clock,
        driver: TurnDriver,
        owner: str = MINE,
    ) -> None:
        self._database = database
        self._hub = hub
        self._clock = clock
        self._driver = driver
        self._owner = owner

    def of(self, owner: str) -> "TurnService":
        """The same service for somebody else's turns."""
        return TurnService(self._database, self._hub, self._clock, self._driver, owner)

    async def start(
        self,
        session_id: SessionId,
        text: str,
        *,
        origin: Origin = Origin.USER,
        attended: bool = True,
        model: str | None = None,
        terms: Terms = _USUAL,
    ) -> Turn:
        """Accept a message. When this returns, it is on disk and will be answered.

        Args:
            session_id: The session; it begins with its first message.
            text: The message.
            origin: Who began the turn.
            attended: Whether a person is there to answer approvals.
            model: Another model than the session's, for this turn.
            terms: What else is wanted of it.

        Raises:
            UsageError: The message is empty, or the key was used for another request.
        """
        if not text.strip():
            raise UsageError("The message is empty.", hint="Say something.")
        now, key = self._clock.now(), terms.key
        asked = _digest(session_id, text, model or "", terms.mode or "", terms.client_tools or "")

        def work(tx: Transaction) -> tuple[Turn, list[Recorded], list[Turn]]:
            if key is not None and (known := requests.find(tx, self._owner, key, asked)):
                return turns.get(tx, known), [], []
            session = self._session(tx, session_id, text)
            left, first = self._leave_waiting(tx, session_id, now)
            turn = Turn(
                id=TurnId(new_id("turn", now)),
                session_id=session_id,
                number=turns.next_number(tx, session_id),
                prompt=text,
                origin=origin,
                attended=attended,
                status=TurnStatus.QUEUED,
                model=model,
                created_at=now,
                owner=self._owner,
                mode=terms.mode or session.mode,
                client_tools=terms.client_tools,
            )
            turn = turns.accept(tx, turn)
            sessions.touch(tx, session_id, now)
            if key is not None:
                requests.keep(tx, self._owner, key, asked, turn.id, now)
            accepted = MessageAccepted(content=text, origin=origin)
            told = events.append(tx, session_id, turn.id, [accepted], now)
            return turn, [*left, *told], [*first, turn]

        turn, news, next_up = await self._database.write(work)
        self._hub.publish(news)
        for each in next_up:
            await self._driver.submit(each)
        return turn

    def _session(self, tx: Transaction, session_id: SessionId, text: str) -> Session:
        """The session that a message is for, begun if it is not there."""
        if sessions.find(tx, session_id) is not None:
            known = sessions.get(tx, session_id, owner=self._owner)
            if known.title == UNTITLED:
                sessions.rename(tx, session_id, title_from(tx.redact(text)))
            return known
        now = self._clock.now()
        session = Session(
            id=session_id,
            title=title_from(tx.redact(text)),
            mode=Mode.BOUNDED,
            model=None,
            created_at=now,
            updated_at=now,
            owner=self._owner,
        )
        sessions.create(tx, session)
        return session

    def _leave_waiting(
        self, tx: Transaction, session_id: SessionId, now: datetime
    ) -> tuple[list[Recorded], list[Turn]]:
        """End a turn whose client went on without it: whoever speaks anew waits for no result.

        What there is to tell comes back, and who stood in line behind it.
        """
        turn = turns.current(tx, session_id)
        if turn is None or turn.status is not TurnStatus.WAITING:
            return [], []
        if waiting.asks(tx, turn.id) and not waiting.client_calls(tx, turn.id):
            return [], []
        news = settle(tx, turn, Stopped(""), now)
        following = turns.current(tx, session_id)
        return news, [] if following is None else [following]

    async def deliver(
        self, turn_id: TurnId, results: Mapping[str, str], *, go_on: bool = True
    ) -> Turn:
        """Bring the results of calls that the client ran; after the last one, the turn goes on.

        Args:
            turn_id: The turn.
            results: What came of each call, by its id.
            go_on: Whether it goes on; if not, the next message ends it, and its model sees them.

        Raises:
            UsageError: A call is unknown, or has its result.
        """
        now = self._clock.now()

        def work(tx: Transaction) -> Delivered:
            turn = turns.get(tx, turn_id, owner=self._owner)
            return deliver(tx, turn, results, now, go_on=go_on)

        done = await self._database.write(work)
        self._hub.publish(done.news)
        if done.going_on is not None:
            await self._driver.submit(done.going_on)
        return await self.get(turn_id)

    async def client_calls(self, turn_id: TurnId) -> Sequence[ToolCallRecord]:
        """The calls of a turn that wait for its client, in their order."""

        def work(tx: Transaction) -> list[ToolCallRecord]:
            return waiting.client_calls(tx, turns.get(tx, turn_id, owner=self._owner).id)

        return await self._database.read(work)

    async def stop(self, session_id: SessionId) -> Turn | None:
        """Stop the turn that runs or waits in a session; None when there is none."""
        turn = await self._database.read(lambda tx: turns.current(tx, session_id))
        if turn is None:
            return None
        self._check(turn)
        await self._driver.stop(turn)
        return await self.get(turn.id)

    async def stop_turn(self, turn_id: TurnId) -> Turn:
        """Stop one turn, wherever in its session's line it is; one that has ended stays so."""
        turn = await self.get(turn_id)
        if not turn.status.ended:
            await self._driver.stop(turn)
        return await self.get(turn_id)

    async def answer(
        self,
        approval_id: ApprovalId,
        *,
        allowed: bool,
        reason: str = "",
        lasting: Lasting = Lasting.ONCE,
    ) -> None:
        """Answer a question; when it was the last open one, the turn goes on.

        Args:
            approval_id: The question.
            allowed: Whether the call may run.
            reason: Why not, for the model to read.
            lasting: How long a yes is good for.
        """
        state = ApprovalState.ALLOWED if allowed else ApprovalState.DENIED
        said = Answer(state=state, reason=reason, lasting=lasting if allowed else Lasting.ONCE)
        now = self._clock.now()
        done = await self._database.write(
            lambda tx: answering.answer(tx, approval_id, said, self._owner, now)
        )
        await self._driver.go_on(done)
        if done.late:
            raise Busy(f"Approval {approval_id!r} has expired: {UNANSWERED}.")

    async def retry(self, session_id: SessionId) -> Turn:
        """Let the session's last turn go on from where it failed, was stopped or ran out."""
        now = self._clock.now()

        def work(tx: Transaction) -> tuple[Turn, list[Recorded]]:
            turn = turns.last(tx, session_id)
            if turn is None:
                raise NotFound(f"Session {session_id!r} has no turn.", hint="Send a message first.")
            self._check(turn)
            if turn.status not in RETRYABLE:
                raise Busy(f"The last turn is {turn.status}; there is nothing to retry.")
            if turn.status is TurnStatus.LIMITED:
                turns.renew(tx, turn.id)
            turns.move(tx, turn, TurnStatus.QUEUED, now=now, answer="")
            told = events.append(tx, session_id, turn.id, [TurnResumed(attempt=1, asked=True)], now)
            return turns.get(tx, turn.id), told

        turn, news = await self._database.write(work)
        self._hub.publish(news)
        await self._driver.submit(turn)
        return turn

    async def get(self, turn_id: TurnId) -> Turn:
        """Look a turn up."""
        return await self._database.read(lambda tx: turns.get(tx, turn_id, owner=self._owner))

    async def rest(self, turn_id: TurnId) -> Rest:
        """Where a turn stands, how it ended, and what it asks."""

        def work(tx: Transaction) -> Rest:
            turn = turns.get(tx, turn_id, owner=self._owner)
            told = [each.event for each in events.of_turn(tx, turn_id)]
            ends = [event for event in told if isinstance(event, CLOSING)]
            asked = approvals.of_turn(tx, turn_id).values()
            return Rest(
                turn=turn,
                closing=ends[-1] if ends and turn.status.ended else None,
                questions=[each for each in asked if each.state is ApprovalState.OPEN],
            )

        return await self._database.read(work)

    async def unfinished(self) -> Sequence[Turn]:
        """The owner's turns that run or are in line, whatever their session."""
        found = await self._database.read(turns.unfinished)
        return [turn for turn in found if turn.owner == self._owner]

    async def before(self, turn_id: TurnId) -> int:
        """The number of the last event before a turn's own."""
        return await self._database.read(lambda tx: events.first(tx, turn_id)) - 1

    async def settled(self, turn_id: TurnId) -> Turn:
        """Wait until a turn has ended or waits for an answer."""
        await self.get(turn_id)
        return await self._driver.settled(turn_id)

    async def expire(self) -> None:
        """Answer the questions that have waited too long; their turns go on without."""
        await self._driver.expire()

    async def open_questions(self, session_id: SessionId | None = None) -> Sequence[Approval]:
        """Questions that wait for an answer."""
        await self.expire()
        return await self._database.read(
            lambda tx: approvals.open_questions(tx, session_id, owner=self._owner)
        )

    def listen(
        self, session_id: SessionId, after: int = 0, news: asyncio.Event | None = None
    ) -> Listener:
        """Hear a session's events after a number, then everything that happens.

        Args:
            session_id: The session.
            after: The last event that is known already.
            news: Set whenever there is something to hear.
        """
        return self._hub.listen(session_id, after, self._owner, news)

    def overhear(self, news: asyncio.Event | None = None) -> Overhearer:
        """Hear all the owner's sessions from now on.

        Args:
            news: Set whenever there is something to hear.
        """
        return self._hub.overhear(self._owner, news)

    def _check(self, turn: Turn) -> None:
        if turn.owner != self._owner:
            raise NotFound(
                f"No session {turn.session_id!r}.", hint="'lra sessions list' shows them."
            )


def _digest(*parts: str) -> str:
    told = "\0".join(part.encode("unicode_escape").decode() for part in parts)
    return hashlib.sha256(told.encode()).hexdigest()
