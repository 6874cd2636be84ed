"""The trial: a function is called in a sandbox of its own before anybody may use it."""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from math import inf

from long_running_agents.domain.ports import Clock
from long_running_agents.domain.skill import Attempt, Example, Interface, Json, Limits, Trial
from long_running_agents.sandbox.port import Sandbox
from long_running_agents.sandbox.result import ExecResult, Failure
from long_running_agents.skills.running import run
from long_running_agents.skills.validating import complaints, equal

SAMPLE: Json = {"session_id": "trial", "turn_id": "trial", "owner": "trial", "agent": "lra"}
"""The context of a call that no conversation has asked for."""

_AT_ONCE = 2
_FOR_DERIVED = 10.0
"""Seconds for a call that nobody asked for."""
_SHOWN = 500
_FATAL = frozenset(Failure)
_BROKEN = _FATAL | {
    "NameError",
    "UnboundLocalError",
    "ImportError",
    "ModuleNotFoundError",
    "SyntaxError",
    "MemoryError",
    "RecursionError",
    "SystemExit",
}
"""What no arguments excuse."""
_NO_JSON = "no JSON: "
"""How the sandbox says that a result is none; no arguments excuse that either."""

Lend = Callable[[], AbstractAsyncContextManager[Sandbox]]
"""Lends a fresh sandbox with an empty workspace, and takes it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What is tried."""

    source: str
    interface: Interface
    limits: Limits
    examples: Sequence[Example]


class Trials:
    """Tries functions, a few at a time."""

    def __init__(self, lend: Lend, clock: Clock) -> None:
        self._lend = lend
        self._clock = clock
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def of(self, candidate: Candidate, context: Json) -> Trial:
        """Call a function with its examples.

        Raises:
            SandboxUnavailable: Nothing can be tried here.
        """
        attempts: list[Attempt] = []
        broken = ""
        async with self._turn, self._lend() as sandbox:
            for example in candidate.examples:
                at_most = _FOR_DERIVED if example.derived else inf
                result = await run(sandbox, candidate, example.args, context, at_most=at_most)
                attempt = judged(candidate.interface, example, result)
                attempts.append(attempt)
                if attempt.error and (not example.derived or not _excused(result)):
                    # One more call would say nothing new, or has no sandbox any more.
                    broken = f"{_said(candidate, example)} {attempt.error}"
                    break
        return _trial(attempts, broken, self._clock)


def judged(interface: Interface, example: Example, result: ExecResult) -> Attempt:
    """Whether a call did what it should."""
    error = ""
    if result.error is not None:
        error = f"fails: {result.error.name}: {result.error.message}".rstrip(": ")
    elif wrong := complaints(interface.returns, result.value):
        error = f"returns {_short(result.value)}, which is not what its signature says: {wrong}"
    elif example.checked and not equal(result.value, example.result):
        error = f"returns {_short(result.value)} instead of {_short(example.result)}"
    return Attempt(
        args=example.args,
        shown=_short(result.value) if result.error is None else "",
        error=error[: 2 * _SHOWN],
        derived=example.derived,
        duration_ms=result.duration_ms,
        memory=result.memory,
    )


def _excused(result: ExecResult) -> bool:
    """Whether a failure may be that of arguments that make no sense."""
    if result.error is None:
        return False
    return result.error.name not in _BROKEN and not result.error.message.startswith(_NO_JSON)


def _trial(attempts: Sequence[Attempt], broken: str, clock: Clock) -> Trial:
    worked = any(not attempt.error for attempt in attempts)
    reason = broken
    if not broken and not worked:
        last = attempts[-1].error if attempts else "no call could be made from its signature"
        reason = f"no call that was made from its signature worked ({last}); give examples that do"
    return Trial(
        at=clock.now(), passed=not reason, reason=reason[: 4 * _SHOWN], attempts=tuple(attempts)
    )


def _said(candidate: Candidate, example: Example) -> str:
    given = ", ".join(f"{name}={_short(value)}" for name, value in example.args.items())
    return f"{candidate.interface.function}({given[:_SHOWN]})"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
