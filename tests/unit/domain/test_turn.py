import pytest

from long_running_agents.domain.turn import MAY_BECOME, RETRYABLE, TurnStatus

LEGAL = {
    "queued": {"running", "stopped", "steered"},
    "running": {
        "queued",
        "running",
        "waiting",
        "delegating",
        "done",
        "failed",
        "stopped",
        "limited",
    },
    "waiting": {"queued", "stopped", "delegating"},
    "delegating": {"queued", "stopped", "waiting"},
    "done": set(),
    "failed": {"queued"},
    "stopped": {"queued"},
    "limited": {"queued"},
    "steered": set(),
}


@pytest.mark.parametrize("status", TurnStatus)
def test_only_legal_transitions_are_listed(status):
    assert MAY_BECOME[status] == LEGAL[status]


@pytest.mark.parametrize(
    ("status", "settled", "ended"),
    [
        ("queued", False, False),
        ("running", False, False),
        ("waiting", True, False),
        ("delegating", False, False),
        ("done", True, True),
        ("failed", True, True),
        ("stopped", True, True),
        ("limited", True, True),
        ("steered", True, True),
    ],
)
def test_waiting_is_settled_but_not_ended(status, settled, ended):
    assert (TurnStatus(status).settled, TurnStatus(status).ended) == (settled, ended)


def test_what_can_be_retried_may_be_queued_and_a_done_turn_cannot():
    assert {s for s in TurnStatus if s.ended and "queued" in MAY_BECOME[s]} == RETRYABLE
    assert TurnStatus.DONE not in RETRYABLE
