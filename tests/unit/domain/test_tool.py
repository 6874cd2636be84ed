import itertools

import pytest

from long_running_agents.domain.tool import CallState, Effect, Replay, ToolCallRecord, replay

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


@pytest.mark.parametrize(
    ("args", "state", "result", "words"),
    [
        (
            '{"command": "echo \\"a\\""}',
            CallState.DONE,
            '"a\\nb"',
            '[exit code 0]\nsh\ncommand\necho "a"\na\nb',
        ),
        (
            '{"command": "false"}',
            CallState.FAILED,
            '"[exit code 1]"',
            "sh\ncommand\nfalse\n[exit code 1]",
        ),
        ('{"path": "\\u00e4.md"}', CallState.DONE, '{"bytes": 7}', "sh\npath\nä.md\nbytes\n7"),
        ("not JSON", CallState.FAILED, None, "sh\nnot JSON\n"),
        ("[" * 5000, CallState.FAILED, '"no"', f'sh\n{"[" * 5000}\n"no"'),
        ("5", CallState.DONE, "null", "sh\n5"),
    ],
)
def test_a_record_is_told_as_plain_words(args, state, result, words):
    record = ToolCallRecord(
        turn_id="t",
        session_id="s",
        call_id="c",
        step=1,
        position=0,
        tool="sh",
        args=args,
        effect=Effect.ONCE,
        state=state,
        result=result,
    )
    assert record.words == words
