"""Folds, and what else is kept of the turns that a model is not shown any more."""

import hashlib
import json
import re
from itertools import islice
from typing import Any

from sqlalchemy import Integer, String, bindparam, func, insert, literal_column, select

from long_running_agents.domain.approval import ApprovalState
from long_running_agents.domain.compaction import Artifact, Fold, StandingBlock, TurnLine
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.tool import CallState, Effect
from long_running_agents.store import tasks
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import among_given, packed, row_reader, row_values
from long_running_agents.store.tables import approvals, folds, messages, sessions, tool_calls, turns

_line = row_reader(TurnLine)
_fold = row_reader(Fold, faults=lambda row: tuple(json.loads(row.faults)))
_CALLS = 60
_TURNS = 60
_FOLDS = 60
"""Calls, turns and folds that a block is made of: it has no room for more."""
_LONGEST = 400
"""Characters of a prompt or an answer that a line is made of."""
_PROMPT, _ANSWER = (
    literal_column(f"substr(turns.{each}, 1, {_LONGEST})", String) for each in ("prompt", "answer")
)
_NO = literal_column("0", Integer)
_ENDED = [CallState.DONE, CallState.FAILED, CallState.UNCERTAIN, CallState.DENIED]
_EXIT = re.compile(r"\[exit code (\d+)\]")


def add(tx: Transaction, fold: Fold) -> None:
    """Store a fold."""
    values = row_values(folds, fold, text=tx.redact(fold.text))
    tx.execute(insert(folds), values | {"faults": tx.redact(json.dumps(fold.faults))})


_OF_SESSION = Prepared(
    select(folds)
    .where(folds.c.session_id == bindparam("session"))
    .order_by(folds.c.first.desc())
    .limit(bindparam("most", type_=Integer))
    .offset(_NO)
)


def of_session(tx: Transaction, session_id: SessionId, most: int = -1) -> list[Fold]:
    """A session's folds, or only the newest of them, the oldest first."""
    rows = tx.all(_OF_SESSION, {"session": session_id, "most": most})
    return [_fold(row) for row in reversed(rows)]


def count(tx: Transaction, session_id: SessionId) -> int:
    """How many folds a session has."""
    query = select(func.count()).where(folds.c.session_id == session_id)
    return tx.execute(query).scalar_one()


def recent(tx: Transaction, session_id: SessionId, within: int) -> int:
    """How many summaries were wanted within the last so many steps of a session."""
    since = steps(tx, session_id) - within
    query = select(func.count()).where(folds.c.session_id == session_id, folds.c.steps > since)
    return tx.execute(query).scalar_one()


def steps(tx: Transaction, session_id: SessionId) -> int:
    """How many steps a session has taken."""
    query = select(func.coalesce(func.sum(turns.c.steps), 0)).where(
        turns.c.session_id == session_id
    )
    return tx.execute(query).scalar_one()


_CLEARED = Prepared(
    select(turns.c.number)
    .join(messages, messages.c.turn_id == turns.c.id)
    .join(sessions, sessions.c.id == messages.c.session_id)
    .where(messages.c.session_id == bindparam("session"), messages.c.seq <= sessions.c.cleared)
    .order_by(messages.c.seq.desc())
)


def cleared(tx: Transaction, session_id: SessionId) -> int:
    """The last turn that a person has cleared away; 0 when none was."""
    row = tx.run(_CLEARED, {"session": session_id})
    return 0 if row is None else row[0]


_LINES = (
    select(turns.c.number, _PROMPT.label("prompt"), _ANSWER.label("answer"))
    .where(turns.c.session_id == bindparam("session"))
    .order_by(turns.c.number)
)
_BETWEEN = Prepared(
    _LINES.where(turns.c.number > bindparam("start"), turns.c.number < bindparam("before"))
)
_NUMBERED = Prepared(_LINES.where(among_given(turns.c.number, "numbers")))


def standing_block(tx: Transaction, session_id: SessionId, before: int) -> StandingBlock:
    """What is kept of a session's turns before one."""
    start = cleared(tx, session_id)
    newest = of_session(tx, session_id, most=_FOLDS)
    made = [fold for fold in newest if start < fold.first <= fold.last < before]
    told = {number for fold in made if fold.text for number in range(fold.first, fold.last + 1)}
    untold = (number for number in range(before - 1, start, -1) if number not in told)
    wanted = {"session": session_id, "numbers": packed(islice(untold, _TURNS))}
    shown = [_line(row) for row in tx.all(_NUMBERED, wanted)]
    began = tx.first(_BETWEEN, {"session": session_id, "start": start, "before": before})
    return StandingBlock(
        began="" if began is None else began.prompt,
        tasks=tasks.of_session(tx, session_id),
        questions=[row[0] for row in tx.run_all(_QUESTIONS, {"session": session_id})],
        artifacts=_artifacts(tx, session_id, start, before),
        folds=made,
        turns=shown[::-1],
        hidden=max(before - 1 - start, 0),
    )


_QUESTIONS = Prepared(
    select(approvals.c.question)
    .where(
        approvals.c.session_id == bindparam("session"),
        approvals.c.state == literal_column(f"'{ApprovalState.OPEN}'", String),
    )
    .order_by(approvals.c.asked_at)
)
_CALLED = Prepared(
    select(
        tool_calls.c.tool,
        tool_calls.c.args,
        tool_calls.c.state,
        tool_calls.c.result,
        turns.c.number,
    )
    .join(turns, turns.c.id == tool_calls.c.turn_id)
    .where(
        turns.c.session_id == bindparam("session"),
        tool_calls.c.effect != literal_column(f"'{Effect.READ}'", String),
        tool_calls.c.state.in_([literal_column(f"'{state}'", String) for state in _ENDED]),
        turns.c.number > bindparam("start"),
        turns.c.number < bindparam("before"),
    )
    .order_by(turns.c.number.desc(), tool_calls.c.step.desc(), tool_calls.c.position.desc())
    .limit(literal_column(str(_CALLS)))
    .offset(_NO)
)


def _artifacts(tx: Transaction, session_id: SessionId, start: int, before: int) -> list[Artifact]:
    """The files that were written and the commands that ran or were refused, the newest first."""
    found: dict[tuple[str, bool], Artifact] = {}
    for row in tx.all(_CALLED, {"session": session_id, "start": start, "before": before}):
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
