"""Works as a service: begin, approve, revise, pause, resume and abandon them, and report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial, reduce
from typing import Any

from long_running_agents.agent.budgets import work_node
from long_running_agents.agent.turns import TurnService, requeue
from long_running_agents.agent.work_transitions import (
    WorkDefaults,
    approve,
    carry_out,
    forecast_of,
    looked,
    new_work,
)
from long_running_agents.domain.budget import BudgetScope, Limits
from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.ids import SessionId, TurnId, WorkId, new_id
from long_running_agents.domain.session import Mode, Session
from long_running_agents.domain.task import (
    CriterionKind,
    Scope,
    Task,
    TaskStatus,
    check_dependencies,
    leaves,
    parse_criterion,
)
from long_running_agents.domain.turn import RETRYABLE, Terms, Turn, TurnOrigin, TurnStatus
from long_running_agents.domain.work import (
    Evidence,
    EvidenceState,
    NextMove,
    PauseReason,
    PlanPolicy,
    PlanState,
    Work,
    WorkDetails,
    WorkPhase,
    WorkView,
    after_turn,
    drift,
    go_on,
    paused,
)
from long_running_agents.errors import Busy, UsageError
from long_running_agents.store import budgets, events, sessions, tasks, turns, works
from long_running_agents.store.database import Transaction
from long_running_agents.tools.deps import MakeDeps, preview_deps
from long_running_agents.tools.evidence import digests, record


@dataclass(frozen=True, slots=True)
class WorkService:
    """Looks after an owner's works, for a person: nothing that a model may call is here."""

    turns: TurnService
    deps: MakeDeps

    def of(self, owner: str) -> "WorkService":
        """The same service for somebody else's works."""
        return replace(self, turns=self.turns.of(owner))

    @property
    def _owner(self) -> str:
        return self.turns.owner

    async def every(
        self, *, ended: bool = True, limit: int = 50, session_id: SessionId | None = None
    ) -> Sequence[Work]:
        """The owner's works, those changed last first."""
        return await self.turns.database.read(
            lambda tx: works.of_owner(
                tx, self._owner, ended=ended, limit=limit, session_id=session_id
            )
        )

    async def summaries(self, found: Sequence[Work]) -> list[str]:
        """How far each of these works is, in words."""
        return await self.turns.database.read(
            lambda tx: [works.view(tx, each, changes=False).summary for each in found]
        )

    async def get(self, work_id: WorkId) -> WorkDetails:
        """All about a work."""
        return await self.turns.database.read(lambda tx: work_details(tx, work_id, self._owner))

    async def start(
        self,
        goal: str,
        *,
        session_id: SessionId | None = None,
        policy: PlanPolicy | None = None,
        scope: Scope | None = None,
        limits: Limits | None = None,
        plan: Sequence[Mapping[str, Any]] = (),
        attended: bool = True,
    ) -> Work:
        """Begin a work: with its plan, which is made first unless it is given.

        Raises:
            UsageError: There is no goal, or the plan makes no sense.
            Busy: The session has a work that has not ended.
        """
        if not goal.strip():
            raise UsageError("The goal is empty.", hint="Say what is to be reached.")
        usual, key = self.turns.works, session_id or SessionId(new_id("session", self._now()))
        wanted = WorkDefaults(
            policy=policy or usual.policy,
            limits=usual.limits if limits is None else _over(limits, usual.limits),
            scope=scope or Scope(),
        )
        if plan:
            return await self._planned(key, goal, wanted, plan, attended=attended)
        await self.turns.database.read(lambda tx: self._check_free(tx, key))
        service, terms = replace(self.turns, works=wanted), Terms(mode=Mode.DEEP_WORK)
        turn = await service.start(key, goal, attended=attended, terms=terms)
        work_id = WorkId(turn.work_id or "")
        return await self.turns.database.read(lambda tx: works.get(tx, work_id))

    def _check_free(self, tx: Transaction, key: SessionId) -> None:
        if sessions.find(tx, key) is not None:
            sessions.get(tx, key, owner=self._owner)
        if (known := works.open_in(tx, key)) is not None:
            raise Busy(f"The session has a work already: {known.id}.", hint="End it first.")

    async def _planned(
        self,
        key: SessionId,
        goal: str,
        wanted: WorkDefaults,
        plan: Sequence[Mapping[str, Any]],
        *,
        attended: bool,
    ) -> Work:
        """Begin a work with a plan that was made by somebody else."""
        now, frozen = self._now(), self._frozen()
        session = Session(id=key, created_at=now, updated_at=now, owner=self._owner)
        begun = replace(new_work(session, goal, wanted, now), attended=attended)

        def work(tx: Transaction) -> list[EventEnvelope]:
            self._check_free(tx, key)
            self.turns.session_for(tx, key, goal)
            saved = works.save(tx, begun)
            add_tasks(tx, saved, plan, "plan", now, by_place=True)
            view = works.view(tx, saved)
            # The person who made it is not asked for criteria: what has none is for them to see.
            nudged = replace(view, work=replace(saved, nudges=1))
            move = after_turn(nudged, TurnStatus.DONE, "", "")
            return carry_out(tx, view, move, now, frozen=frozen(view.leaves))

        return await self._write(begun.id, work)

    async def approve(self, work_id: WorkId) -> Work:
        """Approve the plan, or the change of it that is proposed: the work goes on.

        Raises:
            Busy: No plan waits for an answer.
        """
        now, frozen = self._now(), self._frozen()

        def work(tx: Transaction) -> list[EventEnvelope]:
            before = self._of(tx, work_id)
            _check_waits(before)
            if before.proposal is not None:
                self._apply(tx, before.work, before.proposal.tasks)
            fresh = works.view(tx, looked(tx, before.work, now))
            # Who approves a plan agrees to wherever it goes.
            scope = reduce(Scope.__or__, [task.scope for task in fresh.leaves], fresh.work.scope)
            seen = replace(fresh, work=replace(fresh.work, scope=scope))
            approved = approve(tx, seen, frozen(seen.leaves), self._owner, now)
            return carry_out(tx, replace(before, proposal=None), go_on(approved), now)

        return await self._write(work_id, work)

    def _apply(self, tx: Transaction, work: Work, changes: Sequence[Mapping[str, Any]]) -> None:
        now = self._now()
        works.decide(tx, work.id, PlanState.APPROVED, self._owner)
        added = [item for item in changes if item["op"] == "add"]
        add_tasks(tx, work, added, f"v{work.plan_version + 1}", now)
        for item in changes:
            if item["op"] == "remove":
                cancelled = TaskStatus.CANCELLED
                tasks.change(tx, work.session_id, item["task"], cancelled, planned=False, now=now)
            elif item["op"] == "change":
                values = _fields(item)
                status = TaskStatus.PENDING if "criterion" in values else None
                tasks.change(tx, work.session_id, item["task"], status, now=now, **values)

    async def revise(self, work_id: WorkId, feedback: str) -> Work:
        """Ask for another plan, and say what is to be different."""
        view = await self._view(work_id)
        _check_waits(view)
        said = feedback.strip() or "Please make another plan."
        if view.proposal is not None:
            await self.turns.database.write(
                lambda tx: works.decide(tx, work_id, PlanState.DECLINED, self._owner)
            )
        await self.turns.start(view.work.session_id, said)
        return (await self._view(work_id)).work

    async def decline(self, work_id: WorkId) -> Work:
        """Decline a change of the plan, and go on without it; or the plan, which ends the work."""
        now = self._now()
        view = await self._view(work_id)
        _check_waits(view)
        if view.proposal is None:
            return await self.abandon(work_id)

        def work(tx: Transaction) -> list[EventEnvelope]:
            works.decide(tx, work_id, PlanState.DECLINED, self._owner)
            fresh = self._of(tx, work_id)
            seen = replace(fresh, work=looked(tx, fresh.work, now))
            return carry_out(tx, fresh, go_on(seen), now)

        return await self._write(work_id, work)

    async def pause(self, work_id: WorkId) -> Work:
        """Let a work wait until a person lets it go on; a turn that runs is stopped."""
        await self._halt(work_id)
        now = self._now()

        def work(tx: Transaction) -> list[EventEnvelope]:
            fresh = self._of(tx, work_id)
            _check_open(fresh.work)
            if fresh.work.pause is not None:
                return []
            move = paused(fresh.work, PauseReason.PERSON, "A person paused it.")
            return carry_out(tx, fresh, move, now)

        return await self._write(work_id, work)

    async def _halt(self, work_id: WorkId) -> None:
        """Stop the turns of a work that run or are in line."""
        session_id = (await self._view(work_id)).work.session_id

        def last(tx: Transaction) -> Turn | None:
            found = turns.of_session(tx, session_id)
            mine = [each for each in found if each.work_id == work_id and not each.status.ended]
            return mine[-1] if mine else None

        # The last first, so that none begins because the one before it has ended.
        while (turn := await self.turns.database.read(last)) is not None:
            await self.turns.stop_turn(turn.id)

    async def resume(
        self,
        work_id: WorkId,
        *,
        accept: Sequence[int] = (),
        reject: Sequence[int] = (),
        waive: Sequence[int] = (),
        message: str = "",
        limits: Limits | None = None,
    ) -> Work:
        """Let a paused work go on from where it is, with what a person answers.

        Tasks that they accept are done, those that they waive need not be. A limit that stopped it
        is raised by so much, or by as much again.

        Raises:
            Busy: It is not paused, or a plan waits for an answer.
            UsageError: A task is not one of it.
        """
        now, more = self._now(), limits or Limits()
        said = {
            **dict.fromkeys(accept, EvidenceState.VERIFIED),
            **dict.fromkeys(reject, EvidenceState.REFUTED),
            **dict.fromkeys(waive, EvidenceState.WAIVED),
        }

        def work(tx: Transaction) -> list[EventEnvelope]:
            before = self._of(tx, work_id)
            _check_resumable(before)
            self._raise(tx, before.work, more)
            told = self._judged(tx, before, said)
            fresh = works.view(tx, looked(tx, works.get(tx, work_id), now))
            for task in fresh.leaves:
                if task.status is TaskStatus.FAILED:
                    tasks.change(tx, task.session_id, task.number, TaskStatus.PENDING, now=now)
            last = turns.last(tx, before.work.session_id)
            if not message and last is not None and _goes_on(before.work, last):
                return [*told, *requeue(tx, last, now)[1]]
            if message:
                return told
            fresh = works.view(tx, fresh.work)
            move = after_turn(fresh, TurnStatus.DONE, "", before.work.note)
            return [*told, *carry_out(tx, before, move, now)]

        done = await self._write(work_id, work)
        if not message:
            return done
        await self.turns.start(done.session_id, message)
        return (await self._view(work_id)).work

    def _raise(self, tx: Transaction, work: Work, given: Limits) -> None:
        mine = [turn for turn in turns.of_session(tx, work.session_id) if turn.work_id == work.id]
        # A limit that is not the work's own is raised elsewhere, and stops it again until then.
        own = mine and events.stopped_by(tx, mine[-1].id) is BudgetScope.WORK
        if given == Limits() and own and work.pause is PauseReason.LIMIT:
            given = work.limits
        if given != Limits():
            budgets.add(tx, work.owner, BudgetScope.WORK, work.id, given)

    def _judged(
        self, tx: Transaction, view: WorkView, said: Mapping[int, EvidenceState]
    ) -> list[EventEnvelope]:
        """Write down what a person says about tasks."""
        known = {task.number for task in view.tasks}
        told: list[EventEnvelope] = []
        for number, state in said.items():
            if number not in known:
                raise UsageError(f"No task #{number} in this work.")
            found = Evidence(
                work_id=view.work.id,
                task=number,
                kind=CriterionKind.HUMAN,
                state=state,
                proof=f"{self._owner} said so",
                by=self._owner,
                # Newer than all that was done.
                turn=turns.newest_number(tx, view.work.session_id) + 1,
                step=0,
                at=self._now(),
            )
            told += record(tx, view.work, found, f"person/{len(view.evidence)}")[1]
        return told

    async def abandon(self, work_id: WorkId) -> Work:
        """End a work; what it has done stays."""
        await self._halt(work_id)
        now = self._now()

        def work(tx: Transaction) -> list[EventEnvelope]:
            fresh = self._of(tx, work_id)
            _check_open(fresh.work)
            ended = replace(fresh.work, phase=WorkPhase.ABANDONED, pause=None, note="")
            return carry_out(tx, replace(fresh, proposal=None), NextMove(work=ended), now)

        return await self._write(work_id, work)

    async def report(self, work_id: WorkId) -> str:
        """What became of a work, as Markdown."""
        return report(await self.get(work_id))

    def _of(self, tx: Transaction, work_id: WorkId) -> WorkView:
        return works.view(tx, works.get(tx, work_id, owner=self._owner))

    async def _view(self, work_id: WorkId) -> WorkView:
        return await self.turns.database.read(lambda tx: self._of(tx, work_id))

    def _frozen(self) -> Callable[[Iterable[Task]], dict[str, str]]:
        """What takes the digests of all that tasks protect."""
        turn = Turn(
            id=TurnId(""),
            session_id=SessionId(""),
            number=0,
            prompt="",
            origin=TurnOrigin.WORK,
            attended=False,
            status=TurnStatus.QUEUED,
            created_at=self._now(),
            owner=self._owner,
        )
        return partial(digests, preview_deps(self.deps, turn))

    async def _write(
        self, work_id: WorkId, change: Callable[[Transaction], list[EventEnvelope]]
    ) -> Work:
        """Write a change of a work, tell of it, and let its next turn be driven."""

        def write(tx: Transaction) -> tuple[list[EventEnvelope], Work, Turn | None]:
            told, work = change(tx), works.get(tx, work_id)
            return told, work, turns.current(tx, work.session_id)

        told, work, following = await self.turns.database.write(write)
        self.turns.hub.publish(told)
        if following is not None and following.status is TurnStatus.QUEUED:
            await self.turns.driver.submit(following)
        return work

    def _now(self) -> datetime:
        return self.turns.clock.now()


def work_details(tx: Transaction, work_id: WorkId, owner: str) -> WorkDetails:
    """All about an owner's work."""
    view = works.view(tx, works.get(tx, work_id, owner=owner))
    work = view.work
    scopes = [task.scope for task in leaves(view.tasks)] or [work.scope]
    return WorkDetails(
        work=work,
        tasks=view.tasks,
        evidence=view.evidence,
        stale=[task.number for task in view.leaves if view.stale(task)],
        plans=works.plans_of(tx, work_id),
        budget=list(work_node(tx, work.owner, work_id).lines()),
        forecast=forecast_of(tx, view),
        drift=drift(works.calls(tx, work_id), scopes),
        summary=view.summary,
    )


def _over(given: Limits, usual: Limits) -> Limits:
    """What is given, and the usual where nothing is."""
    return replace(
        usual, **{name: each for name, each in asdict(given).items() if each is not None}
    )


def _check_open(work: Work) -> None:
    if not work.open:
        raise Busy(f"The work is {work.phase}.", hint="Begin another one.")


def _check_waits(view: WorkView) -> None:
    """See that a plan waits for an answer, or a change of one."""
    proposed = view.proposal is not None and view.work.pause is not None
    if not proposed and view.work.phase is not WorkPhase.PLAN_READY:
        raise Busy("No plan waits for an answer.", hint=f"The work is {view.work.phase}.")


def _check_resumable(view: WorkView) -> None:
    _check_open(view.work)
    if view.work.pause is None:
        hint = "Approve or revise its plan." if view.work.phase is WorkPhase.PLAN_READY else ""
        raise Busy("The work is not paused.", hint=hint)
    if view.proposal is not None:
        raise Busy("A change of the plan waits for an answer.", hint="Approve or decline it.")


def _goes_on(work: Work, last: Turn) -> bool:
    """Whether a work goes on in the midst of its last turn."""
    if last.work_id != work.id or last.status not in RETRYABLE:
        return False
    # One that went in circles does not go on where it was.
    return work.pause is not PauseReason.STUCK or last.status is TurnStatus.FAILED


def _fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a task that a plan as a person or a patch writes it gives."""
    found: dict[str, Any] = {
        name: item[name] for name in ("title", "description", "estimate") if item.get(name)
    }
    if item.get("depends_on"):
        found["depends_on"] = tuple(item["depends_on"])
    if (criterion := parse_criterion(item.get("criterion"))) is not None:
        found["criterion"] = criterion
    if item.get("paths") or item.get("hosts"):
        found["scope"] = Scope(
            paths=tuple(item.get("paths") or ()), hosts=tuple(item.get("hosts") or ())
        )
    return found


def add_tasks(
    tx: Transaction,
    work: Work,
    items: Sequence[Mapping[str, Any]],
    made_by: str,
    now: datetime,
    *,
    by_place: bool = False,
) -> None:
    """Add tasks to a work, which depend on others by number, or by place among them from 1.

    Raises:
        UsageError: One has no title, or depends on what is not there.
    """
    numbers: dict[int, int] = {}
    for place, item in enumerate(items, 1):
        values = _fields(item)
        title = values.pop("title", "")
        if not title:
            raise UsageError(f"Task {place} of the plan has no title.")
        named: tuple[int, ...] = values.pop("depends_on", ())
        wanted = tuple(numbers.get(each, each) for each in named) if by_place else named
        check_dependencies(tasks.of_session(tx, work.session_id), 0, wanted)
        made = tasks.create(
            tx,
            work.session_id,
            title,
            description=values.pop("description", ""),
            parent=item.get("parent"),
            made_by=f"{work.id}/{made_by}/{place}",
            now=now,
            work_id=work.id,
            depends_on=wanted,
            **values,
        )
        numbers[place] = made.number


def report(found: WorkDetails) -> str:
    """What became of a work, as Markdown."""
    work, newest = found.work, {each.task: each for each in found.evidence}
    lines = [f"# {work.goal.splitlines()[0]}", "", f"**{work.state}**, {found.summary}."]
    if work.note:
        lines += ["", work.note]
    lines += ["", "| task | evidence | proof | by |", "| --- | --- | --- | --- |"]
    for task in found.tasks:
        if task.status is TaskStatus.CANCELLED:
            continue
        seen = newest.get(task.number)
        stale = " (stale)" if task.number in found.stale else ""
        known = ("", "", "") if seen is None else (f"{seen.state}{stale}", seen.proof, seen.by)
        cells = (f"#{task.number} {task.title}", *known)
        lines.append("| " + " | ".join(_cell(each) for each in cells) + " |")
    made = dict.fromkeys(task.criterion.path for task in found.tasks if task.criterion)
    for title, items in {
        "Files": [f"[{path}]({path})" for path in made if path],
        "Results": [f"#{task.number}: {task.result}" for task in found.tasks if task.result],
        "Notes": [f"#{task.number}: {note}" for task in found.tasks for note in task.notes],
        "Outside the scope": [*found.drift.paths, *found.drift.hosts],
    }.items():
        lines += ["", f"## {title}", *(f"- {each}" for each in items)] if items else []
    used = ", ".join(map(str, found.budget))
    lines += ["", f"Used: {used}. Plan v{work.plan_version}."]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
