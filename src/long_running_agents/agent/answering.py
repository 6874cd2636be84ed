"""Answering questions: the answer, its judgement, its event and the turn's place in line.

All of it in one transaction, whoever answers: a person, a grant, or the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from long_running_agents.agent import waiting
from long_running_agents.domain.approval import UNANSWERED, Approval, ApprovalState
from long_running_agents.domain.events import ApprovalResolved, Recorded
from long_running_agents.domain.grant import Grant, Lasting
from long_running_agents.domain.ids import ApprovalId, GrantId, SessionId, new_id
from long_running_agents.domain.judgement import Judgement
from long_running_agents.domain.policy import By, Ruling
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import UsageError
from long_running_agents.store import approvals, decisions, events, grants, sessions, skills, turns
from long_running_agents.store.database import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What somebody says to a question."""

    state: ApprovalState
    reason: str = ""
    lasting: Lasting = Lasting.ONCE
    by: By = By.PERSON


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of answers."""

    news: list[Recorded] = field(default_factory=list[Recorded])
    going_on: list[Turn] = field(default_factory=list[Turn])
    """Turns that waited for nothing else."""
    late: bool = False
    """Whether the answer came too late to be one."""


TOO_LATE = Answer(state=ApprovalState.EXPIRED, reason=UNANSWERED, by=By.POLICY)


def answer(
    tx: Transaction, approval_id: ApprovalId, said: Answer, owner: str, now: datetime
) -> Answered:
    """Store a person's answer; one that comes too late is none.

    A lasting answer also lets through the calls that wait already and that it covers.
    """
    approval = approvals.get(tx, approval_id, owner=owner)
    if approval.overdue(now):
        return replace(_settle(tx, [approval], TOO_LATE, now), late=True)
    if said.lasting is not Lasting.ONCE and approval.offer is None:
        raise UsageError(
            "This call can be allowed once only.",
            hint="What it does must be looked at each time.",
        )
    found = _settle(tx, [approval], said, now)
    if said.lasting is Lasting.ONCE:
        return found
    granted = _grant(tx, approval, said.lasting, owner, now)
    where = granted.session_id
    covered = [
        other
        for other in approvals.open_questions(tx, where, owner=owner)
        if other.offer is not None and granted.scope.covers(other.offer)
    ]
    grants.use(tx, [granted.id] * len(covered))
    by_grant = Answer(state=ApprovalState.ALLOWED, reason=granted.id, by=By.GRANT)
    more = _settle(tx, covered, by_grant, now)
    going_on = {turn.id: turn for turn in (*found.going_on, *more.going_on)}
    return Answered([*found.news, *more.news], list(going_on.values()))


def expire(tx: Transaction, now: datetime) -> Answered:
    """Answer every question that has waited too long."""
    late = [each for each in approvals.open_questions(tx) if each.overdue(now)]
    return _settle(tx, late, TOO_LATE, now)


def next_expiry(tx: Transaction) -> datetime | None:
    """When the next open question expires; None when none does."""
    ends = [each.expires_at for each in approvals.open_questions(tx)]
    return min((end for end in ends if end is not None), default=None)


def judgement(tx: Transaction, approval: Approval, said: Answer, now: datetime) -> Judgement:
    """An answer as the audit log tells it."""
    allowed = said.state is ApprovalState.ALLOWED
    lasting = "" if said.lasting is Lasting.ONCE else f" ({said.lasting})"
    return Judgement(
        at=now,
        owner=_owner(tx, approval.session_id),
        session_id=approval.session_id,
        turn_id=approval.turn_id,
        call_id=approval.call_id,
        tool=approval.tool,
        args=approval.args,
        decision=Ruling.ALLOW if allowed else Ruling.DENY,
        why=(said.reason or said.state) + lasting,
        who=said.by,
    )


def _owner(tx: Transaction, session_id: SessionId) -> str:
    return sessions.get(tx, session_id).owner


def _grant(
    tx: Transaction, approval: Approval, lasting: Lasting, owner: str, now: datetime
) -> Grant:
    assert approval.offer is not None, "looked at before"  # noqa: S101 - for the type checker
    granted = Grant(
        id=GrantId(new_id("grant", now)),
        owner=owner,
        session_id=approval.session_id if lasting is Lasting.SESSION else None,
        scope=approval.offer,
        created_at=now,
    )
    grants.add(tx, granted)
    return granted


def _settle(tx: Transaction, asked: Sequence[Approval], said: Answer, now: datetime) -> Answered:
    done = Answered()
    for approval in asked:
        approvals.answer(tx, approval.id, said.state, said.reason, now, lasting=said.lasting)
        decisions.note(tx, [judgement(tx, approval, said, now)])
        if said.state is ApprovalState.DENIED:
            skills.refuse(tx, approval.turn_id, approval.call_id, by=said.by, now=now)
        event = ApprovalResolved(
            approval_id=approval.id,
            tool_call_id=approval.call_id,
            allowed=said.state is ApprovalState.ALLOWED,
            reason=said.reason,
            lasting=said.lasting,
        )
        done.news.extend(events.append(tx, approval.session_id, approval.turn_id, [event], now))
        turn = turns.get(tx, approval.turn_id)
        if turn.status is TurnStatus.WAITING and not waiting.waits(tx, turn.id):
            turns.move(tx, turn, TurnStatus.QUEUED, now=now)
            done.going_on.append(turns.get(tx, turn.id))
    return done
