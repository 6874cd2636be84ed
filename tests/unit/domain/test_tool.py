import itertools

import pytest

from long_running_agents.domain.tool import CallState, Effect, Replay, replay

RESOLVED = {"done", "failed", "denied", "uncertain"}
UNFINISHED = {
    ("requested", "read"): "run",
    ("requested", "idempotent"): "run",
    ("requested", "once"): "run",
    ("waiting", "read"): "run",
    ("waiting", "idempotent"): "run",
    ("waiting", "once"): "run",
    ("started", "read"): "run",
    ("started", "idempotent"): "run",
    ("started", "once"): "report_uncertain",
}


@pytest.mark.parametrize(("state", "effect"), list(itertools.product(CallState, Effect)))
def test_a_call_met_again_runs_at_most_once_unless_that_is_harmless(state, effect):
    expected = "return_result" if state in RESOLVED else UNFINISHED[state, effect]

    assert replay(state, effect) == Replay(expected)


def test_resolved_states_are_those_with_an_outcome():
    assert {state for state in CallState if state.resolved} == RESOLVED
