"""Transitions of a work: each in the transaction of whatever brings it about."""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from long_running_agents.config.settings import DeepWorkSettings
from long_running_agents.domain.budget import Limits
from long_running_agents.domain.events import (
    Event,
    EventEnvelope,
    MessageAccepted,
    ModeChanged,
    PlanReady,
    WorkPhaseChanged,
)
from long_running_agents.domain.ids import WorkId, new_id
from long_running_agents.domain.session import Mode, Session
from long_running_agents.domain.task import Criterion, CriterionKind, Scope, Task, news
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.domain.work import (
    Evidence,
    Forecast,
    NextMove,
    Plan,
    PlanPolicy,
    PlanState,
    Work,
    WorkPhase,
    WorkView,
    after_turn,
    forecast,
    go_on,
)
from long_running_agents.errors import Busy, LraError, NotFound
from long_running_agents.store import events, sessions, tasks, turns, works
from long_running_agents.store.database import Database, Transaction
from long_running_agents.tools.deps import TurnDeps

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDefaults:
    """What a work is begun with unless it is said."""

    policy: PlanPolicy = PlanPolicy.ASK
    limits: Limits = field(default_factory=Limits)
    scope: Scope = field(default_factory=Scope)

    @classmethod
    def of(cls, settings: DeepWorkSettings) -> "WorkDefaults":
        """What a home's settings say."""
        limits = Limits(steps=settings.max_iterations, tokens=settings.token_budget)
        return cls(policy=PlanPolicy(settings.plan_policy), limits=limits)


def new_work(session: Session, goal: str, defaults: WorkDefaults, now: datetime) -> Work:
    """A work that begins with its plan."""
    return Work(
        id=WorkId(new_id("work", now)),
        session_id=session.id,
        goal=goal,
        phase=WorkPhase.PLANNING,
        policy=defaults.policy,
        limits=defaults.limits,
        scope=defaults.scope,
        created_at=now,
        updated_at=now,
        owner=session.owner,
    )


def join(
    tx: Transaction, session: Session, turn: Turn, wanted: Mode | None, defaults: WorkDefaults
) -> tuple[Turn, list[Event]]:
    """Make a message a part of the work of its session, or begin one; else leave it as it is.

    To a plan that waits, or to a question, it is the answer; any other pause it ends.
    """
    now, work = turn.created_at, works.open_in(tx, session.id)
    if work is None:
        if turn.mode is not Mode.DEEP_WORK:
            return turn, []
        work = replace(new_work(session, turn.prompt, defaults, now), attended=turn.attended)
        work = works.save(tx, work)
        return replace(turn, work_id=work.id), [_told(work)]
    if wanted is Mode.BOUNDED:
        return turn, []
    turn = replace(turn, work_id=work.id, mode=Mode.DEEP_WORK)
    waits = work.phase is WorkPhase.PLAN_READY
    if not waits and work.pause is None:
        return turn, []
    phase = WorkPhase.PLANNING if waits else work.phase
    return turn, _save(tx, work, looked(tx, replace(work, phase=phase), now), now)


def unpause(tx: Transaction, turn: Turn, now: datetime) -> list[Event]:
    """Let the work of a turn go on that a person lets go on.

    Raises:
        Busy: It has ended.
    """
    if turn.work_id is None:
        return []
    work = works.get(tx, turn.work_id)
    if not work.open:
        raise Busy(f"The work of this turn is {work.phase}.", hint="Begin another one.")
    return _save(tx, work, looked(tx, work, now), now)


def looked(tx: Transaction, work: Work, now: datetime) -> Work:
    """A work that goes on because a person has looked."""
    newest = works.view(tx, work, changes=False).evidence
    return replace(
        work,
        pause=None,
        note="",
        nudges=0,
        progress="",
        alerts=0,
        alerted=len(works.calls(tx, work.id)),
        looked=newest[-1].number if newest else 0,
        updated_at=now,
    )


def after(
    tx: Transaction, turn: Turn, limit: str, frozen: Mapping[str, str], now: datetime
) -> list[EventEnvelope]:
    """Write what comes after a turn that has just come to rest; nothing while it waits."""
    if turn.work_id is None or not turn.status.ended or turn.status is TurnStatus.STEERED:
        return []
    work = works.get(tx, turn.work_id)
    following = turns.current(tx, turn.session_id)
    if not work.open or (following is not None and following.work_id == work.id):
        return []
    view = works.view(tx, work)
    move = after_turn(view, turn.status, limit, turn.error or turn.answer)
    return carry_out(tx, view, move, now, frozen=frozen)


def carry_out(
    tx: Transaction,
    view: WorkView,
    move: NextMove,
    now: datetime,
    *,
    frozen: Mapping[str, str] | None = None,
) -> list[EventEnvelope]:
    """Write a move down: the work as it is now, its next turn, and what is told of it."""
    before = view.work
    if move.approved:
        view = approve(tx, replace(view, work=move.work), frozen or {}, "policy", now)
        move = go_on(view)
    work = replace(
        move.work,
        turns=move.work.turns + bool(move.prompt),
        updated_at=now,
        ended_at=now if move.work.phase.ended else None,
    )
    told: list[Event] = list(_save(tx, before, work, now))
    if work.phase is WorkPhase.PLAN_READY or view.proposal is not None:
        told.append(_plan_ready(tx, replace(view, work=work)))
    if work.phase.ended and sessions.get(tx, work.session_id).mode is Mode.DEEP_WORK:
        sessions.set_mode(tx, work.session_id, Mode.BOUNDED)
        told.append(ModeChanged(mode=Mode.BOUNDED))
    recorded = events.append(tx, work.session_id, None, told, now)
    return [*recorded, *_next_turn(tx, work, move.prompt, now)]


def _save(tx: Transaction, before: Work, work: Work, now: datetime) -> list[Event]:
    saved = works.save(tx, replace(work, updated_at=now))
    same = (before.phase, before.pause, before.note) == (saved.phase, saved.pause, saved.note)
    return [] if same else [_told(saved)]


def _told(work: Work) -> WorkPhaseChanged:
    return WorkPhaseChanged(
        work_id=work.id,
        goal=work.goal,
        phase=work.phase,
        pause=work.pause,
        note=work.note,
        plan_version=work.plan_version,
    )


def _next_turn(tx: Transaction, work: Work, prompt: str, now: datetime) -> list[EventEnvelope]:
    if not prompt:
        return []
    turn = turns.accept(
        tx,
        Turn(
            # A function of work and number: written twice, it would clash.
            id=work.turn_id(work.turns),
            session_id=work.session_id,
            number=turns.next_number(tx, work.session_id),
            prompt=prompt,
            origin=TurnOrigin.WORK,
            attended=work.attended,
            status=TurnStatus.QUEUED,
            created_at=now,
            owner=work.owner,
            mode=Mode.DEEP_WORK,
            work_id=work.id,
        ),
    )
    told = MessageAccepted(content=turn.prompt, origin=turn.origin)
    return events.append(tx, work.session_id, turn.id, [told], now)


def _plan_ready(tx: Transaction, view: WorkView) -> PlanReady:
    work, waiting = view.work, view.proposal
    return PlanReady(
        work_id=work.id,
        version=work.plan_version + 1,
        tasks=news(view.tasks).tasks,
        reason="" if waiting is None else waiting.reason,
        forecast=str(forecast_of(tx, view)),
    )


def forecast_of(tx: Transaction, view: WorkView) -> Forecast:
    """What is left of a work may take, by what its model and earlier works took."""
    work = view.work
    left = [task for task in view.leaves if not view.proven(task)]
    steps = works.steps_of_tasks(tx, work.owner)
    return forecast(left, steps, works.requests(tx, work.owner, work.session_id))


def approve(
    tx: Transaction, view: WorkView, frozen: Mapping[str, str], by: str, now: datetime
) -> WorkView:
    """Freeze the plan as the next version; what has no criterion is for a person to look at."""
    work = replace(view.work, plan_version=view.work.plan_version + 1)
    kept = {leaf.number for leaf in view.leaves}
    for task in view.tasks:
        lacks = task.number in kept and task.criterion is None
        human = Criterion(kind=CriterionKind.HUMAN, text=task.title) if lacks else None
        planned = task.number in kept or any(task.number == each.parent for each in view.tasks)
        tasks.change(tx, work.session_id, task.number, planned=planned, criterion=human, now=now)
    fresh = works.view(tx, work)
    for earlier in reversed(works.plans_of(tx, work.id)):
        # What was protected stays what it was: who approves a change has not seen the files.
        frozen = {**frozen, **earlier.frozen}
    works.add_plan(
        tx,
        Plan(
            work_id=work.id,
            version=work.plan_version,
            state=PlanState.APPROVED,
            tasks=tuple(as_item(task) for task in fresh.tasks if task.planned),
            by=by,
            frozen=frozen,
            at=now,
        ),
    )
    works.save(tx, work)
    return fresh


MIRROR = "project.json"
_MADE_BY = "long-running-agents"
_HEAD = 200


async def mirror(database: Database, deps: TurnDeps, work_id: WorkId) -> None:
    """Write a work down in the agent's folder, for people: nothing is read from there.

    A file of that name that is somebody else's stays as it is.
    """
    if (folder := deps.folder) is None:
        return
    view = await database.read(lambda tx: works.view_of(tx, work_id))
    told = {
        "made_by": _MADE_BY,
        "goal": view.work.goal,
        "state": view.work.phase,
        "paused": view.work.pause,
        "tasks": [_mirrored(task, view.newest.get(task.number)) for task in view.tasks],
    }

    def write() -> None:
        with suppress(NotFound):
            if _MADE_BY.encode() not in folder.read(MIRROR, limit=_HEAD):
                return
        folder.write(MIRROR, json.dumps(told, ensure_ascii=False, indent=2).encode())

    try:
        await asyncio.to_thread(write)
    except LraError as error:
        log.warning("%s is not written: %s", MIRROR, error)


def _mirrored(task: Task, found: Evidence | None) -> dict[str, object]:
    evidence = "" if found is None else f"{found.state}: {found.proof}"
    own = {"status": task.status, "result": task.result, "notes": list(task.notes)}
    return {**as_item(task), **own, "evidence": evidence}


def as_item(task: Task) -> dict[str, object]:
    """A task as a plan keeps it."""
    return {
        "task": task.number,
        "title": task.title,
        "description": task.description,
        "parent": task.parent,
        "depends_on": list(task.depends_on),
        "criterion": "" if task.criterion is None else str(task.criterion),
        "paths": list(task.scope.paths),
        "hosts": list(task.scope.hosts),
        "estimate": task.estimate,
    }
