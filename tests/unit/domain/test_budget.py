from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.budget import (
    LEAST_ANSWER,
    BudgetNode,
    BudgetScope,
    LimitHit,
    Limits,
    RequestSize,
    Reservation,
    Spent,
    Usage,
    estimate_tokens,
    limit_before_request,
    reserve,
    scope_of,
)

SPENT = Spent(
    steps=3, tool_calls=5, input_tokens=900, output_tokens=100, cost=Decimal("0.25"), seconds=60.0
)


def turn(limits, spent=SPENT, **also):
    return BudgetNode(scope=BudgetScope.TURN, key="t", limits=limits, spent=spent, **also)


def sized(tokens, **also):
    return RequestSize(model="m", input_tokens=tokens, output_tokens=0, **also)


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(), None),
        (Limits(steps=3), "steps"),
        (Limits(steps=4), None),
        (Limits(tokens=1049), "tokens"),
        (Limits(tokens=1050), None),
        (Limits(cost=Decimal("0.24")), "cost"),
        (Limits(cost=Decimal("0.25")), None),
        (Limits(cost=Decimal(0)), "cost"),
        (Limits(tool_calls=5), "tool_calls"),
        (Limits(tool_calls=6), None),
        (Limits(tool_calls=0), "tool_calls"),
        (Limits(seconds=60), "seconds"),
        (Limits(seconds=60.1), None),
        (Limits(steps=1, tokens=1, cost=Decimal(0)), "steps"),
    ],
)
def test_a_request_is_made_only_within_every_limit(limits, name):
    hit = limit_before_request(turn(limits), sized(50))

    assert (hit.name if hit else None) == name


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(steps=3), "all 3 steps"),
        (Limits(tokens=10), "needs about 50 tokens and 1000 of 10 are used"),
        (Limits(cost=Decimal("0.2")), "$0.2500 of $0.2 are spent"),
        (Limits(tool_calls=5), "all 5 tool calls"),
        (Limits(seconds=60), "60 seconds"),
    ],
)
def test_a_limit_says_what_was_used_up(limits, words):
    assert words in limit_before_request(turn(limits), sized(50)).sentence


def test_the_price_of_the_next_request_is_reserved_when_it_is_known():
    limits = Limits(cost=Decimal("0.30"))

    def hit(next_cost):
        return limit_before_request(turn(limits), sized(1, input_cost=Decimal(next_cost)))

    assert hit("0.05") is None
    assert hit("0.051").name == "cost"
    assert "costs about $0.0600 and $0.2500 of $0.30" in hit("0.06").sentence


def test_a_renewed_budget_is_the_same_again_and_no_limit_stays_none():
    limits = Limits(steps=3, cost=Decimal("0.1"), seconds=1.5)

    assert limits.times(2) == Limits(steps=6, cost=Decimal("0.2"), seconds=3.0)
    assert limits.times(1) == limits
    assert Limits().times(5) == Limits()


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


def test_an_answer_may_use_what_is_left_of_the_tightest_limit():
    def most(*nodes, **also):
        size = RequestSize(model="m", input_tokens=50, token_cost=Decimal("0.001"), **also)
        return reserve(nodes, size).output_tokens

    nothing = Spent()
    assert most(turn(Limits())) is None
    assert most(turn(Limits()), output_tokens=700) == 700
    assert most(turn(Limits(tokens=2000), nothing)) == 1850
    assert most(turn(Limits(cost=Decimal(1)), nothing)) == 950
    assert most(turn(Limits(tokens=2000), nothing), turn(Limits(tokens=1000), nothing)) == 900
    assert most(turn(Limits(tokens=1000), nothing, held=Spent(input_tokens=500))) == 400


def test_the_last_twentieth_is_kept_for_a_last_answer_and_the_last_fifth_is_told():
    def made(used):
        node = turn(Limits(tokens=10_000), Spent(input_tokens=used))
        return reserve([node], RequestSize(model="m", input_tokens=100))

    assert made(7_999).tight is None
    early, late = made(8_000), made(9_400)
    assert (early.tight.resource, early.wrap_up, early.output_tokens) == ("tokens", False, 1_400)
    assert (late.wrap_up, late.output_tokens) == (True, 500)
    assert made(9_900 - LEAST_ANSWER).wrap_up
    assert made(9_901 - LEAST_ANSWER).name == "tokens"


def test_a_limit_of_nothing_lets_nothing_pass():
    free = RequestSize(model="m", output_tokens=0)
    for limits in (Limits(tokens=0), Limits(cost=Decimal(0)), Limits(steps=0), Limits(seconds=0)):
        size = RequestSize(model="m") if limits.tokens == 0 else free
        assert isinstance(reserve([turn(limits, Spent())], size), LimitHit)


def test_a_price_that_nobody_knows_is_refused_where_money_is_limited():
    size = RequestSize(model="mystery", input_tokens=10, input_cost=None)
    node = turn(Limits(cost=Decimal(1)), Spent())

    assert "mystery" in reserve([node], size).sentence
    assert isinstance(reserve([node], size, unpriced=True), Reservation)
    assert isinstance(reserve([turn(Limits(tokens=1000), Spent())], size), Reservation)


def test_what_others_hold_for_now_is_told_apart_from_what_is_spent():
    size = RequestSize(model="m", input_tokens=500)
    node = turn(Limits(tokens=1000), Spent(), held=Spent(input_tokens=900))

    assert reserve([node], size).passing
    assert not reserve([turn(Limits(tokens=100), Spent(), held=node.held)], size).passing


def test_a_limit_knows_whose_it_is_by_its_name():
    node = BudgetNode(scope=BudgetScope.DAY, key="d", limits=Limits(steps=0), spent=Spent())
    hit = reserve([node], RequestSize(model="m"))

    assert (hit.name, scope_of(hit.name)) == ("day_steps", BudgetScope.DAY)
    assert scope_of("session_tokens") is BudgetScope.SESSION
    assert scope_of("tool_calls") is BudgetScope.TURN


def test_raising_adds_to_what_is_limited_alone():
    raised = Limits(tokens=10, steps=1).plus(Limits(tokens=5, cost=Decimal(1)))

    assert raised == Limits(tokens=15, steps=1)


TOKENS = st.integers(0, 3_000)
MOVES = st.lists(
    st.tuples(st.integers(0, 7), TOKENS, TOKENS, st.sampled_from(["answer", "die", "keep"])),
    max_size=40,
)


class Tree:
    """Budgets that are parts of others, and requests that draw on them."""

    price = Decimal("0.002")

    def __init__(self, parents, caps):
        self.above = {child + 1: min(parent, child) for child, parent in enumerate(parents)}
        self.caps = caps
        self.spent, self.held = ({node: Spent() for node in range(8)} for _ in range(2))

    def path(self, leaf):
        found = [leaf]
        while found[-1] in self.above:
            found.append(self.above[found[-1]])
        return found

    def node(self, key):
        limits = Limits(tokens=self.caps[key][0], cost=Decimal(self.caps[key][1]))
        return turn(limits, self.spent[key], held=self.held[key])

    def add(self, to, leaf, prompt, answer, sign=1):
        for key in self.path(leaf):
            to[key] = Spent(
                input_tokens=to[key].input_tokens + sign * prompt,
                output_tokens=to[key].output_tokens + sign * answer,
                cost=to[key].cost + sign * (prompt + answer) * self.price,
            )

    def ask(self, leaf, prompt, answer, fate):
        size = RequestSize(
            model="m",
            input_tokens=prompt,
            input_cost=prompt * self.price,
            token_cost=self.price,
        )
        found = reserve([self.node(key) for key in self.path(leaf)], size)
        if isinstance(found, LimitHit):
            return
        most = found.output_tokens
        self.add(self.held, leaf, prompt, most)
        if fate != "keep":
            self.add(self.held, leaf, prompt, most, -1)
            self.add(self.spent, leaf, prompt, min(answer, most) if fate == "answer" else most)


@given(
    parents=st.lists(st.integers(0, 6), min_size=1, max_size=7),
    caps=st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 60)), min_size=8, max_size=8),
    moves=MOVES,
)
def test_no_limit_of_any_tree_is_ever_passed_whoever_dies(parents, caps, moves):
    """Requests answer, die in flight and count in full, or stay under way."""
    tree = Tree(parents, caps)
    for move in moves:
        tree.ask(*move)
        for key, (tokens, dollars) in enumerate(caps):
            spent, held = tree.spent[key], tree.held[key]
            assert spent.total_tokens + held.total_tokens <= tokens
            assert spent.cost + held.cost <= dollars


@given(st.integers(min_value=0, max_value=10**7))
def test_an_estimate_is_never_zero_and_never_below_a_quarter(characters):
    assert estimate_tokens(characters) >= max(1, characters / 4)
