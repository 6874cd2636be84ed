"""Deep work: a goal with a plan, evidence for each task, and the rule for what comes next."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from long_running_agents.domain.budget import BudgetLine, Limits
from long_running_agents.domain.compaction import clip
from long_running_agents.domain.ids import SessionId, TurnId, WorkId
from long_running_agents.domain.session import MINE
from long_running_agents.domain.task import (
    CriterionKind,
    Scope,
    Task,
    TaskStatus,
    leaves,
    plain_path,
    within,
)
from long_running_agents.domain.tool import CallState, Effect, GatedCall, ToolCallRecord
from long_running_agents.domain.turn import TurnStatus


class WorkPhase(StrEnum):
    """Where a work stands."""

    PLANNING = "planning"
    """The plan is being made, with tools that only read."""
    PLAN_READY = "plan_ready"
    """A person has to approve the plan, or ask for another."""
    EXECUTING = "executing"
    REVIEWING = "reviewing"
    """What was done is looked over, with tools that only read."""
    COMPLETE = "complete"
    """Every task is proven."""
    ABANDONED = "abandoned"

    @property
    def ended(self) -> bool:
        """Whether nothing more comes."""
        return self in (WorkPhase.COMPLETE, WorkPhase.ABANDONED)


class PauseReason(StrEnum):
    """Why a work does not go on by itself."""

    LIMIT = "limit"
    """A budget is used up."""
    QUESTION = "question"
    """A person has to answer or decide something."""
    STUCK = "stuck"
    """It does not get on, or no model answers."""
    PERSON = "person"
    """A person has stopped it."""


class PlanPolicy(StrEnum):
    """Who approves a plan."""

    ASK = "ask"
    """A person."""
    AUTO_WITHIN_SCOPE = "auto_within_scope"
    """Nobody, if all of it lies within the scope of the work; else a person."""
    READ_ONLY = "read_only"
    """Nobody: it is carried out with tools that only read."""


class EvidenceState(StrEnum):
    """What is known of a task that is said to be done."""

    CLAIMED = "claimed"
    """The agent says so; a person has to look."""
    VERIFIED = "verified"
    REFUTED = "refuted"
    JUDGED = "judged"
    """A model that looked at the ledger says so."""
    WAIVED = "waived"
    """A person does without it."""

    @property
    def proves(self) -> bool:
        """Whether a task with this is done."""
        return self in (EvidenceState.VERIFIED, EvidenceState.JUDGED, EvidenceState.WAIVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """An undertaking of a session: a goal that is planned, carried out and proven."""

    id: WorkId
    session_id: SessionId
    goal: str
    phase: WorkPhase
    pause: PauseReason | None = None
    """Why it does not go on by itself; None while it does."""
    note: str = ""
    """What a person is asked or told about the pause."""
    policy: PlanPolicy = PlanPolicy.ASK
    scope: Scope = field(default_factory=Scope)
    limits: Limits = field(default_factory=Limits)
    """What all its turns may use together, before anybody raised it."""
    attended: bool = True
    """Whether a person is there to answer approvals."""
    plan_version: int = 0
    """The approved plan; 0 while there is none."""
    turns: int = 0
    """How many turns it has begun by itself."""
    rounds: int = 0
    """How often it was reviewed."""
    nudges: int = 0
    """Turns in a row without progress."""
    progress: str = ""
    """Of the task states, changes and evidence when it last went on."""
    alerts: int = 0
    """How often it was found stuck since a person last looked."""
    alerted: int = 0
    """How many calls it had made when it was found stuck last."""
    looked: int = 0
    """The newest evidence when a person last looked."""
    replan: int = 0
    """Which of its turns has to find another way, with tools that only read; 0 for none."""
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None = None
    owner: str = MINE

    @property
    def open(self) -> bool:
        """Whether it can still go on."""
        return not self.phase.ended

    @property
    def state(self) -> str:
        """Its phase, and why it is paused."""
        return self.phase if self.pause is None else f"{self.phase}, paused: {self.pause}"

    def read_only(self, turn_id: TurnId) -> bool:
        """Whether one of its turns may only read."""
        reading = self.phase in (WorkPhase.PLANNING, WorkPhase.PLAN_READY, WorkPhase.REVIEWING)
        replanning = bool(self.replan) and turn_id == self.turn_id(self.replan)
        return reading or replanning or self.policy is PlanPolicy.READ_ONLY

    def turn_id(self, number: int) -> TurnId:
        """What the work's turn of a number is called: there can be only one."""
        return TurnId(f"turn_{self.id}_{number}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What whoever checks a task has found; the agent writes none."""

    work_id: WorkId
    number: int = 0
    """Its place among those of the work, from 1; 0 until it is stored."""
    task: int
    kind: CriterionKind
    state: EvidenceState
    proof: str
    """What was seen."""
    by: str = "harness"
    """Who looked: the harness, the name of a model, or a person."""
    turn: int
    """The number of the turn in which it was looked."""
    step: int
    """The step; changes in it or later are newer."""
    at: datetime


class PlanState(StrEnum):
    """Where a plan, or a change of one, stands."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A version of a plan: frozen once it is approved."""

    work_id: WorkId
    version: int
    state: PlanState
    tasks: tuple[Mapping[str, Any], ...]
    """What it consists of; of a proposed change, the patch."""
    reason: str = ""
    """Why it is to be changed."""
    by: str = ""
    """Who decided."""
    frozen: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digests of files that must stay as they were, by their paths."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A call that may have changed files, as the ledger has it."""

    turn: int
    step: int
    path: str
    """What was written, or empty when that could be anything."""
    key: str
    """The same for calls that do the same."""


_ELSEWHERE = frozenset(
    {"create_task", "update_task_status", "manage_tasks", "propose_change", "pin_rule"}
    | {"remember", "memory", "store_memory", "forget_memory", "correct_memory", "propose_skill"}
)
"""Tools that change something, and no files of the workspace."""


def file_change(record: ToolCallRecord, turn: int) -> FileChange | None:
    """What a call may have changed; None for one that changed nothing."""
    if record.effect is Effect.READ or record.tool in _ELSEWHERE:
        return None
    if record.state not in (CallState.DONE, CallState.FAILED, CallState.UNCERTAIN):
        return None
    named = None if record.tool == "shell" else record.arguments.get("path")
    known = plain_path(named) if isinstance(named, str) else ""
    key = hashlib.sha256(f"{record.tool}{record.args}".encode()).hexdigest()[:16]
    return FileChange(turn=turn, step=record.step, path=known, key=key)


_MOST_REFUTED = 3
_MOST_ROUNDS = 2


# Without slots: what is derived is derived once.
@dataclass(frozen=True, kw_only=True)
class WorkView:
    """A work with its rows."""

    work: Work
    tasks: Sequence[Task] = ()
    evidence: Sequence[Evidence] = ()
    """The oldest first."""
    changes: Sequence[FileChange] = ()
    proposal: Plan | None = None
    """The change of the plan that waits for an answer."""

    @cached_property
    def leaves(self) -> list[Task]:
        """The tasks that have to be proven."""
        return leaves(self.tasks)

    @cached_property
    def newest(self) -> dict[int, Evidence]:
        """The newest evidence of each task."""
        return {each.task: each for each in self.evidence}

    def proven(self, task: Task) -> bool:
        """Whether a task was done and proven, as far as was looked."""
        found = self.newest.get(task.number)
        return task.status is TaskStatus.COMPLETED and found is not None and found.state.proves

    def holds(self, task: Task) -> bool:
        """Whether a task is proven by evidence that nothing has made void."""
        return self.proven(task) and not self.stale(task)

    def stale(self, task: Task) -> bool:
        """Whether what proves a task is older than a change of something that it covers."""
        found = self.newest.get(task.number)
        if found is None or found.state is EvidenceState.WAIVED:
            return False
        later = [
            each for each in self.changes if (each.turn, each.step) >= (found.turn, found.step)
        ]
        if found.kind in (CriterionKind.FILE, CriterionKind.COMMAND):
            own = "" if task.criterion is None else task.criterion.path
            return any(
                not each.path
                or task.scope.covers_path(each.path)
                or (own and within(each.path, own))
                for each in later
            )
        # What a person or a model has looked at is void only if it is known to have changed.
        return bool(task.scope.paths) and any(
            each.path and task.scope.covers_path(each.path) for each in later
        )

    def waits_for(self, task: Task) -> list[int]:
        """The tasks that have to be proven before one; those that were given up are not."""
        wanted = [each for each in self.tasks if each.number in task.depends_on]
        alive = [each for each in wanted if each.status is not TaskStatus.CANCELLED]
        return [each.number for each in alive if not self.proven(each)]

    @cached_property
    def ready(self) -> list[Task]:
        """The open tasks whose dependencies are proven, in their order."""
        claimed = [
            each.task for each in self.newest.values() if each.state is EvidenceState.CLAIMED
        ]
        return [
            task
            for task in self.leaves
            if not (self.holds(task) or task.status is TaskStatus.FAILED)
            and task.number not in claimed
            and not self.waits_for(task)
        ]

    @cached_property
    def refuted(self) -> list[Task]:
        """Tasks that were refuted so often since a person looked that one has to decide."""
        counts: dict[int, int] = {}
        for each in self.evidence:
            if each.number > self.work.looked and each.state is EvidenceState.REFUTED:
                counts[each.task] = counts.get(each.task, 0) + 1
        return [task for task in self.leaves if counts.get(task.number, 0) >= _MOST_REFUTED]

    @cached_property
    def complete(self) -> bool:
        """Whether every task is proven, by evidence that still holds."""
        return bool(self.leaves) and all(map(self.holds, self.leaves))

    @cached_property
    def progress(self) -> str:
        """Other whenever something was achieved: tasks, changes or evidence."""
        told = [[task.number, task.status] for task in self.tasks]
        # Only where it stands: whoever is looked at again has not got any further by that.
        shown = [[number, each.state] for number, each in self.newest.items()]
        keys = sorted({each.key for each in self.changes})
        return hashlib.sha256(json.dumps([told, shown, keys]).encode()).hexdigest()[:16]

    @property
    def summary(self) -> str:
        """How far it is, in words."""
        done = sum(map(self.proven, self.leaves))
        return f"{done} of {len(self.leaves)} tasks proven" if self.leaves else "no tasks yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class NextMove:
    """What comes after a turn of a work."""

    work: Work
    prompt: str = ""
    """Of the next turn; empty when none comes by itself."""
    approved: bool = False
    """Whether the plan is approved without a person."""


def after_turn(view: WorkView, status: TurnStatus, limit: str, said: str) -> NextMove:
    """Decide what comes after a turn: by how it ended, its limit, and its answer or error."""
    if status is TurnStatus.LIMITED:
        return _limited(view, limit, said)
    if status in (TurnStatus.STOPPED, TurnStatus.FAILED):
        stopped = status is TurnStatus.STOPPED
        reason = PauseReason.PERSON if stopped else PauseReason.STUCK
        return paused(view.work, reason, "A person stopped it." if stopped else said)
    match view.work.phase:
        case WorkPhase.PLANNING | WorkPhase.PLAN_READY:
            return _planned(view, said)
        case WorkPhase.EXECUTING | WorkPhase.REVIEWING:
            return _carried_out(view)
        case WorkPhase.COMPLETE | WorkPhase.ABANDONED:
            return NextMove(work=view.work)


STUCK, REFUTED = "stuck", "refuted"
"""What a turn is ended by that is no budget."""


def _limited(view: WorkView, limit: str, said: str) -> NextMove:
    work = view.work
    if limit == REFUTED:
        return _unproven(view)
    if limit == STUCK and work.alerts <= _REPLANNED:
        return NextMove(work=replace(work, replan=work.turns + 1), prompt=_replan(said))
    return _unproven(view, said) if limit == STUCK else paused(work, PauseReason.LIMIT, said)


_REPLANNED = 2


def paused(work: Work, reason: PauseReason, note: str) -> NextMove:
    """Let a work wait for a person."""
    return NextMove(work=replace(work, pause=reason, note=clip(note, 2000)))


def _planned(view: WorkView, said: str) -> NextMove:
    work, lacking = view.work, [task for task in view.leaves if task.criterion is None]
    if not view.leaves:
        # Whoever makes no plan has something to ask, or nothing to do.
        return paused(work, PauseReason.QUESTION, said or "No plan was made.")
    if lacking and not work.nudges:
        told = ", ".join(f"#{task.number}" for task in lacking)
        return NextMove(work=replace(work, nudges=1), prompt=_CRITERIA.format(tasks=told))
    ready = replace(work, phase=WorkPhase.PLAN_READY, nudges=0)
    if work.policy is PlanPolicy.ASK:
        return NextMove(work=ready)
    if lacking:
        return paused(ready, PauseReason.QUESTION, "Tasks of the plan have no criterion.")
    within_scope = all(work.scope.covers(task.scope) for task in view.leaves)
    if work.policy is PlanPolicy.AUTO_WITHIN_SCOPE and not within_scope:
        return paused(ready, PauseReason.QUESTION, "The plan goes beyond the scope of the work.")
    return NextMove(work=ready, approved=True)


def go_on(view: WorkView) -> NextMove:
    """Let a work execute its plan, from wherever it stands."""
    work = replace(
        view.work, phase=WorkPhase.EXECUTING, pause=None, note="", nudges=0, progress=view.progress
    )
    return NextMove(work=work, prompt=_next(replace(view, work=work), named=False))


def _carried_out(view: WorkView) -> NextMove:
    if view.proposal is not None:
        told = f"A change of the plan waits for an answer: {view.proposal.reason}"
        return paused(view.work, PauseReason.QUESTION, told)
    return _executed(view) if view.work.phase is WorkPhase.EXECUTING else _reviewed(view)


def _executed(view: WorkView) -> NextMove:
    work = view.work
    if view.refuted:
        return _unproven(view)
    if view.complete:
        rounds = work.rounds + 1
        next_phase = replace(work, phase=WorkPhase.REVIEWING, rounds=rounds, nudges=0)
        return NextMove(work=next_phase, prompt=_review(view))
    if not view.ready:
        return _unproven(view)
    changed = view.progress != work.progress
    nudges = 0 if changed else work.nudges + 1
    if nudges > 1:
        return _unproven(view, f"nothing was achieved in {nudges} turns")
    moved = replace(work, nudges=nudges, progress=view.progress)
    return NextMove(work=moved, prompt=_next(view, named=bool(nudges)))


def _reviewed(view: WorkView) -> NextMove:
    work = view.work
    if view.complete:
        return NextMove(work=replace(work, phase=WorkPhase.COMPLETE))
    back = replace(work, phase=WorkPhase.EXECUTING, progress=view.progress, nudges=0)
    if work.rounds >= _MOST_ROUNDS:
        return _unproven(replace(view, work=back))
    return NextMove(work=back, prompt=_next(replace(view, work=back), named=True))


def _unproven(view: WorkView, stuck: str = "") -> NextMove:
    """Ask a person about the tasks that cannot be proven as it goes."""
    told = [f"{view.summary}; these are not:"]
    for task in view.leaves:
        if not view.holds(task):
            found = view.newest.get(task.number)
            why = task.result if task.status is TaskStatus.FAILED else ""
            why = why or ("not looked at yet" if found is None else found.proof)
            told.append(f"#{task.number} {task.title}: {clip(why, 200)}")
    note = "\n".join([f"It is stuck: {stuck}.", *told] if stuck else told)
    reason = PauseReason.STUCK if stuck else PauseReason.QUESTION
    return NextMove(work=replace(view.work, pause=reason, note=note[:4000]))


_CRITERIA = (
    "[From the work, not from the user.] These tasks have no criterion that proves them: {tasks}."
    ' Give each one with manage_tasks(action="update", task_id=…, criterion=…), then end your turn.'
)


def _next(view: WorkView, *, named: bool) -> str:
    """What the next turn is told: one instruction, the newest."""
    task = view.ready[0] if view.ready else None
    told = ["[From the work, not from the user.]"]
    if named:
        told.append("Your last turn achieved nothing that can be seen.")
    if task is None:
        return " ".join([*told, "Go on."])
    told.append(f"{view.summary}. Next is task #{task.number}: {task.title}.")
    lines = [" ".join(told)]
    if task.criterion is not None:
        lines.append(f"It is done when this holds: {task.criterion}.")
    if (found := view.newest.get(task.number)) is not None and not found.state.proves:
        lines.append(f"When it was last looked at: {clip(found.proof, 400)}.")
    how = f'manage_tasks(action="complete", task_id={task.number}, result="…")'
    lines.append(f"When it is done, call {how}, or end your turn: it is checked then.")
    # What is to be done stands last: a small model takes what it reads last for the question.
    lines += [f"Now: {task.title}.", *([filled(task.description, view)] * bool(task.description))]
    return "\n".join(lines)


_REVIEW = (
    "[From the work, not from the user.] Every task is proven. Review the work as somebody else"
    " would: does what is there reach the goal? Look at the files yourself. For each thing that"
    ' is missing or wrong, add a task with manage_tasks(action="create", title=…, criterion=…).'
    " If nothing is, add none. Then sum up what was done in a few sentences."
)


def _review(view: WorkView) -> str:
    told = [_REVIEW, f"Goal: {clip(view.work.goal, 1000)}"]
    told += [receipt(task, view.newest.get(task.number)) for task in view.leaves]
    if paths := sorted({each.path for each in view.changes if each.path}):
        told.append(f"Files that were written: {clip(', '.join(paths), 1000)}")
    return "\n".join(told)


def _replan(said: str) -> str:
    return (
        f"[From the work, not from the user.] The work is stuck: {clip(said, 400)}. In this turn"
        " your tools only read. Find out why, and another way; note it with"
        ' manage_tasks(action="note", task_id=…, note="…"), propose_change if the plan has to'
        " change, then end your turn."
    )


def receipt(task: Task, found: Evidence | None) -> str:
    """A task that is done, in one line: what, how it is known, and what came of it."""
    state = "not looked at" if found is None else f"{found.state}: {clip(found.proof, 160)}"
    result = f" → {clip(task.result, 300)}" if task.result else ""
    return f"#{task.number} {clip(task.title)} [{state}]{result}"


_OUTPUT = re.compile(r"\{\{\s*task_(\d+)\.output\s*\}\}")


def filled(text: str, view: WorkView) -> str:
    """A description with the outputs of other tasks in their places, as quotations."""
    known = {task.number: task for task in view.tasks}

    def quote(match: re.Match[str]) -> str:
        task = known.get(int(match[1]))
        if task is None or not view.proven(task):
            return match[0]
        said = task.result or receipt(task, view.newest.get(task.number))
        return f"[output of task #{task.number}, quoted: {json.dumps(clip(said, 2000))}]"

    return _OUTPUT.sub(quote, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What was written and reached outside the scope of a plan."""

    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


def drift(calls: Iterable[ToolCallRecord], scopes: Sequence[Scope]) -> Drift:
    """What calls have written and reached that none of the scopes covers."""
    paths: dict[str, None] = {}
    hosts: dict[str, None] = {}
    for record in calls:
        if record.state is not CallState.DENIED:
            call = GatedCall(tool=record.tool, args=record.arguments)
            paths |= dict.fromkeys(_written(call, record))
            hosts |= dict.fromkeys(call.hosts)
    outside = [path for path in paths if not any(scope.covers_path(path) for scope in scopes)]
    unknown = [host for host in hosts if not any(scope.covers_host(host) for scope in scopes)]
    return Drift(paths=tuple(outside[:100]), hosts=tuple(unknown[:100]))


def _written(call: GatedCall, record: ToolCallRecord) -> Iterable[str]:
    if call.script is not None:
        named = (each.path(text) for each in call.script.commands for text in each.writes)
        return [plain_path(path) for path in named]
    return [] if record.effect is Effect.READ else [plain_path(path) for path in call.files]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What is left of a work may take: half of such works take less, and nine of ten."""

    tasks: int
    steps: tuple[int, int]
    tokens: tuple[int, int]
    cost: tuple[float, float] | None
    """US dollars; None when nobody knows the price."""

    def __str__(self) -> str:
        """What it says, in words."""
        told = (
            f"{self.tasks} task{'s' * (self.tasks != 1)}: {self.steps[0]} to {self.steps[1]} steps"
        )
        if any(self.tokens):
            told += f", {self.tokens[0]:,} to {self.tokens[1]:,} tokens"
        return told if self.cost is None else f"{told}, ${self.cost[0]:.2f} to ${self.cost[1]:.2f}"


_USUAL_STEPS = 6
"""Steps of a task where nothing else is known."""


def forecast(
    left: Sequence[Task], steps: Sequence[int], requests: Sequence[tuple[int, float | None]]
) -> Forecast:
    """What the tasks that are left may take.

    By the steps that earlier tasks took, and what earlier requests did: tokens, and any known cost.
    """
    tokens = sorted(each for each, _ in requests)
    prices = sorted(price for _, price in requests if price is not None)
    found: list[tuple[int, int, float]] = []
    for share, usually in ((0.5, _USUAL_STEPS), (0.9, 3 * _USUAL_STEPS)):
        usual = _quantile(sorted(steps), share) or usually
        # Whoever estimates errs on the low side.
        count = round(sum((task.estimate or 0) * 2 * share or usual for task in left))
        found.append((count, round(count * _quantile(tokens, share)), _quantile(prices, share)))
    (low, less, cheap), (high, more, dear) = found
    return Forecast(
        tasks=len(left),
        steps=(low, high),
        tokens=(less, more),
        cost=(low * cheap, high * dear) if prices else None,
    )


def _quantile(values: Sequence[float], share: float) -> float:
    return values[min(int(len(values) * share), len(values) - 1)] if values else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDetails:
    """A work with all that a person wants to see of it."""

    work: Work
    tasks: Sequence[Task]
    evidence: Sequence[Evidence]
    """The oldest first."""
    stale: Sequence[int]
    """Tasks whose evidence is older than a change of what it covers."""
    plans: Sequence[Plan]
    """The versions of the plan, and the changes that were proposed."""
    budget: Sequence[BudgetLine]
    forecast: Forecast
    """What is left may take."""
    drift: Drift
    """What was written and reached outside the scope of the plan."""
    summary: str
    """How far it is, in words."""
