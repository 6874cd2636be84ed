"""When a long work goes round in circles, as far as its ledger shows it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice, takewhile
from operator import itemgetter
from typing import NamedTuple

from long_running_agents.domain.tool import CallState, Effect, GatedCall, ToolCallRecord


class StuckSignal(StrEnum):
    """A sign that a work does not get any further."""

    REPEATED_CALL = "repeated_call"
    """The same call had the same result, four times."""
    REPEATED_ERROR = "repeated_error"
    """The same call failed or was denied in the same way, three times."""
    ALTERNATING = "alternating"
    """Two calls took turns, six in all, each with the same result every time."""
    NO_CALLS = "no_calls"
    """Three turns in a row ended with words alone."""
    SAME_ERROR = "same_error"
    """Different calls of a tool failed with the same words, four times."""
    ONLY_READS = "only_reads"
    """More than 25 reads changed nothing, and most of them showed nothing new."""
    IDLE_CALLS = "idle_calls"
    """Five calls only waited, or did nothing."""
    COMPACTING = "compacting"
    """The history was compacted more than three times in 30 steps."""
    CUT_OFF = "cut_off"
    """Two answers in a row hit the model's length limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTrace:
    """What a work has done since it was last told that it is stuck."""

    calls: Sequence[ToolCallRecord] = ()
    """The oldest first; only those that have ended matter."""
    silent_turns: int = 0
    """Turns in a row that ended without a call."""
    compactions: int = 0
    """Within the last 30 steps."""
    cut_off: int = 0
    """Answers in a row that the length limit cut off."""


@dataclass(frozen=True, slots=True)
class StuckFinding:
    """A signal, and what was seen."""

    signal: StuckSignal
    detail: str
    """One sentence without a full stop, for person and model."""


_WINDOW = 30
_READS = 26
_TASK_CHANGES = frozenset({"create_task", "update_task_status", "manage_tasks", "propose_change"})


def stuck_signal(trace: WorkTrace) -> StuckFinding | None:
    """The first signal that a work shows; None while it gets any further."""
    ended = islice((each for each in reversed(trace.calls) if each.state.resolved), _WINDOW)
    steps = _steps(list(ended)[::-1])
    runs = _Runs()
    for step in steps:
        runs.add(step)
    called, calls = _most(runs.same)
    failed, failures = _most(runs.failed)
    other, errors = _most({key: len(args) for key, args in runs.errors.items() if len({*args}) > 1})
    turns = _alternating(steps)
    found = (
        (StuckSignal.REPEATED_CALL, 4, calls,
         f"{called} was called {calls} times with the same arguments and the same result"),
        (StuckSignal.REPEATED_ERROR, 3, failures,
         f"{failed} was called {failures} times with the same arguments and failed or was denied"),
        (StuckSignal.ALTERNATING, 6, turns,
         f"two calls alternated over {turns} calls, each always with the same result"),
        (StuckSignal.NO_CALLS, 3, trace.silent_turns,
         f"{trace.silent_turns} turns in a row ended with words and without a call"),
        (StuckSignal.SAME_ERROR, 4, errors,
         f"{other} failed {errors} times with different arguments and the same error"),
        (StuckSignal.ONLY_READS, _READS, _stale(runs.reads),
         f"{len(runs.reads)} reads changed nothing, and most of them showed nothing new"),
        (StuckSignal.IDLE_CALLS, 5, runs.idle, f"{runs.idle} calls only waited or did nothing"),
        (StuckSignal.COMPACTING, 4, trace.compactions,
         f"the history was compacted {trace.compactions} times within {_WINDOW} steps"),
        (StuckSignal.CUT_OFF, 2, trace.cut_off,
         f"{trace.cut_off} answers in a row were cut off at the model's length limit"),
    )  # fmt: skip
    shown = (StuckFinding(signal, said) for signal, least, count, said in found if count >= least)
    return next(shown, None)


_Key = tuple[str, str]
"""A tool, and its arguments or its error."""


class _Step(NamedTuple):
    """A call that has ended, and how."""

    record: ToolCallRecord
    call: _Key
    outcome: str
    before: tuple[str, ...]
    """The outcomes that the same call had earlier."""


def _steps(records: Sequence[ToolCallRecord]) -> list[_Step]:
    outcomes: dict[_Key, tuple[str, ...]] = {}
    steps: list[_Step] = []
    for record in records:
        call = record.tool, record.args
        # A refusal is the same one whether a rule or a person has worded it.
        said = "" if record.state is CallState.DENIED else record.result or ""
        outcome = f"{record.state} {said[:-_END]}{_VARYING.sub(_KEPT, said[-_END:])}"
        steps.append(_Step(record, call, outcome, outcomes.get(call, ())))
        outcomes[call] = (*outcomes.get(call, ()), outcome)
    return steps


def _most(counts: Mapping[_Key, int]) -> tuple[str, int]:
    (tool, _), count = max(counts.items(), key=itemgetter(1), default=(("", ""), 0))
    return tool, count


def _alternating(steps: Sequence[_Step]) -> int:
    """How many of the last calls are the same two by turns; one alone is a repeated call first."""
    pairs = zip(reversed(steps), reversed(steps[:-2]), strict=False)
    return 2 + len(list(takewhile(lambda each: each[0][1:3] == each[1][1:3], pairs)))


@dataclass(slots=True)
class _Runs:
    """What has come together since the work was last moved on."""

    same: dict[_Key, int] = field(default_factory=dict[_Key, int])
    failed: dict[_Key, int] = field(default_factory=dict[_Key, int])
    errors: dict[_Key, list[str]] = field(default_factory=dict[_Key, list[str]])
    """The arguments for which a tool had an error."""
    reads: list[_Step] = field(default_factory=list[_Step])
    idle: int = 0

    def add(self, step: _Step) -> None:
        record, call, outcome, before = step
        done, idle, new = record.state is CallState.DONE, _idles(record), outcome not in before
        writes = record.effect is not Effect.READ or record.tool in _TASK_CHANGES
        # A change that is made over again with the same outcome is part of a loop.
        changes = writes and done and new and not idle
        if changes:
            self.failed, self.errors, self.reads = {}, {}, []
        if changes or (new and before and not idle):
            # What is waited for goes on, such as a build.
            self.same, self.idle = {}, 0
        counts = self.same if done else self.failed
        counts[call] = 1 + (counts.get(call, 0) if before[-1:] == (outcome,) else 0)
        self.idle += idle
        if not writes:
            self.reads.append(step)
        if done and new:
            # The tool works: a page that is refused is no wall when the next one is read.
            self.errors = {key: each for key, each in self.errors.items() if key[0] != record.tool}
        elif not done and not _WITHOUT_WORDS.fullmatch(outcome):
            self.errors.setdefault((record.tool, outcome), []).append(record.args)


_WITHOUT_WORDS = re.compile(r'denied |failed "?\[exit code \d+\]"?')
"""A code alone is how grep says that nothing is found: an answer, and no error text."""

_VARYING = re.compile(r"((?:\d \w+ed|errors?|warnings?|tests?|; finished) in )\d+\.\d+s")
"""How long tests took, which they say last; any other figure may be what tells of progress."""
_KEPT = r"\1"
_END = 500


def _stale(reads: Sequence[_Step]) -> int:
    """How many reads there are, if most showed no other source, nor another part or state of it."""
    sources = [_source(step.record) for step in reads] if len(reads) >= _READS else []
    if 2 * len({*sources}) >= len(sources):
        return 0
    fresh = 0
    shown: dict[tuple[str, ...], set[str]] = {}
    for source, (_, _, outcome, before) in zip(sources, reads, strict=True):
        known = shown.setdefault(source, set())
        lines = set(outcome.split(r"\n"))
        fresh += outcome not in before and bool(before or 2 * len(lines - known) >= len(lines))
        known |= lines
    return len(reads) if 2 * fresh < len(reads) else 0


def _source(record: ToolCallRecord) -> tuple[str, ...]:
    """What was read: the texts among the arguments, since figures only choose a part of it."""
    given = record.arguments.values()
    texts = [str(each) for each in given if not isinstance(each, int | float | None)]
    return record.tool, *(texts or [record.args])


_MAY_IDLE = re.compile(r'\b(?:sleep|true|echo|pwd|date|pass)\b|:\s*"[:#]')
_IDLE_PROGRAMS = frozenset({"sleep", "true", ":", "echo", "pwd", "date", "cd"})
_IDLE_CODE = r"""(pass|import time|time\.sleep\([^()]*\)|print\((["'])[^"']*\2\))?"""
_LONGEST_IDLE = 300


def _idles(record: ToolCallRecord) -> bool:
    """Whether a call only waits, or says something to nobody."""
    long = len(record.args) > _LONGEST_IDLE
    if long or record.effect is Effect.READ or not _MAY_IDLE.search(record.args):
        return False
    args = record.arguments
    if (script := GatedCall(tool=record.tool, args=args).script) is not None:
        for command in script.commands:
            if command.program not in _IDLE_PROGRAMS or {*command.writes} - {"/dev/null"}:
                return False
        return script.understood
    lines = re.split(r"[;\n]", re.sub("#.*", "", str(args.get("code", "?"))))
    return all(re.fullmatch(_IDLE_CODE, line.strip()) for line in lines)
