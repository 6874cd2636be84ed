"""Trials, with a sandbox that says what it is told to say."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from tests.unit.skills.versions import DOUBLE, NOW, version

from long_running_agents.domain.skill import SkillExample, SkillLimits
from long_running_agents.sandbox.base import CodeError, ExecResult, FailureName
from long_running_agents.skills.trial import TrialCandidate, Trials
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio

DERIVED = [SkillExample(args={"number": number}, derived=True) for number in (1, 2, 3)]


def failing(name, message="no"):
    return ExecResult(error=CodeError(name=name, message=message))


class Told:
    """A sandbox that gives one answer after the other."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.calls = []

    async def call(self, source, function, kwargs, timeout, *, memory):  # noqa: ASYNC109 - the port
        self.calls.append((function, kwargs, timeout, memory))
        return self.answers.pop(0)


async def tried(examples, *answers, **values):
    sandbox = Told(*answers)

    @asynccontextmanager
    async def lend():
        yield sandbox

    candidate = TrialCandidate(
        source=DOUBLE,
        interface=version(**values).interface,
        limits=SkillLimits(timeout=30, memory=64),
        examples=examples,
    )
    return await Trials(lend, FrozenClock(NOW)).of(candidate, {"session_id": "s"}), sandbox


async def test_an_example_that_gives_what_it_should_passes():
    example = SkillExample(args={"number": 2}, result=4, checked=True)
    trial, sandbox = await tried([example], ExecResult(value=4, memory=1000, duration_ms=2.0))
    assert trial.passed
    assert (trial.attempts[0].shown, trial.attempts[0].memory) == ("4", 1000)
    assert sandbox.calls == [("double", {"number": 2}, 30, 64 << 20)]


async def test_another_result_than_the_example_says_does_not():
    example = SkillExample(args={"number": 2}, result=4, checked=True)
    trial, _ = await tried([example], ExecResult(value=5))
    assert "double(number=2) returns 5 instead of 4" in trial.reason


async def test_a_result_of_another_type_than_declared_does_not_pass_whoever_made_the_call():
    trial, _ = await tried(DERIVED, ExecResult(value="2"))
    assert "not what its signature says: '2' is not of type 'integer'" in trial.reason


async def test_a_result_that_is_no_json_does_not_pass_whoever_made_the_call():
    trial, _ = await tried(DERIVED, ExecResult(value=2), failing("TypeError", "no JSON: NaN"))
    assert "double(number=2) fails: TypeError: no JSON: NaN" in trial.reason


async def test_an_example_that_somebody_gave_must_work():
    trial, _ = await tried([SkillExample(args={"number": 2})], failing("ValueError"))
    assert "double(number=2) fails: ValueError: no" in trial.reason


async def test_calls_that_nobody_gave_may_make_no_sense_as_long_as_one_does():
    answers = failing("ValueError"), ExecResult(value=4), failing("KeyError")
    trial, _ = await tried(DERIVED, *answers)
    assert trial.passed
    assert [bool(each.error) for each in trial.attempts] == [True, False, True]


async def test_when_none_makes_sense_examples_are_asked_for():
    trial, _ = await tried(DERIVED, *[failing("ValueError", "not a date")] * 3)
    assert "ValueError: not a date" in trial.reason
    assert "give examples" in trial.reason


@pytest.mark.parametrize(
    "name", ["NameError", FailureName.TIMEOUT, FailureName.MEMORY, FailureName.KILLED]
)
async def test_what_no_arguments_excuse_ends_the_trial_at_once(name):
    trial, sandbox = await tried(DERIVED, failing(name), ExecResult(value=4))
    assert not trial.passed
    assert len(sandbox.calls) == 1


async def test_a_function_that_takes_a_context_is_given_one():

    taking = replace(version().interface, context="ctx")
    _, sandbox = await tried(DERIVED[:1], ExecResult(value=2), interface=taking)
    assert sandbox.calls[0][1] == {"number": 1, "ctx": {"session_id": "s"}}


async def test_a_function_that_nobody_could_call_has_not_passed():
    trial, _ = await tried([])
    assert not trial.passed
