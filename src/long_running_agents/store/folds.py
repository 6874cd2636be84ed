"""Folds, and what else is kept of the turns that a model is not shown any more."""

import hashlib
import json
import re
from typing import Any

from sqlalchemy import Select, func, insert, select

from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.compaction import Artifact, Fold, StandingBlock, TurnLine
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.tool import CallState, Effect
from long_running_agents.store import tasks
from long_running_agents.store.database import Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import approvals, folds, messages, sessions, tool_calls, turns

_line = row_reader(TurnLine)
_fold = row_reader(Fold, faults=lambda row: tuple(json.loads(row.faults)))
_CALLS = 60
_TURNS = 60
_LONGEST = 400
"""Characters of a prompt or an answer that a line is made of."""
_ENDED = [CallState.DONE, CallState.FAILED, CallState.UNCERTAIN, CallState.DENIED]
_EXIT = re.compile(r"\[exit code (\d+)\]")


def add(tx: Transaction, fold: Fold) -> None:
    """Store a fold."""
    values = row_values(folds, fold, text=tx.redact(fold.text))
    tx.execute(insert(folds), values | {"faults": tx.redact(json.dumps(fold.faults))})


def of_session(tx: Transaction, session_id: SessionId) -> list[Fold]:
    """A session's folds, the oldest first."""
    query = select(folds).where(folds.c.session_id == session_id).order_by(folds.c.first)
    return [_fold(row) for row in tx.execute(query)]


def steps(tx: Transaction, session_id: SessionId) -> int:
    """How many steps a session has taken."""
    query = select(func.coalesce(func.sum(turns.c.steps), 0)).where(
        turns.c.session_id == session_id
    )
    return tx.execute(query).scalar_one()


def _lines(session_id: SessionId) -> "Select[Any, Any, Any]":
    prompt, answer = (func.substr(each, 1, _LONGEST) for each in (turns.c.prompt, turns.c.answer))
    said = select(turns.c.number, prompt.label("prompt"), answer.label("answer"))
    return said.where(turns.c.session_id == session_id).order_by(turns.c.number)


def cleared(tx: Transaction, session_id: SessionId) -> int:
    """The last turn that a person has cleared away; 0 when none was."""
    query = (
        select(func.max(turns.c.number))
        .join(messages, messages.c.turn_id == turns.c.id)
        .join(sessions, sessions.c.id == messages.c.session_id)
        .where(messages.c.session_id == session_id, messages.c.seq <= sessions.c.cleared)
    )
    return tx.execute(query).scalar() or 0


def standing_block(tx: Transaction, session_id: SessionId, before: int) -> StandingBlock:
    """What is kept of a session's turns before one."""
    start = cleared(tx, session_id)
    made = [fold for fold in of_session(tx, session_id) if start < fold.first <= fold.last < before]
    told = {number for fold in made if fold.text for number in range(fold.first, fold.last + 1)}
    left_out = _lines(session_id).where(turns.c.number > start, turns.c.number < before)
    newest = left_out.where(turns.c.number >= before - _TURNS - len(told))
    began = tx.execute(left_out.limit(1)).first()
    shown = [_line(row) for row in tx.execute(newest) if row.number not in told]
    return StandingBlock(
        began="" if began is None else began.prompt,
        tasks=tasks.of_session(tx, session_id),
        questions=_questions(tx, session_id),
        artifacts=_artifacts(tx, session_id, start, before),
        folds=made,
        turns=shown[::-1],
        hidden=max(before - 1 - start, 0),
    )


def _questions(tx: Transaction, session_id: SessionId) -> list[str]:
    waiting = approvals.c.state == ApprovalState.OPEN
    query = select(approvals.c.question).where(approvals.c.session_id == session_id, waiting)
    return list(tx.execute(query.order_by(approvals.c.asked_at)).scalars())


def _artifacts(tx: Transaction, session_id: SessionId, after: int, before: int) -> list[Artifact]:
    """The files that were written and the commands that ran or were refused, the newest first."""
    query = (
        select(tool_calls, turns.c.number)
        .join(turns, turns.c.id == tool_calls.c.turn_id)
        .where(
            tool_calls.c.session_id == session_id,
            tool_calls.c.effect != Effect.READ,
            tool_calls.c.state.in_(_ENDED),
            turns.c.number > after,
            turns.c.number < before,
        )
        .order_by(turns.c.number.desc(), tool_calls.c.step.desc(), tool_calls.c.position.desc())
        .limit(_CALLS)
    )
    found: dict[tuple[str, bool], Artifact] = {}
    for row in tx.execute(query):
        args: dict[str, Any] = json.loads(row.args)
        name = args.get("path") or args.get("command")
        if isinstance(name, str) and name:
            outcome = f"{row.tool} {_outcome(row.state, args, row.result or '')}"
            denied = row.state == CallState.DENIED
            made = Artifact(name=name, outcome=outcome, turn=row.number, denied=denied)
            found.setdefault((name, denied), made)
    return list(found.values())


def _outcome(state: str, args: dict[str, Any], result: str) -> str:
    if (code := _EXIT.search(result)) is not None:
        return f"exit code {code[1]}"
    content = args.get("content")
    if state == CallState.DONE and isinstance(content, str):
        return f"sha256 {hashlib.sha256(content.encode()).hexdigest()[:12]}"
    return state
