"""Bringing a turn to rest: its status and its closing event in one transaction."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from long_running_agents.agent import approvals, delegation, work_transitions
from long_running_agents.agent.approvals import ApprovalReply, ApprovalsSettled
from long_running_agents.domain.agent import unusual
from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.budget import BudgetScope, LimitHit, estimate_tokens, scope_of
from long_running_agents.domain.claims import not_seen
from long_running_agents.domain.events import (
    AgentAnomaly,
    ApprovalResolved,
    Event,
    EventEnvelope,
    ToolReturned,
    TurnDone,
    TurnFailed,
    TurnLimited,
    TurnStopped,
    UsageTotals,
)
from long_running_agents.domain.ids import shown
from long_running_agents.domain.task import Task, outline
from long_running_agents.domain.tool import UNCERTAIN_MESSAGE, CallState, Effect, ToolCallRecord
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import LraError, UsageError
from long_running_agents.store import (
    agents,
    budgets,
    events,
    ledger,
    sessions,
    taints,
    tasks,
    turns,
)
from long_running_agents.store import approvals as approval_rows
from long_running_agents.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Answered:
    """The model gave its final answer."""

    text: str
    model: str
    frozen: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digests of what a plan protects, if the turn ended with one."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Calls wait for a person."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A person stopped the turn, or it waited for somebody who did not come back."""

    words: str
    """What had been written by then."""
    begun: frozenset[str] | None = None
    """The calls that had begun to run, or None when nobody knows."""
    why: str = "stopped by the user"


@dataclass(frozen=True, slots=True)
class Limited:
    """A budget was used up."""

    hit: LimitHit


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn could not go on."""

    error: LraError


Outcome = Answered | Waiting | Stopped | Limited | Failed


def status_of(outcome: Outcome) -> TurnStatus:
    """Where a turn stands after it came to rest."""
    match outcome:
        case Answered():
            return TurnStatus.DONE
        case Waiting():
            return TurnStatus.WAITING
        case Stopped():
            return TurnStatus.STOPPED
        case Limited():
            return TurnStatus.LIMITED
        case Failed():
            return TurnStatus.FAILED
        case _:
            assert_never(outcome)


_NOT_RUN = "Not run: the turn was stopped before."
_NOT_ANSWERED = (
    "Not answered: the program that was to run it gave no result. It may or may not have run."
)
_WITHDRAWN = ApprovalReply(state=ApprovalState.WITHDRAWN, reason="the turn was stopped")


def settle(tx: Transaction, turn: Turn, outcome: Outcome, now: datetime) -> list[EventEnvelope]:
    """Write how a turn came to rest; the turn as it was read in this transaction."""
    news: list[Event] = []
    if isinstance(outcome, Stopped | Limited | Failed):
        turn = _paid(tx, turn, outcome, now)
    match outcome:
        case Waiting():
            # An answer may have come between the question and this line.
            turns.move(tx, turn, approvals.rest_of(tx, turn.id), now=now)
        case Answered(text=text, model=model):
            turns.move(tx, turn, TurnStatus.DONE, now=now, answer=text)
            news = [_done(tx, turn, text, model)]
        case Stopped(words, begun, why):
            news = [*_abandon(tx, turn, begun, now), TurnStopped(text=words)]
            turns.move(tx, turn, TurnStatus.STOPPED, now=now, answer=words, error=why)
        case Limited(hit):
            left = tasks.of_session(tx, turn.session_id)
            text = limit_text(hit, turn, left)
            turns.move(tx, turn, TurnStatus.LIMITED, now=now, answer=text, error=hit.sentence)
            news = [TurnLimited(limit=hit.name, text=text)]
        case Failed(error):
            turns.move(tx, turn, TurnStatus.FAILED, now=now, error=str(error))
            news = [TurnFailed(code=error.code, message=error.message, hint=error.hint)]
        case _:
            assert_never(outcome)
    sessions.touch(tx, turn.session_id, now)
    told = events.append(tx, turn.session_id, turn.id, news, now)
    if turn.agent:
        told += _of_agent(tx, turns.get(tx, turn.id), news, now)
    return told if turn.work_id is None else [*told, *_go_on(tx, turn, outcome, now)]


def _paid(tx: Transaction, turn: Turn, outcome: Outcome, now: datetime) -> Turn:
    """Count a request that was cut off, which may have been paid for.

    With the words that were heard of its answer, or with all that it may have said since.
    """
    heard = estimate_tokens(len(outcome.words)) if isinstance(outcome, Stopped) else None
    counted = budgets.settle(tx, turn.id, heard, now)
    return turn if counted is None else turns.get(tx, turn.id)


def _of_agent(
    tx: Transaction, turn: Turn, news: Sequence[Event], now: datetime
) -> list[EventEnvelope]:
    """Tell what is unusual for an agent; and whoever it works for what it asks no more, and did."""
    told: list[EventEnvelope] = []
    if turn.status.ended:
        last, *before = agents.costs(tx, turn.owner, turn.agent)
        odd = [
            AgentAnomaly(agent=turn.agent, what=each.what, value=each.value, usual=each.usual)
            for each in unusual(last, before)
        ]
        told = events.append(tx, turn.session_id, turn.id, odd, now)
    if turn.origin is not TurnOrigin.DELEGATE:
        return told
    for event in news:
        if isinstance(event, ApprovalResolved):
            told += approvals.tell_above(tx, turn, lambda _, event=event: event, now)
    return [*told, *delegation.after(tx, turn, now)]


def _go_on(tx: Transaction, turn: Turn, outcome: Outcome, now: datetime) -> list[EventEnvelope]:
    """Let the work of a turn go on, in the transaction in which that came to rest."""
    limit = outcome.hit.name if isinstance(outcome, Limited) else ""
    frozen: Mapping[str, str] = outcome.frozen if isinstance(outcome, Answered) else {}
    return work_transitions.after(tx, turns.get(tx, turn.id), limit, frozen, now)


_RETRY = "Retry the turn to go on with a fresh budget, or raise the limit."
_RAISE = "'lra budget raise{which}' lets it go on from here, and so does the page Usage."


def limit_text(hit: LimitHit, turn: Turn, tree: list[Task]) -> str:
    """What a person is told when a budget ends a turn: what was done and what is left."""
    spent = turn.spent
    lines = [
        f"I had to stop here: {hit.sentence}.",
        f"So far: {spent.steps} steps, {spent.tool_calls} tool calls, {spent.total_tokens} tokens.",
    ]
    left = [task for task in tree if task.status.open]
    if left:
        lines += ["Left to do:", outline([replace(task, parent=None) for task in left])]
    scope = scope_of(hit.name)
    which = f" --session {shown(turn.session_id)}" if scope is BudgetScope.SESSION else ""
    if turn.work_id is not None and scope in (BudgetScope.TURN, BudgetScope.WORK):
        return "\n".join(lines)
    lines.append(_RETRY if scope is BudgetScope.TURN else _RAISE.format(which=which))
    return "\n".join(lines)


def _done(tx: Transaction, turn: Turn, text: str, model: str) -> TurnDone:
    spent = turn.spent
    # The ledger has no secrets in it, and half of one would not be recognised in what is clipped.
    known = (call.words for call in ledger.newest(tx, turn.session_id))
    unknown = not_seen(tx.redact(text), known)
    return TurnDone(
        text=text,
        iterations=spent.steps,
        model=model,
        usage=UsageTotals.of(spent),
        mode=turn.mode,
        not_seen=unknown,
    )


def _abandon(
    tx: Transaction, turn: Turn, begun: frozenset[str] | None, now: datetime
) -> list[Event]:
    """Give every open call and question of a stopped turn its outcome."""
    news: list[Event] = []
    handed = {call.call_id for call in approvals.client_calls(tx, turn.id)}
    for call in ledger.unresolved(tx, turn.id):
        state, told = _fate(call, begun, handed)
        ledger.resolve(tx, turn.id, call.call_id, state, json.dumps(told), now)
        news.append(_returned(call, state, told))
    asked = approval_rows.of_turn(tx, turn.id).values()
    waiting = [each for each in asked if each.state is ApprovalState.OPEN]
    return [*news, *(approvals.resolve(tx, each, _WITHDRAWN, now) for each in waiting)]


def _returned(call: ToolCallRecord, state: CallState, preview: str) -> ToolReturned:
    """What is told of a call that did not run here."""
    return ToolReturned(
        tool=call.tool,
        tool_call_id=call.call_id,
        result_preview=preview,
        duration_ms=0,
        success=state is CallState.DONE,
        outcome=state,
    )


def _fate(
    call: ToolCallRecord, begun: frozenset[str] | None, handed: Collection[str]
) -> tuple[CallState, str]:
    if call.call_id in handed:
        return CallState.FAILED, _NOT_ANSWERED
    may_have_run = call.state is CallState.STARTED and (begun is None or call.call_id in begun)
    if may_have_run and call.effect is Effect.ONCE:
        return CallState.UNCERTAIN, UNCERTAIN_MESSAGE.format(tool=call.tool)
    return CallState.FAILED, _NOT_RUN


LONGEST = 200_000
"""Characters of a result that are kept."""
_PREVIEW = 500


@dataclass(frozen=True, slots=True)
class ResultDelivered:
    """What came of results."""

    news: list[EventEnvelope] = field(default_factory=list[EventEnvelope])
    going_on: Turn | None = None
    """The turn, if it waited for nothing else."""


def deliver(
    tx: Transaction, turn: Turn, results: Mapping[str, str], now: datetime, *, go_on: bool = True
) -> ResultDelivered:
    """Store results of calls that a client was to run.

    Raises:
        UsageError: A call is unknown, or has its result.
    """
    handed = {call.call_id: call for call in approvals.client_calls(tx, turn.id)}
    if wrong := [call_id for call_id in results if call_id not in handed]:
        raise UsageError(
            f"No call {wrong[0]!r} waits for a result.",
            hint="Each call is answered once, with the id it was handed over with.",
        )
    news: list[Event] = []
    for call_id, said in results.items():
        call, text = handed[call_id], _bounded(said)
        ledger.resolve(tx, turn.id, call_id, CallState.DONE, json.dumps(text), now)
        source = f"the client's tool {call.tool}"
        taints.add(tx, turn.session_id, turn.id, source, now, call_id=call_id)
        news.append(_returned(call, CallState.DONE, tx.redact(text)[:_PREVIEW]))
    told = events.append(tx, turn.session_id, turn.id, news, now)
    # A turn that has not sat down to wait yet finds the results by itself.
    ready = go_on and turn.status is TurnStatus.WAITING and not approvals.waits(tx, turn.id)
    if not ready:
        return ResultDelivered(told)
    turns.move(tx, turn, TurnStatus.QUEUED, now=now)
    return ResultDelivered(told, turns.get(tx, turn.id))


def _bounded(text: str) -> str:
    rest = len(text) - LONGEST
    return f"{text[:LONGEST]}\n[… {rest} more characters were cut]" if rest > 0 else text


_GONE = "the program that was to run a tool did not come back within {hours:.3g} hours"


def next_deadline(tx: Transaction, patience: timedelta | None) -> datetime | None:
    """When something has waited too long next; None when nothing waits, or may do so for ever."""
    ends = [each.expires_at for each in approval_rows.open_questions(tx)]
    if patience is not None:
        ends += [since + patience for since in ledger.handed(tx).values()]
    return min((end for end in ends if end is not None), default=None)


def expire_all(tx: Transaction, now: datetime, patience: timedelta | None) -> ApprovalsSettled:
    """Answer every question, and end every turn, that has waited too long."""
    done = approvals.expire(tx, now)
    if patience is None:
        return done
    why = _GONE.format(hours=patience / timedelta(hours=1))
    for turn_id, since in ledger.handed(tx).items():
        if since + patience > now:
            continue
        turn = turns.get(tx, turn_id)
        done.news.extend(settle(tx, turn, Stopped(f"I stopped here: {why}.", why=why), now))
        following = turns.current(tx, turn.session_id)
        if following is not None and following.status is TurnStatus.QUEUED:
            done.going_on.append(following)
    return done
