"""Answering questions: the answer, its judgement, its event and the turn's place in line.

All of it in one transaction, whoever answers: a person, a grant, or the time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from long_running_agents.domain.approval import (
    UNANSWERED,
    Approval,
    ApprovalState,
    Grant,
    GrantDuration,
)
from long_running_agents.domain.events import ApprovalResolved, Event, EventEnvelope
from long_running_agents.domain.ids import ApprovalId, GrantId, SessionId, TurnId, new_id
from long_running_agents.domain.policy import DecidedBy, Judgement, Ruling
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import MINE
from long_running_agents.domain.tool import CallState, ToolCallRecord
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import UsageError
from long_running_agents.store import (
    approvals,
    decisions,
    delegations,
    events,
    ledger,
    sessions,
    skills,
    turns,
)
from long_running_agents.store.database import Database, Transaction


def asks(tx: Transaction, turn_id: TurnId) -> bool:
    """Whether a question of a turn is open."""
    questions = approvals.of_turn(tx, turn_id).values()
    return any(question.state is ApprovalState.OPEN for question in questions)


def client_calls(tx: Transaction, turn_id: TurnId) -> list[ToolCallRecord]:
    """The calls of a turn that were handed to its client and have no result yet."""
    waiting = [each for each in ledger.unresolved(tx, turn_id) if each.state is CallState.WAITING]
    if not waiting:
        return []
    asked = approvals.of_turn(tx, turn_id)
    return [call for call in waiting if call.call_id not in asked]


def rest_of(tx: Transaction, turn_id: TurnId) -> TurnStatus:
    """Where a turn stands whose step is over: it waits for somebody, for delegates, or goes on."""
    if asks(tx, turn_id) or client_calls(tx, turn_id):
        return TurnStatus.WAITING
    at_work = delegations.unfinished(tx, turn_id)
    if any(turn.status is TurnStatus.WAITING for turn in at_work):
        return TurnStatus.WAITING
    return TurnStatus.DELEGATING if at_work else TurnStatus.QUEUED


def follow(tx: Transaction, turn: Turn, now: datetime) -> None:
    """Let those above a delegate stand where it stands: they wait with it, and go on after it."""
    for parent in delegations.above(tx, turn):
        if parent.status not in (TurnStatus.WAITING, TurnStatus.DELEGATING):
            return
        status = rest_of(tx, parent.id)
        if status is parent.status:
            return
        turns.move(tx, parent, status, now=now)


def path_of(tx: Transaction, turn: Turn) -> list[str]:
    """Who works for whom, from the first agent to the turn's own."""
    lineage = [turn, *delegations.above(tx, turn)]
    return [each.agent.partition("@")[0] or "main" for each in reversed(lineage)]


def tell_above(
    tx: Transaction, turn: Turn, told: Callable[[str], Event], now: datetime
) -> list[EventEnvelope]:
    """Tell the sessions above a delegate of a question, with the path of who asks."""
    if turn.origin is not TurnOrigin.DELEGATE:
        return []
    path, news = " > ".join(path_of(tx, turn)), list[EventEnvelope]()
    for parent in delegations.above(tx, turn):
        news += events.append(tx, parent.session_id, parent.id, [told(path)], now)
    return news


def waits(tx: Transaction, turn_id: TurnId) -> bool:
    """Whether anything has to come before a turn can go on."""
    return rest_of(tx, turn_id) is not TurnStatus.QUEUED


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalReply:
    """What somebody says to a question."""

    state: ApprovalState
    reason: str = ""
    lasting: GrantDuration = GrantDuration.ONCE
    by: DecidedBy = DecidedBy.PERSON


@dataclass(frozen=True, slots=True)
class ApprovalsSettled:
    """What came of answers."""

    news: list[EventEnvelope] = field(default_factory=list[EventEnvelope])
    going_on: list[Turn] = field(default_factory=list[Turn])
    """Turns that waited for nothing else."""
    late: bool = False
    """Whether the answer came too late to be one."""


TOO_LATE = ApprovalReply(state=ApprovalState.EXPIRED, reason=UNANSWERED, by=DecidedBy.POLICY)


def answer(
    tx: Transaction, approval_id: ApprovalId, said: ApprovalReply, owner: str, now: datetime
) -> ApprovalsSettled:
    """Store a person's answer; one that comes too late is none.

    A lasting answer also lets through the calls that wait already and that it covers.
    """
    approval = approvals.get(tx, approval_id, owner=owner)
    if approval.overdue(now):
        return replace(_settle(tx, [approval], TOO_LATE, now), late=True)
    if said.lasting is not GrantDuration.ONCE and approval.offer is None:
        raise UsageError(
            "This call can be allowed once only.",
            hint="What it does must be looked at each time.",
        )
    found = _settle(tx, [approval], said, now)
    if said.lasting is GrantDuration.ONCE:
        return found
    granted = _grant(tx, approval, said.lasting, owner, now)
    where = granted.session_id
    covered = [
        other
        for other in approvals.open_questions(tx, where, owner=owner)
        if other.offer is not None and granted.scope.covers(other.offer)
    ]
    approvals.use(tx, [granted.id] * len(covered))
    by_grant = ApprovalReply(state=ApprovalState.ALLOWED, reason=granted.id, by=DecidedBy.GRANT)
    more = _settle(tx, covered, by_grant, now)
    going_on = {turn.id: turn for turn in (*found.going_on, *more.going_on)}
    return ApprovalsSettled([*found.news, *more.news], list(going_on.values()))


def expire(tx: Transaction, now: datetime) -> ApprovalsSettled:
    """Answer every question that has waited too long."""
    late = [each for each in approvals.open_questions(tx) if each.overdue(now)]
    return _settle(tx, late, TOO_LATE, now)


def resolve(
    tx: Transaction, approval: Approval, said: ApprovalReply, now: datetime
) -> ApprovalResolved:
    """Store what was said to a question, also in the audit log; the event that tells of it."""
    allowed = said.state is ApprovalState.ALLOWED
    lasting = "" if said.lasting is GrantDuration.ONCE else f" ({said.lasting})"
    approvals.answer(tx, approval.id, said.state, said.reason, now, lasting=said.lasting)
    judgement = Judgement(
        at=now,
        owner=sessions.get(tx, approval.session_id).owner,
        session_id=approval.session_id,
        turn_id=approval.turn_id,
        call_id=approval.call_id,
        tool=approval.tool,
        args=approval.args,
        decision=Ruling.ALLOW if allowed else Ruling.DENY,
        why=(said.reason or said.state) + lasting,
        who=said.by,
    )
    decisions.note(tx, [judgement])
    return ApprovalResolved(
        approval_id=approval.id,
        tool_call_id=approval.call_id,
        allowed=allowed,
        reason=said.reason,
        lasting=said.lasting,
    )


def _grant(
    tx: Transaction, approval: Approval, lasting: GrantDuration, owner: str, now: datetime
) -> Grant:
    assert approval.offer is not None, "looked at before"  # noqa: S101 - for the type checker
    granted = Grant(
        id=GrantId(new_id("grant", now)),
        owner=owner,
        session_id=approval.session_id if lasting is GrantDuration.SESSION else None,
        scope=approval.offer,
        created_at=now,
    )
    approvals.add(tx, granted)
    return granted


def _settle(
    tx: Transaction, asked: Sequence[Approval], said: ApprovalReply, now: datetime
) -> ApprovalsSettled:
    done = ApprovalsSettled()
    for approval in asked:
        event = resolve(tx, approval, said, now)
        if said.state is ApprovalState.DENIED:
            skills.refuse(tx, approval.turn_id, approval.call_id, by=said.by, now=now)
        done.news.extend(events.append(tx, approval.session_id, approval.turn_id, [event], now))
        turn = turns.get(tx, approval.turn_id)
        done.news.extend(tell_above(tx, turn, lambda _, event=event: event, now))
        if (
            turn.status is TurnStatus.WAITING
            and (status := rest_of(tx, turn.id)) is not turn.status
        ):
            turns.move(tx, turn, status, now=now)
            follow(tx, turn, now)
            if status is TurnStatus.QUEUED:
                done.going_on.append(turns.get(tx, turn.id))
    return done


@dataclass(frozen=True, slots=True)
class ApprovalService:
    """Looks after the questions about one owner's calls; the turn service takes the answers."""

    database: Database
    clock: Clock
    owner: str = MINE

    async def open_questions(self, session_id: SessionId | None = None) -> Sequence[Approval]:
        """Questions that can still be answered, the oldest first."""
        now = self.clock.now()

        def work(tx: Transaction) -> list[Approval]:
            if session_id is not None:
                sessions.get(tx, session_id, owner=self.owner)
            found = approvals.open_questions(tx, session_id, owner=self.owner)
            # An alarm writes down that they have expired; looking changes nothing.
            return [each for each in found if not each.overdue(now)]

        return await self.database.read(work)

    async def get(self, approval_id: ApprovalId) -> Approval:
        """Look a question up."""
        return await self.database.read(lambda tx: approvals.get(tx, approval_id, owner=self.owner))

    async def grants(self, *, revoked: bool = False) -> Sequence[Grant]:
        """What was allowed for a session or for always, the newest first."""
        return await self.database.read(
            lambda tx: approvals.of_owner(tx, self.owner, revoked=revoked)
        )

    async def revoke(self, grant_id: GrantId) -> Grant:
        """Take a grant back: the next such call asks again."""
        now = self.clock.now()
        return await self.database.write(lambda tx: approvals.revoke(tx, self.owner, grant_id, now))

    async def log(
        self, *, limit: int = 50, session_id: SessionId | None = None
    ) -> Sequence[Judgement]:
        """What was decided about calls, the newest first."""
        return await self.database.read(
            lambda tx: decisions.newest(tx, self.owner, limit=limit, session_id=session_id)
        )
