"""Evidence: whether a task is done is found out here, and not taken from whoever did it."""

import asyncio
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from long_running_agents.domain.compaction import clip
from long_running_agents.domain.events import EventEnvelope, EvidenceFound
from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.policy import Allow, Ask, Deny
from long_running_agents.domain.task import Criterion, CriterionKind, Task, TaskStatus, news
from long_running_agents.domain.tool import CallState, Effect, GatedCall, Power
from long_running_agents.domain.work import Evidence, EvidenceState, Work, WorkView
from long_running_agents.errors import (
    CorruptData,
    LraError,
    NotFound,
    PathRefused,
    SandboxUnavailable,
    StorageFailed,
    UsageError,
)
from long_running_agents.skills.trial import complaints
from long_running_agents.store import events, tasks, works
from long_running_agents.store.database import Transaction
from long_running_agents.tools.deps import TurnDeps
from long_running_agents.tools.files import workspace_of

Finding = tuple[EvidenceState, str]
"""What was found, and what was seen."""

_LARGEST = 8 << 20
"""Bytes of a file that are looked at."""
_SHOWN = 600
_TESTS = re.compile(
    r"(?:^|/)(?:tests?(?:/|$)|test_[^/]*$|[^/]*_test\.\w+$|[^/]*\.(?:spec|test)\.\w+$)"
)
_SECONDS = 300.0
_CACHES = frozenset({"__pycache__", ".pytest_cache", ".git", "node_modules"})
_STEERING = ("conftest.py", "pytest.ini", "pyproject.toml [pytest]", "setup.cfg [pytest]",
             "tox.ini [pytest]", "pytest.py", "unittest.py")  # fmt: skip
"""What runs tests reads this beside them, or instead of itself; of some files it is a part."""
_SECTION = re.compile(rb"^\[[^\]\n]*pytest.*?(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_UNCLAIMED = (CriterionKind.FILE, CriterionKind.COMMAND, CriterionKind.FETCH)
_UNSET = "export PYTHONNOUSERSITE=1 PYTHONPYCACHEPREFIX=/tmp/bytecode\n"
"""The agent's folder is the home of its sandboxes: what it put there must not bend Python."""


async def check(
    deps: TurnDeps,
    view: WorkView,
    task: Task,
    cause: str,
    step: int,
    known: Finding | None = None,
) -> Evidence:
    """Look whether a task is done, and write down what was found, once for each cause.

    Changes in the step or later are newer than it. ``known`` is what was found, if it was looked.
    """
    work, kind = view.work, _criterion(task).kind
    state, proof = known or await _looked(deps, work, task)
    found = Evidence(
        work_id=work.id,
        task=task.number,
        kind=kind,
        state=state,
        proof=proof,
        by="judge" if kind is CriterionKind.JUDGED else "harness",
        turn=deps.turn.number,
        step=step,
        at=deps.clock.now(),
    )
    stored, recorded = await deps.database.write(
        lambda tx: record(tx, work, found, cause, deps.turn.id)
    )
    deps.announce(recorded)
    return stored


def record(
    tx: Transaction, work: Work, found: Evidence, cause: str, turn_id: TurnId | None = None
) -> tuple[Evidence, list[EventEnvelope]]:
    """Write evidence down, and what it makes of its task."""
    stored, fresh = works.add_evidence(tx, found, cause)
    status = TaskStatus.COMPLETED if stored.state.proves else TaskStatus.IN_PROGRESS
    # Also if it is known: who died after it was found has claimed the task once more.
    tasks.change(tx, work.session_id, stored.task, status, now=stored.at)
    if not fresh:
        return stored, []
    told = EvidenceFound(
        work_id=work.id,
        task=stored.task,
        kind=stored.kind,
        state=stored.state,
        proof=stored.proof,
        by=stored.by,
    )
    tree = news(tasks.of_session(tx, work.session_id))
    return stored, events.append(tx, work.session_id, turn_id, [told, tree], stored.at)


def _criterion(task: Task) -> Criterion:
    return task.criterion or Criterion(kind=CriterionKind.HUMAN)


async def _looked(deps: TurnDeps, work: Work, task: Task) -> Finding:
    try:
        return await _finding(deps, work, task, _criterion(task))
    except (StorageFailed, CorruptData):
        raise
    except LraError as error:
        return _refuted(f"it could not be checked: {error}")


async def _finding(deps: TurnDeps, work: Work, task: Task, criterion: Criterion) -> Finding:
    match criterion.kind:
        case CriterionKind.FILE:
            return await asyncio.to_thread(_file, deps, criterion)
        case CriterionKind.COMMAND:
            return await _command(deps, work, task, criterion)
        case CriterionKind.CALL:
            return await _call(deps, work, criterion)
        case CriterionKind.FETCH:
            return await _fetch(deps, work, criterion)
        case CriterionKind.JUDGED:
            return await _judged(deps, work, criterion)
        case CriterionKind.HUMAN:
            return EvidenceState.CLAIMED, "a person has to look"


def _refuted(why: str) -> Finding:
    return EvidenceState.REFUTED, why


def _file(deps: TurnDeps, criterion: Criterion) -> Finding:
    path = criterion.path
    try:
        content = workspace_of(deps).read(path, limit=_LARGEST)
    except (NotFound, PathRefused) as error:
        return _refuted(error.message)
    if len(content) < criterion.min_bytes:
        return _refuted(f"{path} has {len(content)} bytes, and {criterion.min_bytes} are wanted")
    text = content.decode("utf-8", "replace")
    if criterion.contains and criterion.contains not in text:
        return _refuted(f"{path} does not contain {criterion.contains!r}")
    if criterion.json_schema is not None:
        try:
            wrong = complaints(dict(criterion.json_schema), json.loads(text))
        except ValueError as error:
            wrong = f"no JSON: {error}"
        if wrong:
            return _refuted(f"{path}: {wrong}")
    digest = hashlib.sha256(content).hexdigest()[:12]
    return EvidenceState.VERIFIED, f"{path}: {len(content)} bytes, sha256 {digest}"


async def _command(deps: TurnDeps, work: Work, task: Task, criterion: Criterion) -> Finding:
    command = criterion.command
    frozen, approved = await deps.database.read(lambda tx: _approved(tx, work))
    if changed := await asyncio.to_thread(_changed, deps, task, frozen):
        return _refuted(f"{changed} was changed since the plan was approved, and must not be")
    call = GatedCall(tool="shell", args={"command": command}, powers=frozenset({Power.EXECUTE}))
    if refused := await _refusal(deps, call, approved=approved):
        return _refuted(f"`{command}` may not be run: {refused}")
    if deps.sandboxes is None:
        raise SandboxUnavailable("No command can be run here.", hint="See 'lra sandbox doctor'.")
    async with deps.sandboxes.lent(f"evidence {work.session_id}") as sandbox:
        result = await sandbox.shell(f"{_UNSET}{command}", _SECONDS)
    output = f"{result.stdout}{result.stderr}"
    seen = f"`{command}` ended with {result.exit_code}: {clip(output[-_SHOWN:], _SHOWN)}"
    if not result.success:
        return _refuted(seen if result.error is None else f"{seen} {result.error.name}")
    if criterion.contains and criterion.contains not in output:
        return _refuted(f"{seen}; it does not contain {criterion.contains!r}")
    if criterion.matches and not _matches(criterion.matches, output):
        return _refuted(f"{seen}; it does not match /{criterion.matches}/")
    return EvidenceState.VERIFIED, seen


def _matches(pattern: str, text: str) -> bool:
    """Whether an expression is found in a text, in linear time whatever the expression is."""
    wanted = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
    try:
        SchemaValidator(wanted).validate_python(text)
    except ValidationError:
        return False
    except SchemaError as error:
        raise UsageError(f"/{pattern}/ is no regular expression.") from error
    return True


def _approved(tx: Transaction, work: Work) -> tuple[Mapping[str, str], bool]:
    """What an approved plan has frozen, and whether a person approved it."""
    plans = [each for each in works.plans_of(tx, work.id) if each.version == work.plan_version]
    return (plans[-1].frozen, plans[-1].by != "policy") if plans else ({}, False)


async def _refusal(deps: TurnDeps, call: GatedCall, *, approved: bool) -> str:
    """Why something may not be done for a check; a person who approved the plan agreed to it."""
    match await deps.permits(call):
        case Allow():
            return ""
        case Deny(reason=reason):
            return reason
        case Ask(reason=reason):
            return "" if approved else reason


async def _call(deps: TurnDeps, work: Work, criterion: Criterion) -> Finding:
    wanted = dict(criterion.args or {})
    for record in reversed(await deps.database.read(lambda tx: works.calls(tx, work.id))):
        if record.tool != criterion.tool or record.state is not CallState.DONE:
            continue
        same = wanted.items() <= record.arguments.items()
        if same and criterion.contains in (record.result or ""):
            return EvidenceState.VERIFIED, f"{record.tool} was called ({record.call_id})"
    return _refuted(f"the ledger has no such call of {criterion.tool}")


async def _fetch(deps: TurnDeps, work: Work, criterion: Criterion) -> Finding:
    _, approved = await deps.database.read(lambda tx: _approved(tx, work))
    args = {"url": criterion.url}
    send = frozenset({Power.SEND})
    call = GatedCall(tool="web_fetch", args=args, effect=Effect.READ, powers=send, foreign=True)
    if refused := await _refusal(deps, call, approved=approved):
        return _refuted(f"{criterion.url} may not be fetched: {refused}")
    if deps.web is None:
        return _refuted("the web cannot be reached from here")
    try:
        page = await deps.web().fetch(criterion.url)
    except LraError as error:
        return _refuted(f"{criterion.url}: {error.message}")
    seen = f"{criterion.url} answered {page.status}"
    found = page.status == criterion.status
    return (EvidenceState.VERIFIED, seen) if found else _refuted(seen)


async def _judged(deps: TurnDeps, work: Work, criterion: Criterion) -> Finding:
    if deps.judge is None:
        return EvidenceState.CLAIMED, "a person has to look: no model judges here"
    rows = await deps.database.read(lambda tx: works.calls(tx, work.id))
    seen = "\n".join(
        f"{row.tool} {clip(row.args, 300)} → {row.state}: {clip(row.result or '', 500)}"
        for row in rows[-40:]
    )
    holds, why = await deps.judge(criterion.text, seen)
    return (EvidenceState.JUDGED, why) if holds else _refuted(why)


def digests(deps: TurnDeps, planned: Iterable[Task]) -> dict[str, str]:
    """What the criteria of tasks protect, as it is now; tests that are not there may be written."""
    found: dict[str, str] = {}
    for task in planned:
        now = {path: _digest(deps, path) for path in protected(task)}
        if any(digest for path, digest in now.items() if not _steers(path)):
            found |= {path: digest for path, digest in now.items() if digest or _steers(path)}
    return found


def _steers(path: str) -> bool:
    return path.rpartition("/")[2] in _STEERING


def protected(task: Task) -> tuple[str, ...]:
    """What a task's criterion protects: what it names, and the tests that its command runs."""
    criterion = task.criterion
    if criterion is None or criterion.protects or criterion.kind is not CriterionKind.COMMAND:
        return () if criterion is None else criterion.protects
    words = [word.partition("::")[0] for word in re.split(r"[\s;&|()<>]+", criterion.command)]
    named = [word for word in words if _TESTS.search(word)]
    if re.search(r"\b(?:pytest|unittest)\b", criterion.command):
        named = named or ["tests", "test"]
        above = [parent for path in named for parent in PurePosixPath(path).parents]
        named += [*_STEERING, *(str(parent / "conftest.py") for parent in above)]
    # A task whose scope has the tests is there to write them.
    open_to = [each for each in named if task.scope.paths and task.scope.covers_path(_whole(each))]
    return tuple(path for path in dict.fromkeys(named) if path not in open_to)


def _whole(path: str) -> str:
    return path.partition(" [")[0]


def _digest(deps: TurnDeps, path: str) -> str:
    """Of a file, or of all that is in a folder; empty when nothing is there."""
    workspace = workspace_of(deps)
    with suppress(LraError):
        content = workspace.read(_whole(path))
        if path.endswith("[pytest]"):
            content = b"".join(_SECTION.findall(content))
        return hashlib.sha256(content).hexdigest() if content else ""
    try:
        inside = workspace.entries(path, depth=8, closed=_CACHES)
        held = {each.path: workspace.read(each.path) for each in inside if not each.folder}
    except LraError:
        return ""
    told = [[name, hashlib.sha256(content).hexdigest()] for name, content in held.items()]
    links = [each for each in (workspace.root / path).rglob("*") if each.is_symlink()]
    told += sorted([str(each), str(each.readlink())] for each in links)
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _changed(deps: TurnDeps, task: Task, frozen: Mapping[str, str]) -> str:
    """What is not as it was when the plan was approved; empty when all is."""
    kept = [path for path in protected(task) if path in frozen]
    return next((path for path in kept if _digest(deps, path) != frozen[path]), "")


async def check_again(deps: TurnDeps, view: WorkView, cause: str, step: int) -> WorkView:
    """Look again at whatever is said to be proven by evidence that no longer holds."""
    for task in view.leaves:
        if view.proven(task) and (view.stale(task) or await _gone(deps, view, task)):
            found = await check(deps, view, task, cause, step)
            view = replace(view, evidence=[*view.evidence, found])
    return view


async def _gone(deps: TurnDeps, view: WorkView, task: Task) -> bool:
    """Whether a file that proved a task does no more: to look costs nothing."""
    if task.criterion is None or view.newest[task.number].kind is not CriterionKind.FILE:
        return False
    state, _ = await asyncio.to_thread(_file, deps, task.criterion)
    return not state.proves


async def check_unclaimed(deps: TurnDeps, view: WorkView, cause: str, step: int) -> None:
    """Look at the task of a turn that has ended without a word about it; only proof is kept.

    A turn that has done nothing is no claim: what it left as it was may hold by chance.
    """
    number, task = deps.turn.number, next((t for t in view.ready if not view.proven(t)), None)
    if task is None or any(each.turn == number for each in view.evidence):
        return
    kind, changed = _criterion(task).kind, any(each.turn == number for each in view.changes)
    if kind is not CriterionKind.CALL and not (changed and kind in _UNCLAIMED):
        return
    found = await _looked(deps, view.work, task)
    if found[0].proves:
        await check(deps, view, task, cause, step, found)
