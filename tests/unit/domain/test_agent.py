"""What is usual for an agent, and what is far outside of it."""

import pytest

from long_running_agents.domain.agent import TurnCost, anomalies, percentile, unusual

USUAL = [TurnCost(1000 + 10 * n, 5.0 + 0.1 * n) for n in range(10)]


@pytest.mark.parametrize(
    ("last", "parts"),
    [
        (TurnCost(1050, 5.5), []),
        (TurnCost(1300, 6.5), []),
        (TurnCost(9000, 5.5), ["tokens"]),
        (TurnCost(10, 5.5), ["tokens"]),
        (TurnCost(1050, 60.0), ["seconds"]),
        (TurnCost(9000, 60.0), ["tokens", "seconds"]),
    ],
)
def test_a_turn_is_unusual_that_took_far_more_or_far_less(last, parts):
    assert [each.what for each in unusual(last, USUAL)] == parts


def test_a_few_turns_say_nothing_of_what_is_usual():
    assert unusual(TurnCost(9000, 60.0), USUAL[:7]) == ()
    assert unusual(TurnCost(9000, 60.0), USUAL[:8])


def test_turns_that_are_all_alike_may_vary_a_little():
    alike = [TurnCost(1000, 5.0)] * 20

    assert unusual(TurnCost(1100, 5.2), alike) == ()
    assert anomalies(TurnCost(5000, 5.0), alike) == ("5,000 tokens instead of about 1,000",)


def test_only_the_newest_fifty_count():
    before = [TurnCost(100, 1.0)] * 50 + [TurnCost(9000, 90.0)] * 200

    assert unusual(TurnCost(9000, 1.0), before)


@pytest.mark.parametrize(
    ("values", "share", "found"),
    [([], 0.5, 0.0), ([3.0], 0.95, 3.0), ([1, 2, 3, 4], 0.5, 2), (list(range(1, 101)), 0.95, 95)],
)
def test_a_percentile_is_a_value_that_was_there(values, share, found):
    assert percentile(values, share) == found
