from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.budget import (
    Spent,
    TurnLimits,
    Usage,
    estimate_tokens,
    limit_before_request,
    remaining_output,
)

SPENT = Spent(
    steps=3, tool_calls=5, input_tokens=900, output_tokens=100, cost=Decimal("0.25"), seconds=60.0
)


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (TurnLimits(), None),
        (TurnLimits(steps=3), "steps"),
        (TurnLimits(steps=4), None),
        (TurnLimits(tokens=1049), "tokens"),
        (TurnLimits(tokens=1050), None),
        (TurnLimits(cost=Decimal("0.25")), "cost"),
        (TurnLimits(cost=Decimal("0.26")), None),
        (TurnLimits(cost=Decimal(0)), "cost"),
        (TurnLimits(tool_calls=5), "tool_calls"),
        (TurnLimits(tool_calls=6), None),
        (TurnLimits(tool_calls=0), "tool_calls"),
        (TurnLimits(seconds=60), "seconds"),
        (TurnLimits(seconds=60.1), None),
        (TurnLimits(steps=1, tokens=1, cost=Decimal(0)), "steps"),
    ],
)
def test_a_request_is_made_only_within_every_limit(limits, name):
    hit = limit_before_request(SPENT, limits, next_tokens=50)

    assert (hit.name if hit else None) == name


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (TurnLimits(steps=3), "all 3 steps"),
        (TurnLimits(tokens=10), "needs about 50 tokens and 1000 of 10 are used"),
        (TurnLimits(cost=Decimal("0.2")), "$0.2500 of $0.2 are spent"),
        (TurnLimits(tool_calls=5), "all 5 tool calls"),
        (TurnLimits(seconds=60), "60 seconds"),
    ],
)
def test_a_limit_says_what_was_used_up(limits, words):
    assert words in limit_before_request(SPENT, limits, next_tokens=50).sentence


def test_the_price_of_the_next_request_is_reserved_when_it_is_known():
    limits = TurnLimits(cost=Decimal("0.30"))

    def hit(next_cost):
        return limit_before_request(SPENT, limits, next_tokens=1, next_cost=Decimal(next_cost))

    assert hit("0.04") is None
    assert hit("0.05").name == "cost"
    assert "costs about $0.0600 and $0.2500 of $0.30" in hit("0.06").sentence


def test_a_renewed_budget_is_the_same_again_and_no_limit_stays_none():
    limits = TurnLimits(steps=3, cost=Decimal("0.1"), seconds=1.5)

    assert limits.times(2) == TurnLimits(steps=6, cost=Decimal("0.2"), seconds=3.0)
    assert limits.times(1) == limits
    assert TurnLimits().times(5) == TurnLimits()


def test_a_step_is_added_to_what_was_spent():
    usage = Usage(input_tokens=10, output_tokens=2, cost=Decimal("0.05"))

    after = SPENT.after_step(usage, tool_calls=2, seconds=1.5)

    assert after == Spent(
        steps=4,
        tool_calls=7,
        input_tokens=910,
        output_tokens=102,
        cost=Decimal("0.30"),
        seconds=61.5,
    )
    assert (after.total_tokens, usage.total_tokens) == (1012, 12)


def test_a_step_of_unknown_price_costs_nothing_but_counts():
    after = SPENT.after_step(Usage(input_tokens=1), tool_calls=0, seconds=0)

    assert (after.cost, after.steps) == (Decimal("0.25"), 4)


@given(st.lists(st.decimals(min_value=0, max_value=10, places=9), max_size=50))
def test_money_adds_up_exactly(costs):
    spent = Spent()
    for cost in costs:
        spent = spent.after_step(Usage(cost=cost), tool_calls=0, seconds=0)

    assert spent.cost == sum(costs, Decimal(0))


def test_an_answer_may_use_what_is_left_and_at_least_one_token():
    assert remaining_output(SPENT, TurnLimits(), next_tokens=50) is None
    assert remaining_output(SPENT, TurnLimits(tokens=1100), next_tokens=50) == 50
    assert remaining_output(SPENT, TurnLimits(tokens=500), next_tokens=50) == 1


@given(st.integers(min_value=0, max_value=10**7))
def test_an_estimate_is_never_zero_and_never_below_a_quarter(characters):
    assert estimate_tokens(characters) >= max(1, characters / 4)
