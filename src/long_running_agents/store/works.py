"""Works: their phases, plans and evidence, and what was done for them."""

import json
from dataclasses import replace
from itertools import takewhile
from typing import Any

from sqlalchemy import bindparam, func, insert, select, update

from long_running_agents.domain.budget import Limits
from long_running_agents.domain.ids import SessionId, WorkId
from long_running_agents.domain.tool import Effect, ToolCallRecord
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.domain.work import (
    Evidence,
    Plan,
    PlanState,
    Work,
    WorkPhase,
    WorkView,
    file_change,
)
from long_running_agents.errors import NotFound
from long_running_agents.store import tasks
from long_running_agents.store.database import Prepared, Transaction
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import evidence, plans, tool_calls, turns, usage, works

_limits = row_reader(Limits, tool_calls=lambda _: None)
_work = row_reader(Work, scope=lambda row: tasks.scope_of(row.scope), limits=_limits)
_evidence = row_reader(Evidence)
_plan = row_reader(
    Plan,
    tasks=lambda row: tuple(json.loads(row.tasks)),
    frozen=lambda row: json.loads(row.frozen),
)
_record = row_reader(ToolCallRecord)
_ENDED = [phase for phase in WorkPhase if phase.ended]
_BY_ID = Prepared(select(works).where(works.c.id == bindparam("work")))


def save(tx: Transaction, work: Work) -> Work:
    """Store a work, new or changed; it comes back without the secrets that were in it."""
    work = replace(work, goal=tx.redact(work.goal), note=tx.redact(work.note))
    values = row_values(works, work, scope=tasks.kept_scope(work.scope))
    values |= row_values(works, work.limits)
    if tx.first(_BY_ID, {"work": work.id}) is None:
        tx.execute(insert(works), values)
    else:
        tx.execute(update(works).where(works.c.id == work.id).values(values))
    return work


def get(tx: Transaction, work_id: WorkId, *, owner: str | None = None) -> Work:
    """Look up a work that must exist, and belong to an owner if one asks."""
    row = tx.first(_BY_ID, {"work": work_id})
    if row is None or owner not in (None, row.owner):
        raise NotFound(f"No work {work_id!r}.", hint="'lra work list' shows them.")
    return _work(row)


def open_in(tx: Transaction, session_id: SessionId) -> Work | None:
    """The work of a session that has not ended, if there is one."""
    query = select(works).where(works.c.session_id == session_id, works.c.phase.not_in(_ENDED))
    row = tx.execute(query).first()
    return None if row is None else _work(row)


def of_owner(
    tx: Transaction, owner: str, *, ended: bool, limit: int, session_id: SessionId | None = None
) -> list[Work]:
    """An owner's works, those changed last first."""
    query = select(works).where(works.c.owner == owner).order_by(works.c.updated_at.desc())
    if not ended:
        query = query.where(works.c.phase.not_in(_ENDED))
    if session_id is not None:
        query = query.where(works.c.session_id == session_id)
    return [_work(row) for row in tx.execute(query.limit(limit))]


def view(tx: Transaction, work: Work, *, changes: bool = True) -> WorkView:
    """A work with its rows; without what may have changed files where nobody asks."""
    found = tx.execute(
        select(evidence).where(evidence.c.work_id == work.id).order_by(evidence.c.number)
    )
    made = _changing(tx, work.session_id) if changes else []
    return WorkView(
        work=work,
        tasks=tasks.of_session(tx, work.session_id, work_id=work.id),
        evidence=[_evidence(row) for row in found],
        changes=[each for number, call in made if (each := file_change(call, number)) is not None],
        proposal=proposal(tx, work.id),
    )


def view_of(tx: Transaction, work_id: WorkId) -> WorkView:
    """A work by its id, with its rows but for what may have changed files."""
    return view(tx, get(tx, work_id), changes=False)


def silent(tx: Transaction, work_id: WorkId) -> int:
    """How many of a work's turns have ended without a call, since the last one that made any."""
    ended = [status for status in TurnStatus if status.ended]
    query = (
        select(turns.c.tool_calls, turns.c.status)
        .where(turns.c.work_id == work_id, turns.c.status.in_(ended))
        .order_by(turns.c.number.desc())
    )
    rows = tx.execute(query)
    found = takewhile(lambda row: row.status == TurnStatus.DONE and not row.tool_calls, rows)
    return sum(1 for _ in found)


_CALLS = (
    select(tool_calls, turns.c.number)
    .join(turns, turns.c.id == tool_calls.c.turn_id)
    .order_by(turns.c.number, tool_calls.c.step, tool_calls.c.position)
)


def _changing(tx: Transaction, session_id: SessionId) -> list[tuple[int, ToolCallRecord]]:
    changing = (tool_calls.c.session_id == session_id) & (tool_calls.c.effect != Effect.READ)
    return [(row.number, _record(row)) for row in tx.execute(_CALLS.where(changing))]


def calls(tx: Transaction, work_id: WorkId) -> list[ToolCallRecord]:
    """All calls of a work's turns, in their order."""
    return [_record(row) for row in tx.execute(_CALLS.where(turns.c.work_id == work_id))]


def add_evidence(tx: Transaction, found: Evidence, cause: str) -> tuple[Evidence, bool]:
    """Store what was found, and say whether it is new: the same cause finds it once."""
    known = select(evidence).where(
        evidence.c.work_id == found.work_id,
        evidence.c.task == found.task,
        evidence.c.cause == cause,
    )
    if (row := tx.execute(known).first()) is not None:
        return _evidence(row), False
    found = replace(found, number=_next(tx, evidence, found.work_id), proof=tx.redact(found.proof))
    tx.execute(insert(evidence), row_values(evidence, found, cause=cause))
    return found, True


def _next(tx: Transaction, table: Any, work_id: WorkId) -> int:
    newest = select(func.max(table.c.number)).where(table.c.work_id == work_id)
    return (tx.execute(newest).scalar() or 0) + 1


def add_plan(tx: Transaction, plan: Plan) -> None:
    """Store a version of a plan, or a change that is proposed."""
    tx.execute(
        insert(plans),
        row_values(
            plans,
            plan,
            number=_next(tx, plans, plan.work_id),
            tasks=tx.redact.json(json.dumps(plan.tasks)),
            frozen=json.dumps(dict(plan.frozen)),
            reason=tx.redact(plan.reason),
        ),
    )


def plans_of(tx: Transaction, work_id: WorkId) -> list[Plan]:
    """The plans of a work and the changes that were proposed, the oldest first."""
    query = select(plans).where(plans.c.work_id == work_id).order_by(plans.c.number)
    return [_plan(row) for row in tx.execute(query)]


def proposal(tx: Transaction, work_id: WorkId) -> Plan | None:
    """The change of a plan that waits for an answer."""
    waiting = [each for each in plans_of(tx, work_id) if each.state is PlanState.PROPOSED]
    return waiting[-1] if waiting else None


def decide(tx: Transaction, work_id: WorkId, state: PlanState, by: str) -> None:
    """Write down what a person says to the change that is proposed."""
    waiting = (plans.c.work_id == work_id) & (plans.c.state == PlanState.PROPOSED)
    tx.execute(update(plans).where(waiting).values(state=state, by=by))


def requests(
    tx: Transaction, owner: str, session_id: SessionId, most: int = 500
) -> list[tuple[int, float | None]]:
    """What the newest requests to a session's model took: tokens, and dollars if that is known."""
    asked = select(usage.c.model).where(usage.c.owner == owner)
    order = (usage.c.session_id == session_id).desc(), usage.c.id.desc()
    model = asked.order_by(*order).limit(1).scalar_subquery()
    query = (
        select(usage.c.input_tokens + usage.c.output_tokens, usage.c.cost)
        .where(usage.c.model == model)
        .order_by(usage.c.id.desc())
        .limit(most)
    )
    return [(tokens, None if cost is None else float(cost)) for tokens, cost in tx.execute(query)]


def steps_of_tasks(tx: Transaction, owner: str) -> list[int]:
    """How many steps a task took in each of an owner's works that are complete, on average."""
    counted = select(func.sum(turns.c.steps)).where(turns.c.work_id == works.c.id)
    tasks_proven = func.count(evidence.c.task.distinct())
    proven = select(tasks_proven).where(evidence.c.work_id == works.c.id)
    complete = (works.c.owner == owner) & (works.c.phase == WorkPhase.COMPLETE)
    steps_each = counted.correlate(works).scalar_subquery()
    query = select(steps_each, proven.correlate(works).scalar_subquery()).where(complete)
    return [max(1, round(steps / done)) for steps, done in tx.execute(query) if steps and done]
