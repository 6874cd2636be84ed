"""Turns as a service: accepts an owner's messages, and answers for what becomes of them."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from long_running_agents.agent import approvals as agent_approvals
from long_running_agents.agent import work_transitions
from long_running_agents.agent.approvals import ApprovalReply
from long_running_agents.agent.driver import TurnDriver
from long_running_agents.agent.hub import ActivitySubscriber, Hub, Subscriber
from long_running_agents.agent.registry import AgentService
from long_running_agents.agent.settle import ResultDelivered, Stopped, deliver, settle
from long_running_agents.agent.work_transitions import WorkDefaults
from long_running_agents.domain.approval import UNANSWERED, Approval, ApprovalState, GrantDuration
from long_running_agents.domain.budget import BudgetScope
from long_running_agents.domain.chain import Delegation
from long_running_agents.domain.events import (
    CLOSING,
    AgentChanged,
    Event,
    EventEnvelope,
    MessageAccepted,
    TurnResumed,
)
from long_running_agents.domain.ids import ApprovalId, SessionId, TurnId, new_id, shown
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.routing import AUTO, Routing, as_json
from long_running_agents.domain.rule import RuleSource, news, suggest
from long_running_agents.domain.session import MINE, UNTITLED, Session, SessionOrigin, title_from
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import RETRYABLE, Terms, Turn, TurnOrigin, TurnStatus, brought
from long_running_agents.errors import Busy, NotFound, UsageError
from long_running_agents.store import agents as store_agents
from long_running_agents.store import approvals, delegations, events, rules, sessions, turns
from long_running_agents.store.database import Database, Transaction

_USUAL = Terms()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRest:
    """A turn at rest, or on its way there."""

    turn: Turn
    closing: Event | None
    """How it ended; None while it has not."""
    questions: Sequence[Approval]
    """What it waits for."""


@dataclass(frozen=True, slots=True)
class AcceptedTurn:
    """A turn that a transaction has written, and what is left to do once that is on disk."""

    turn: Turn
    news: Sequence[EventEnvelope] = ()
    next_up: Sequence[Turn] = ()
    """The turns to be driven now."""


@dataclass(frozen=True, slots=True)
class TurnService:
    """Start, stop, answer, resume and retry an owner's turns."""

    database: Database
    hub: Hub
    clock: Clock
    driver: TurnDriver
    agents: AgentService
    """Whom a message can be for."""
    owner: str = MINE
    """Whose turns; those of others are not there."""
    works: WorkDefaults = field(default_factory=WorkDefaults)
    """What a work begins with."""

    def of(self, owner: str) -> "TurnService":
        """The same service for somebody else's turns."""
        return replace(self, owner=owner)

    async def start(
        self,
        session_id: SessionId,
        text: str,
        *,
        origin: TurnOrigin = TurnOrigin.USER,
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
            UsageError: The message is empty, its key is another's, or its pictures are not seen.
        """
        now, key, client = self.clock.now(), terms.key, await self._along(session_id, model, terms)
        more = (terms.mode, client, "steer" * terms.steer, terms.agent)
        asked = _digest(session_id, text, model, *more)
        routed = await self._routed(text, terms)

        def work(tx: Transaction) -> AcceptedTurn:
            if key is not None and (known := turns.find(tx, self.owner, key, asked)):
                return AcceptedTurn(
                    replace(turns.get(tx, known), after=events.first(tx, known) - 1)
                )
            turn = Turn(
                id=TurnId(new_id("turn", now)),
                session_id=session_id,
                number=0,
                prompt=text,
                origin=origin,
                attended=attended,
                status=TurnStatus.QUEUED,
                model=model,
                created_at=now,
                owner=self.owner,
                client_tools=client,
            )
            accepted = self.accept(tx, turn, terms, routed)
            if key is not None:
                turns.keep(tx, self.owner, key, asked, turn.id, now)
            return accepted

        # Whoever leaves in between has sent it: what is on disk must be in line as well.
        return await asyncio.shield(self._begin(work))

    def accept(
        self, tx: Transaction, turn: Turn, terms: Terms = _USUAL, routed: Routing | None = None
    ) -> "AcceptedTurn":
        """Write a turn and its session, if that is new, in a transaction of somebody else's.

        The turn has its place, mode and agent afterwards; `begin` what was accepted, once it is on
        disk.
        """
        session_id, now = turn.session_id, turn.created_at
        session = self.session_for(tx, session_id, turn.prompt, terms)
        agent, chosen = self._agent(tx, session, terms, routed)
        running = turns.current(tx, session_id) if terms.steer else None
        left, first = ([], []) if running else self._leave_waiting(tx, session_id, now)
        turn = replace(
            turn,
            number=turns.next_number(tx, session_id, running),
            mode=terms.mode or session.mode,
            steer=running is not None,
            agent=agent,
        )
        text = turn.prompt
        turn, joined = work_transitions.join(tx, session, turn, terms.mode, self.works)
        turn = turns.accept(tx, turn, terms.pictures)
        sessions.touch(tx, session_id, now)
        accepted = [*_accepted(tx, session, turn, text), *chosen, *joined]
        told = events.append(tx, session_id, turn.id, accepted, now)
        turn = replace(turn, after=told[0].seq - 1)
        return AcceptedTurn(turn, [*left, *told], [*first, turn])

    async def _begin(self, work: Callable[[Transaction], "AcceptedTurn"]) -> Turn:
        accepted = await self.database.write(work)
        await self.begin(accepted)
        return accepted.turn

    async def begin(self, accepted: "AcceptedTurn", *, delay: float = 0.0) -> None:
        """Tell of a turn that is on disk, and have it driven, at once or after some seconds."""
        self.hub.publish(accepted.news)
        for each in accepted.next_up:
            await self.driver.submit(each, delay)

    async def _routed(self, text: str, terms: Terms) -> Routing | None:
        """Which agent a message is for, if that is to be found out; an empty one is for none."""
        if not text.strip():
            raise UsageError("The message is empty.", hint="Say something.")
        if not terms.agent:
            return None
        agents = self.agents.of(self.owner)
        await agents.prepare()
        return await agents.route(text) if terms.agent == AUTO else None

    def _agent(
        self, tx: Transaction, session: Session, terms: Terms, routed: Routing | None
    ) -> tuple[str, list[Event]]:
        """The version of the agent that a turn is run with, and that it is another one now."""
        wanted = session.agent if terms.agent is None else terms.agent
        if routed is not None:
            wanted = routed.to.partition("@")[0]
        spec = store_agents.get(tx, self.owner, wanted) if wanted else None
        # Who names a version keeps it.
        name = None if spec is None else spec.label if "@" in (wanted or "") else spec.name
        label = "" if spec is None else spec.label
        if name == session.agent and routed is None:
            return label, []
        if name != session.agent:
            sessions.set_agent(tx, session.id, name)
        why = None if routed is None else as_json(routed)
        return label, [AgentChanged(agent=label, routed=why)]

    async def _along(self, session_id: SessionId, model: str | None, terms: Terms) -> str | None:
        """What goes with a message, the names of its pictures too, if its model sees them."""
        if not terms.pictures:
            return terms.client_tools
        await self.driver.must_see(session_id, model)
        names = tuple(picture.id for picture in terms.pictures)
        return replace(brought(terms.client_tools), pictures=names).to_json()

    def session_for(
        self, tx: Transaction, session_id: SessionId, text: str, terms: Terms = _USUAL
    ) -> Session:
        """The session that a message is for, begun if it is not there."""
        if (known := sessions.find(tx, session_id)) is not None:
            self._check(known)
            if known.title == UNTITLED:
                sessions.rename(tx, session_id, title_from(tx.redact(terms.title or text)))
            return known
        now = self.clock.now()
        session = Session(
            id=session_id,
            title=title_from(tx.redact(terms.title or text)),
            created_at=now,
            updated_at=now,
            owner=self.owner,
            origin=terms.origin,
        )
        sessions.create(tx, session)
        return session

    def _leave_waiting(
        self, tx: Transaction, session_id: SessionId, now: datetime
    ) -> tuple[list[EventEnvelope], list[Turn]]:
        """End a turn whose client went on without it: whoever speaks anew waits for no result.

        What there is to tell comes back, and who stood in line behind it.
        """
        turn = turns.current(tx, session_id)
        if turn is None or turn.status is not TurnStatus.WAITING:
            return [], []
        if agent_approvals.asks(tx, turn.id) and not agent_approvals.client_calls(tx, turn.id):
            return [], []
        if delegations.unfinished(tx, turn.id):
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
        now = self.clock.now()

        def work(tx: Transaction) -> ResultDelivered:
            turn = turns.get(tx, turn_id, owner=self.owner)
            return deliver(tx, turn, results, now, go_on=go_on)

        done = await self.database.write(work)
        self.hub.publish(done.news)
        if done.going_on is not None:
            await self.driver.submit(done.going_on)
        return await self.get(turn_id)

    async def client_calls(self, turn_id: TurnId) -> Sequence[ToolCallRecord]:
        """The calls of a turn that wait for its client, in their order."""

        def work(tx: Transaction) -> list[ToolCallRecord]:
            return agent_approvals.client_calls(tx, turns.get(tx, turn_id, owner=self.owner).id)

        return await self.database.read(work)

    async def stop(self, session_id: SessionId) -> Turn | None:
        """Stop the turn that runs or waits in a session; None when there is none."""
        turn = await self.database.read(lambda tx: turns.current(tx, session_id))
        if turn is None:
            return None
        self._check(turn)
        await self.driver.stop(turn)
        return await self.get(turn.id)

    async def stop_turn(self, turn_id: TurnId) -> Turn:
        """Stop one turn, wherever in its session's line it is; one that has ended stays so."""
        turn = await self.get(turn_id)
        if not turn.status.ended:
            await self.driver.stop(turn)
        return await self.get(turn_id)

    async def answer(
        self,
        approval_id: ApprovalId,
        *,
        allowed: bool,
        reason: str = "",
        lasting: GrantDuration = GrantDuration.ONCE,
    ) -> None:
        """Answer a question; when it was the last open one, the turn goes on.

        Args:
            approval_id: The question.
            allowed: Whether the call may run.
            reason: Why not, for the model to read.
            lasting: How long a yes is good for.
        """
        state = ApprovalState.ALLOWED if allowed else ApprovalState.DENIED
        said = ApprovalReply(
            state=state, reason=reason, lasting=lasting if allowed else GrantDuration.ONCE
        )
        now = self.clock.now()
        done = await self.database.write(
            lambda tx: agent_approvals.answer(tx, approval_id, said, self.owner, now)
        )
        await self.driver.go_on(done)
        if done.late:
            raise Busy(f"Approval {approval_id!r} has expired: {UNANSWERED}.")

    async def retry(self, session_id: SessionId) -> Turn:
        """Let the session's last turn go on from where it failed, was stopped or ran out."""
        now = self.clock.now()

        def work(tx: Transaction) -> tuple[Turn, list[EventEnvelope]]:
            turn = turns.last(tx, session_id)
            if turn is None or turn.owner != self.owner:
                raise NotFound(
                    f"Session {shown(session_id)!r} has no turn.", hint="Send a message first."
                )
            if turn.status not in RETRYABLE:
                raise Busy(f"The last turn is {turn.status}; there is nothing to retry.")
            return requeue(tx, turn, now)

        turn, news = await self.database.write(work)
        self.hub.publish(news)
        await self.driver.submit(turn)
        return turn

    async def get(self, turn_id: TurnId) -> Turn:
        """Look a turn up."""
        return await self.database.read(lambda tx: turns.get(tx, turn_id, owner=self.owner))

    async def delegates(self, turn_id: TurnId) -> Sequence[Delegation]:
        """The agents that work for a turn, and what came of them, in their order."""

        def work(tx: Transaction) -> list[Delegation]:
            return delegations.below(tx, turns.get(tx, turn_id, owner=self.owner).id)

        return await self.database.read(work)

    async def rest(self, turn_id: TurnId) -> TurnRest:
        """Where a turn stands, how it ended, and what it asks."""

        def work(tx: Transaction) -> TurnRest:
            turn = turns.get(tx, turn_id, owner=self.owner)
            told = [each.event for each in events.of_turn(tx, turn_id)]
            ends = [event for event in told if isinstance(event, CLOSING)]
            asked = approvals.of_turn(tx, turn_id).values()
            return TurnRest(
                turn=turn,
                closing=ends[-1] if ends and turn.status.ended else None,
                questions=[each for each in asked if each.state is ApprovalState.OPEN],
            )

        return await self.database.read(work)

    async def unfinished(self) -> Sequence[Turn]:
        """The owner's turns that run or are in line, whatever their session."""
        found = await self.database.read(turns.unfinished)
        return [turn for turn in found if turn.owner == self.owner]

    async def settled(self, turn_id: TurnId) -> Turn:
        """Wait until a turn has ended or waits for an answer."""
        if not self.driver.drives(turn_id, self.owner):
            await self.get(turn_id)
        return await self.driver.settled(turn_id)

    async def expire(self) -> None:
        """Answer the questions that have waited too long; their turns go on without."""
        await self.driver.expire()

    async def open_questions(self, session_id: SessionId | None = None) -> Sequence[Approval]:
        """Questions that wait for an answer."""
        await self.expire()
        return await self.database.read(
            lambda tx: approvals.open_questions(tx, session_id, owner=self.owner)
        )

    def listen(
        self, session_id: SessionId, after: int = 0, news: asyncio.Event | None = None
    ) -> Subscriber:
        """Hear a session's events after a number, then everything that happens."""
        return self.hub.listen(session_id, after, self.owner, news)

    def overhear(self, news: asyncio.Event | None = None) -> ActivitySubscriber:
        """Hear all the owner's sessions from now on."""
        return self.hub.overhear(self.owner, news)

    def _check(self, known: Turn | Session) -> None:
        if known.owner != self.owner:
            session_id = known.session_id if isinstance(known, Turn) else known.id
            raise NotFound(
                f"No session {shown(session_id)!r}.", hint="'lra sessions list' shows them."
            )


def requeue(tx: Transaction, turn: Turn, now: datetime) -> tuple[Turn, list[EventEnvelope]]:
    """Let a turn go on from where it failed, was stopped or ran out; its work goes on with it."""
    limited = turn.status is TurnStatus.LIMITED
    if limited and events.stopped_by(tx, turn.id) is BudgetScope.TURN:
        turns.renew(tx, turn.id)
    turns.move(tx, turn, TurnStatus.QUEUED, now=now, answer="")
    resumed = [TurnResumed(attempt=1, asked=True), *work_transitions.unpause(tx, turn, now)]
    told = events.append(tx, turn.session_id, turn.id, resumed, now)
    return turns.get(tx, turn.id), told


def _accepted(tx: Transaction, session: Session, turn: Turn, text: str) -> list[Event]:
    """Tell of a message, and suggest what a person's has of rules; another program's has none."""
    own = turn.origin is TurnOrigin.USER and session.origin is SessionOrigin.OWN
    found = suggest(turn.prompt) if own else []
    by, now = RuleSource.DETECTOR, turn.created_at
    suggested = rules.suggest(tx, session, found, by, now, turn.id)
    accepted = MessageAccepted(content=text, origin=turn.origin, steer=turn.steer)
    return [accepted, *map(news, suggested)]


def _digest(*parts: str | None) -> str:
    told = "\0".join((part or "").encode("unicode_escape").decode() for part in parts)
    return hashlib.sha256(told.encode()).hexdigest()
