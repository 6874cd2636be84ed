"""Bringing a turn to rest: its status and its closing event in one transaction."""

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from long_running_agents.agent import waiting
from long_running_agents.agent.answering import Answer, judgement
from long_running_agents.agent.outcome import Answered, Failed, Limited, Outcome, Stopped, Waiting
from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.events import (
    ApprovalResolved,
    Event,
    Recorded,
    ToolReturned,
    TurnDone,
    TurnFailed,
    TurnLimited,
    TurnStopped,
    UsageTotals,
)
from long_running_agents.domain.task import Task, outline
from long_running_agents.domain.tool import (
    UNCERTAIN_MESSAGE,
    CallState,
    Effect,
    ToolCallRecord,
)
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.store import approvals, decisions, events, ledger, sessions, tasks, turns
from long_running_agents.store.database import Transaction

_NOT_RUN = "Not run: the turn was stopped before."
_NOT_ANSWERED = (
    "Not answered: the program that was to run it gave no result. It may or may not have run."
)
_WITHDRAWN = Answer(state=ApprovalState.WITHDRAWN, reason="the turn was stopped")


def settle(tx: Transaction, turn: Turn, outcome: Outcome, now: datetime) -> list[Recorded]:
    """Write how a turn came to rest; the turn as it was read in this transaction."""
    news: list[Event] = []
    match outcome:
        case Waiting():
            # An answer may have come between the question and this line.
            waits = waiting.waits(tx, turn.id)
            status = TurnStatus.WAITING if waits else TurnStatus.QUEUED
            turns.move(tx, turn, status, now=now)
        case Answered(text, model):
            turns.move(tx, turn, TurnStatus.DONE, now=now, answer=text)
            news = [_done(turn, text, model)]
        case Stopped(words, begun):
            news = [*_abandon(tx, turn, begun, now), TurnStopped(text=words)]
            turns.move(
                tx, turn, TurnStatus.STOPPED, now=now, answer=words, error="stopped by the user"
            )
        case Limited(hit):
            text = limit_text(hit.sentence, turn, tasks.of_session(tx, turn.session_id))
            turns.move(tx, turn, TurnStatus.LIMITED, now=now, answer=text, error=hit.sentence)
            news = [TurnLimited(limit=hit.name, text=text)]
        case Failed(error):
            turns.move(tx, turn, TurnStatus.FAILED, now=now, error=str(error))
            news = [TurnFailed(code=error.code, message=error.message, hint=error.hint)]
        case _:
            assert_never(outcome)
    sessions.touch(tx, turn.session_id, now)
    return events.append(tx, turn.session_id, turn.id, news, now)


def limit_text(sentence: str, turn: Turn, tree: list[Task]) -> str:
    """What a person is told when a budget ends a turn: what was done and what is left."""
    spent = turn.spent
    lines = [
        f"I had to stop here: {sentence}.",
        f"So far: {spent.steps} steps, {spent.tool_calls} tool calls, {spent.total_tokens} tokens.",
    ]
    left = [task for task in tree if task.status.open]
    if left:
        lines += ["Left to do:", outline([replace(task, parent=None) for task in left])]
    lines.append("Retry the turn to go on with a fresh budget, or raise the limit.")
    return "\n".join(lines)


def _done(turn: Turn, text: str, model: str) -> TurnDone:
    spent = turn.spent
    return TurnDone(
        text=text,
        iterations=spent.steps,
        model=model,
        usage=UsageTotals.of(spent),
        mode=turn.mode,
    )


def _abandon(
    tx: Transaction, turn: Turn, begun: frozenset[str] | None, now: datetime
) -> list[Event]:
    """Give every open call and question of a stopped turn its outcome."""
    news: list[Event] = []
    handed = {call.call_id for call in waiting.client_calls(tx, turn.id)}
    for call in ledger.unresolved(tx, turn.id):
        state, told = _fate(call, begun, handed)
        ledger.resolve(tx, turn.id, call.call_id, state, json.dumps(told), now)
        news.append(
            ToolReturned(
                tool=call.tool,
                tool_call_id=call.call_id,
                result_preview=told,
                duration_ms=0,
                success=False,
                outcome=state,
            )
        )
    for approval in approvals.of_turn(tx, turn.id).values():
        if approval.state is ApprovalState.OPEN:
            approvals.answer(tx, approval.id, _WITHDRAWN.state, _WITHDRAWN.reason, now)
            decisions.note(tx, [judgement(tx, approval, _WITHDRAWN, now)])
            news.append(
                ApprovalResolved(
                    approval_id=approval.id,
                    tool_call_id=approval.call_id,
                    allowed=False,
                    reason=_WITHDRAWN.reason,
                )
            )
    return news


def _fate(
    call: ToolCallRecord, begun: frozenset[str] | None, handed: Collection[str]
) -> tuple[CallState, str]:
    if call.call_id in handed:
        return CallState.FAILED, _NOT_ANSWERED
    may_have_run = call.state is CallState.STARTED and (begun is None or call.call_id in begun)
    if may_have_run and call.effect is Effect.ONCE:
        return CallState.UNCERTAIN, UNCERTAIN_MESSAGE.format(tool=call.tool)
    return CallState.FAILED, _NOT_RUN
