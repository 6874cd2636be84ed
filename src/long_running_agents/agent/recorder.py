"""Writes each fact of one turn down, then publishes it: every finished step is a checkpoint."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from datetime import datetime, timedelta
from typing import TypeVar

from long_running_agents.agent.approvals import tell_above
from long_running_agents.agent.budgets import BudgetBook, RequestAccount
from long_running_agents.agent.hub import Hub
from long_running_agents.domain.agent import AgentBounds, AgentSpec, bounds_of
from long_running_agents.domain.approval import Approval, ApprovalState, Grant, GrantScope, visible
from long_running_agents.domain.budget import (
    BudgetNode,
    BudgetScope,
    Limits,
    Reservation,
    Spent,
    Usage,
)
from long_running_agents.domain.events import (
    ApprovalRequested,
    BudgetTight,
    Delta,
    DeltaEnvelope,
    Event,
    EventEnvelope,
    MessageSteered,
    ToolReturned,
)
from long_running_agents.domain.ids import ApprovalId, TurnId, new_id
from long_running_agents.domain.policy import Allow, Decision, Judgement, ruling
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.redaction import MARK
from long_running_agents.domain.rule import PinnedRule
from long_running_agents.domain.session import Mode
from long_running_agents.domain.stuck import WorkTrace
from long_running_agents.domain.taint import Taint
from long_running_agents.domain.task import summary
from long_running_agents.domain.tool import CallState, Effect, Replay, ToolCallRecord, replay
from long_running_agents.domain.turn import Turn
from long_running_agents.domain.work import Work, WorkView
from long_running_agents.store import (
    approvals,
    budgets,
    decisions,
    events,
    ledger,
    messages,
    taints,
    tasks,
    turns,
    usage,
    works,
)
from long_running_agents.store import rules as store_rules
from long_running_agents.store.database import Database, Transaction
from long_running_agents.store.messages import StoredMessage
from long_running_agents.tools.memory import SEARCHING, foreign_memories

T = TypeVar("T")

_PREVIEW = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """All facts of one finished step; they are written together or not at all."""

    messages: Sequence[StoredMessage]
    usage: Usage
    model: str
    calls: Sequence[ToolCallRecord]
    events: Sequence[Event]
    outcomes: Sequence[tuple[str, CallState, str]] = ()
    """Calls of the step before that never ran: id, state, what the model was told."""
    decisions: Sequence[Decision] = ()
    """What was decided about the calls, in their order."""
    steers: Sequence[Turn] = ()
    """The messages that were given to the model with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """What a session has for a turn when that is claimed."""

    sources: Sequence[str] = ()
    """The foreign words that it has read."""
    rules: Sequence[PinnedRule] = ()
    """What holds in it."""
    steers: Sequence[Turn] = ()
    """The messages that came for the turn and were not given to it yet."""
    work: WorkView | None = None
    """The work that the turn is a part of."""
    trace: WorkTrace = field(default_factory=WorkTrace)
    """What the work has done, all of it."""
    budget: BudgetNode | None = None
    """What the work may use, and what its other turns have used."""
    limits: Limits = field(default_factory=Limits)
    """What the run of a job may use, if the turn is one."""
    lineage: Sequence[tuple[Turn, AgentSpec | None]] = ()
    """The turn and those it is done for, the nearest first, each with its agent; empty for a turn
    of the home's own agent that works for nobody and has no delegates."""

    @property
    def agent(self) -> AgentSpec | None:
        """The agent of the turn; None for the home's own."""
        return self.lineage[0][1] if self.lineage else None

    @property
    def bounds(self) -> AgentBounds:
        """What the agents allow together."""
        return bounds_of([spec for _, spec in self.lineage if spec is not None])


class TurnRecorder:
    """Writes down one turn while it runs.

    After ``close`` nothing more is written: a tool that outlives its turn speaks to nobody.
    """

    def __init__(
        self,
        turn: Turn,
        *,
        database: Database,
        hub: Hub,
        clock: Clock,
        state: SessionState,
        book: BudgetBook,
        limits: Limits,
        patience: timedelta | None = None,
    ) -> None:
        self.turn = turn
        self.account = RequestAccount(
            book=book,
            id=turn.id,
            owner=turn.owner,
            session_id=turn.session_id,
            own=lambda: self._budget(limits),
            tell=self._warn,
            lose=self._lose,
            work_id=turn.work_id,
        )
        """Pays for the turn's requests."""
        self._tight: dict[Event, bool] = {}
        """What gets tight, and whether it was told."""
        self._sources = dict.fromkeys(state.sources)
        self._steers = state.steers
        self._given: set[TurnId] = set()
        self._patience = patience
        self.spent: Spent = turn.spent
        self.work = state.work
        """The work that the turn is a part of, as of the last fact that was written."""
        self._trace, self._work_budget = state.trace, state.budget
        self._cut_off = 0
        self.rules = state.rules
        """What holds in the session, as of the last fact that was written."""
        self.calls: dict[str, ToolCallRecord] = {}
        self.closed = False
        self._approvals: dict[str, Approval] = {}
        self._database = database
        self._hub = hub
        self._clock = clock
        self._since = clock.monotonic()
        self._own: set[str] = set()
        self._started: dict[str, float] = {}
        self._heard: tuple[tuple[str, str], ...] | None = None

    @property
    def begun_here(self) -> frozenset[str]:
        """The calls that began in this life of the turn."""
        return frozenset(self._started)

    async def load(self) -> None:
        """Read what earlier lives of the turn have written."""
        turn_id = self.turn.id
        records, self._approvals = await self._database.read(
            lambda tx: (ledger.of_turn(tx, turn_id), approvals.of_turn(tx, turn_id))
        )
        self.calls = {record.call_id: record for record in records}

    def publish_delta(self, delta: Delta) -> None:
        """Pass a delta on."""
        if not self.closed:
            self._hub.publish_delta(
                DeltaEnvelope(
                    session_id=self.turn.session_id,
                    turn_id=self.turn.id,
                    owner=self.turn.owner,
                    delta=delta,
                )
            )

    async def told(self, kind: str) -> list[Event]:
        """The events of one type that the session has already."""
        session_id = self.turn.session_id
        known = await self._database.read(lambda tx: events.of_type(tx, session_id, kind))
        return [recorded.event for recorded in known]

    async def task_summary(self) -> str:
        """How far the session's tasks are, for a turn that works through them."""
        if self.turn.mode is not Mode.DEEP_WORK:
            return ""
        session_id = self.turn.session_id
        return summary(await self._database.read(lambda tx: tasks.of_session(tx, session_id)))

    def trace(self) -> WorkTrace:
        """What the work has done since it was last found stuck."""
        calls = [each for each in self._trace.calls if each.turn_id != self.turn.id]
        since = 0 if self.work is None else self.work.work.alerted
        every = [*calls, *self.calls.values()][since:]
        return changed(self._trace, calls=every, cut_off=self._cut_off)

    async def alert(self, work: Work, told: Event) -> None:
        """Write down that the work was found stuck: what it did until now counts no more."""
        calls = [each for each in self._trace.calls if each.turn_id != self.turn.id]
        work = changed(work, alerted=len(calls) + len(self.calls))
        turn, now = self.turn, self._clock.now()

        def write(tx: Transaction) -> list[EventEnvelope]:
            works.save(tx, work)
            return events.append(tx, turn.session_id, turn.id, [told], now)

        await self._write(write)
        self._cut_off, self._trace = 0, changed(self._trace, silent_turns=0, compactions=0)

    def heard(self, *, cut_off: bool) -> None:
        """Hear whether an answer was cut off by the limit of its length."""
        self._cut_off = self._cut_off + 1 if cut_off else 0

    def allowance(self, own: Limits) -> tuple[Spent, Limits]:
        """What is used and what may be: by the work if the turn is of one, else by the turn."""
        node = self._work_budget
        if node is None:
            return self.spent, own
        others, own_spent = node.spent, self.spent
        total = changed(
            others,
            steps=others.steps + own_spent.steps,
            input_tokens=others.input_tokens + own_spent.input_tokens,
            output_tokens=others.output_tokens + own_spent.output_tokens,
        )
        return total, node.limits

    def now(self) -> datetime:
        """The present moment."""
        return self._clock.now()

    def seconds(self) -> float:
        """How long the turn has run, over all its lives."""
        return self.spent.seconds + self._clock.monotonic() - self._since

    def _budget(self, limits: Limits) -> BudgetNode:
        spent = changed(self.spent, seconds=self.seconds())
        return BudgetNode(scope=BudgetScope.TURN, key=self.turn.id, limits=limits, spent=spent)

    def _warn(self, taken: Reservation) -> None:
        """Have the next step tell that a budget gets tight, once for each."""
        if taken.tight is not None:
            self._tight.setdefault(BudgetTight.of(taken.tight, wrap_up=taken.wrap_up), False)

    def _lose(self, used: Usage) -> None:
        """Count a request that is made again."""
        lost = self.spent.after_step(used)
        self.spent = changed(lost, steps=self.spent.steps)

    async def step(self, step: Step) -> None:
        """Write a finished step: messages, usage, intents and events in one transaction."""
        now = self._clock.now()
        turn = self.turn
        seconds = self._clock.monotonic() - self._since
        spent = self.spent.after_step(step.usage, tool_calls=len(step.calls), seconds=seconds)
        pairs = zip(step.calls, step.decisions, strict=True)
        judged = [self._judgement(call, decision, now) for call, decision in pairs]
        allowed = [decision for decision in step.decisions if isinstance(decision, Allow)]
        tight = [event for event, told in self._tight.items() if not told]
        used = changed(step.usage, seconds=seconds)

        def work(tx: Transaction) -> list[EventEnvelope]:
            messages.append(tx, turn.session_id, turn.id, step.messages, now)
            if self.account.held:
                budgets.release(tx, turn.id)
            usage.record(
                tx,
                turn.session_id,
                turn.id,
                spent.steps,
                step.model,
                used,
                now,
                owner=turn.owner,
            )
            turns.spend(tx, turn.id, spent)
            if step.calls:
                ledger.request(tx, step.calls)
                decisions.note(tx, judged)
                approvals.use(tx, [each.grant for each in allowed if each.grant is not None])
            for call_id, state, told in step.outcomes:
                ledger.resolve(tx, turn.id, call_id, state, told, now)
            return [
                *self._steer(tx, step.steers, now),
                *events.append(tx, turn.session_id, turn.id, [*tight, *step.events], now),
            ]

        await self._write(work)
        self.account.settled()
        self._tight |= dict.fromkeys(tight, True)
        self._given |= {each.id for each in step.steers}
        self._since += seconds
        self.spent = spent
        for call_id, state, told in step.outcomes:
            self.calls[call_id] = changed(self.calls[call_id], state=state, result=told)
        self.calls |= {call.call_id: call for call in step.calls}
        self._own |= {call.call_id for call in step.calls}

    @property
    def steers(self) -> list[Turn]:
        """The messages for the turn that the model was not given yet, as of the last write."""
        return [each for each in self._steers if each.id not in self._given]

    def _steer(self, tx: Transaction, given: Sequence[Turn], now: datetime) -> list[EventEnvelope]:
        """Note with a step that the model was given messages: each once, whoever dies when."""
        told: list[EventEnvelope] = []
        for each in given:
            event = MessageSteered(content=each.prompt, into=self.turn.id)
            told += events.append(tx, each.session_id, each.id, [event], now)
        if given:
            turns.steer(tx, given, now)
        return told

    def replay(self, call_id: str) -> Replay:
        """What to do with a call: one of this life runs, an earlier life's may have run."""
        if call_id in self._own:
            return Replay.RUN
        return replay(self.calls[call_id].state, self.calls[call_id].effect)

    def lost_a_secret(self, call_id: str) -> bool:
        """Whether a call of an earlier life would run with a mark in place of a secret."""
        return call_id not in self._own and MARK in self.calls[call_id].args

    async def start(self, call_id: str) -> None:
        """Note that a call begins; a ONCE call not before the disk knows."""
        call = self.calls[call_id]
        if call.effect is Effect.ONCE and call.state is not CallState.STARTED:
            turn_id, now = self.turn.id, self._clock.now()
            await self._write(lambda tx: ledger.start(tx, turn_id, call_id, now) or [])
            self.calls[call_id] = changed(call, state=CallState.STARTED)
        self._started[call_id] = self._clock.monotonic()

    async def resolve(
        self,
        call_id: str,
        state: CallState,
        result: str,
        shown: str,
        source: tuple[str, bool] | None = None,
    ) -> None:
        """Write a call's outcome.

        Args:
            call_id: The call.
            state: How it ended.
            result: What the model is told, as JSON text.
            shown: The same, for people.
            source: Whose words these are if not ours, and whether links in them may be followed.
        """
        now = self._clock.now()
        turn = self.turn
        event = self.returned(call_id, state, shown)

        def work(tx: Transaction) -> list[EventEnvelope]:
            ledger.resolve(tx, turn.id, call_id, state, result, now)
            if source is not None:
                place = call_id if source[1] else ""
                taints.add(tx, turn.session_id, turn.id, source[0], now, call_id=place)
            return events.append(tx, turn.session_id, turn.id, [event], now)

        await self._write(work)
        self.calls[call_id] = changed(self.calls[call_id], state=state, result=result)
        if self.calls[call_id].tool in SEARCHING:
            self._heard = None
        if source is not None:
            self._sources[source[0]] = None

    async def pictures(self, names: Collection[str]) -> dict[str, bytes]:
        """What pictures of the session hold, as far as they are there."""
        session_id = self.turn.session_id
        return await self._database.read(lambda tx: messages.find_pictures(tx, session_id, names))

    @property
    def sources(self) -> tuple[str, ...]:
        """The foreign words that the session has read."""
        return tuple(self._sources)

    async def taint(self, source: str, call_id: str = "", /) -> None:
        """Note that the session reads foreign words, and in which call's result if known."""
        if source in self._sources and not call_id:
            return
        turn, now = self.turn, self._clock.now()

        def work(tx: Transaction) -> list[EventEnvelope]:
            taints.add(tx, turn.session_id, turn.id, source, now, call_id=call_id)
            return []

        await self._write(work)
        self._sources[source] = None

    async def words(self, *, overheard: bool = False) -> Taint:
        """What the user wrote in the session, what was read there, and what came to mind."""
        session_id = self.turn.session_id
        if self._heard is None:
            owner = self.turn.owner
            self._heard = await self._database.read(
                lambda tx: foreign_memories(tx, owner, session_id)
            )
        known = Taint(sources=self.sources, heard=self._heard)
        if not (known.sources or known.heard or overheard):
            return known
        read = await self._database.read(lambda tx: taints.words(tx, session_id))
        return changed(read, sources=known.sources, heard=known.heard)

    async def grants(self) -> Sequence[Grant]:
        """The remembered answers that are good for the session, as they stand now."""
        owner, session_id = self.turn.owner, self.turn.session_id
        return await self._database.read(lambda tx: approvals.in_force(tx, owner, session_id))

    def returned(self, call_id: str, state: CallState, shown: str) -> ToolReturned:
        """The event that tells of an outcome."""
        began = self._started.get(call_id)
        duration = 0.0 if began is None else self._clock.monotonic() - began
        return ToolReturned(
            tool=self.calls[call_id].tool,
            tool_call_id=call_id,
            # Redacted before it is cut: half a secret is not known for one.
            result_preview=self._database.redact(shown)[:_PREVIEW],
            duration_ms=round(duration * 1000),
            success=state is CallState.DONE,
            outcome=state,
        )

    def begun(self, call_id: str) -> bool:
        """Whether a call ran or began to in an earlier life."""
        return self.calls[call_id].state not in (CallState.REQUESTED, CallState.WAITING)

    def approval(self, call_id: str) -> Approval | None:
        """The question about a call, if one was asked."""
        return self._approvals.get(call_id)

    async def judged(self, call_id: str, decision: Decision) -> None:
        """Write down what was decided about a call after the step in which it was made."""
        entry = self._judgement(self.calls[call_id], decision, self._clock.now())
        used = [decision.grant] if isinstance(decision, Allow) and decision.grant else []

        def work(tx: Transaction) -> list[EventEnvelope]:
            decisions.note(tx, [entry])
            approvals.use(tx, used)
            return []

        await self._write(work)

    def _judgement(self, call: ToolCallRecord, decision: Decision, now: datetime) -> Judgement:
        what, why, who = ruling(decision)
        return Judgement(
            at=now,
            owner=self.turn.owner,
            session_id=call.session_id,
            turn_id=call.turn_id,
            call_id=call.call_id,
            tool=call.tool,
            args=call.args,
            decision=what,
            why=why,
            who=who,
        )

    async def ask(self, call_id: str, question: str, offer: GrantScope | None) -> None:
        """Store a question about a call."""
        now = self._clock.now()
        turn, call = self.turn, self.calls[call_id]
        approval = Approval(
            id=ApprovalId(new_id("approval", now)),
            session_id=turn.session_id,
            turn_id=turn.id,
            call_id=call_id,
            tool=call.tool,
            args=json.dumps(visible(json.loads(call.args)), ensure_ascii=False),
            question=visible(question),
            state=ApprovalState.OPEN,
            asked_at=now,
            offer=offer,
            expires_at=None if self._patience is None else now + self._patience,
        )
        event = ApprovalRequested(
            approval_id=approval.id,
            tool=call.tool,
            input=json.loads(approval.args),
            tool_call_id=call_id,
            question=approval.question,
            scope="" if offer is None else str(offer),
            expires_at=approval.expires_at,
        )

        def work(tx: Transaction) -> list[EventEnvelope]:
            approvals.ask(tx, approval)
            ledger.wait(tx, turn.id, call_id)
            own = events.append(tx, turn.session_id, turn.id, [event], now)

            def from_below(path: str) -> Event:
                return event.model_copy(update={"path": path})

            return [*own, *tell_above(tx, turn, from_below, now)]

        await self._write(work)
        self._approvals[call_id] = approval

    async def deny(self, call_id: str, reason: str) -> None:
        """Write that a call may not run."""
        await self.resolve(call_id, CallState.DENIED, json.dumps(reason), reason)

    async def _write(self, work: Callable[[Transaction], list[EventEnvelope]]) -> None:
        if self.closed:
            raise TurnLeftError
        key = self.turn.session_id
        # With every fact, what came meanwhile: a read of its own would cost a hop between threads.
        news, self.rules, self._steers, self.work = await self._database.write(
            lambda tx: (
                work(tx),
                store_rules.standing(tx, key),
                turns.steering(tx, key),
                None if self.work is None else works.view_of(tx, self.work.work.id),
            )
        )
        self._hub.publish(news)

    def close(self) -> None:
        """Write nothing more."""
        self.closed = True


class TurnLeftError(Exception):
    """A tool finished after its turn had ended; there is no place left for its result."""
