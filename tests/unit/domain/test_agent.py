"""What an agent is, what holds below others, what is usual for one, and what is far outside."""

from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from long_running_agents.domain.agent import (
    AgentDraft,
    AgentPolicy,
    AgentSpec,
    AgentStage,
    SamplingOptions,
    ToolChoice,
    TurnCost,
    WorkspaceMode,
    anomalies,
    as_draft,
    bounds_of,
    content,
    label_parts,
    least,
    percentile,
    said_by,
    unusual,
)
from long_running_agents.domain.budget import Limits
from long_running_agents.domain.chain import Chain, ChainLink, ChainStrategy
from long_running_agents.errors import UsageError

TOOLS = ("read_file", "write_file", "delegate", "search_tools", "execute_code")
SOME = st.lists(st.sampled_from(TOOLS), max_size=4, unique=True).map(tuple)
WORDS = st.text(max_size=12)
LIMITS = st.builds(
    Limits,
    steps=st.none() | st.integers(0, 50),
    tokens=st.none() | st.integers(0, 10**6),
    cost=st.none() | st.integers(0, 500).map(Decimal),
    tool_calls=st.none() | st.integers(0, 50),
    seconds=st.none() | st.floats(1, 900),
)
VALUES = {
    "name": st.from_regex(r"[a-z0-9][a-z0-9_-]{0,9}", fullmatch=True),
    "description": WORDS,
    "instructions": WORDS,
    "capabilities": st.lists(WORDS, max_size=3).map(tuple),
    "examples": st.lists(WORDS, max_size=3).map(tuple),
    "model": st.none() | WORDS,
    "sampling": st.builds(SamplingOptions, temperature=st.none() | st.floats(0.1, 2)),
    "tools": st.builds(ToolChoice, allow=st.none() | SOME, deny=SOME),
    "policy": st.builds(
        AgentPolicy,
        approvals=SOME,
        workspace=st.sampled_from(WorkspaceMode),
        network=st.none() | st.lists(WORDS, max_size=2).map(tuple),
    ),
    "budget": LIMITS,
    "memory": st.sampled_from(["shared", "none"]),
    "input_schema": st.none() | st.dictionaries(WORDS, WORDS, max_size=2),
    "output_schema": st.none() | st.dictionaries(WORDS, WORDS, max_size=2),
    "max_chain_depth": st.integers(0, 5),
    "chain": st.none()
    | st.builds(
        Chain,
        strategy=st.sampled_from(ChainStrategy),
        links=st.lists(st.builds(ChainLink, agent=WORDS, input=WORDS), min_size=1, max_size=3).map(
            tuple
        ),
    ),
    "color": WORDS,
    "icon": WORDS,
    "extra": st.dictionaries(WORDS, WORDS, max_size=2),
}
DRAFTS = st.builds(AgentDraft, **VALUES)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_properties_below_know_every_field():
    assert set(VALUES) == {each.name for each in fields(AgentDraft)}


@given(lineage=st.lists(DRAFTS, min_size=1, max_size=5))
def test_a_delegate_may_do_no_more_than_any_agent_above_it(lineage):
    bounds = bounds_of(lineage)

    for each in lineage:
        assert {tool for tool in TOOLS if bounds.permits(tool)} <= {
            tool for tool in TOOLS if each.tools.permits(tool)
        }
        assert bounds.approvals >= {*each.policy.approvals}
        assert each.policy.network is None or each.policy.network in bounds.networks
        assert bounds.read_only or each.policy.workspace is not WorkspaceMode.READ_ONLY
        assert not (bounds.memory and each.memory == "none")


@given(budgets=st.lists(LIMITS, min_size=1, max_size=5))
def test_what_is_left_of_budgets_is_never_above_any_of_them(budgets):
    together = reduce(least, budgets)

    assert together == reduce(least, reversed(budgets))
    for name in (each.name for each in fields(Limits)):
        given_ones = [value for each in budgets if (value := getattr(each, name)) is not None]
        assert getattr(together, name) == min(given_ones, default=None)


@given(draft=DRAFTS)
def test_the_same_content_has_the_same_digest(draft):
    spec = AgentSpec(**said_by(draft), version=7, stage=AgentStage.PUBLISHED, created_at=NOW)

    assert spec.digest == draft.digest
    assert as_draft(content(draft)).digest == draft.digest


@given(draft=DRAFTS, name=st.sampled_from(sorted(VALUES)), data=st.data())
def test_any_change_has_another_digest(draft, name, data):
    value = data.draw(VALUES[name])
    assume(value != getattr(draft, name))

    assert replace(draft, **{name: value}).digest != draft.digest


@pytest.mark.parametrize("label", ["coder@", "coder@3"])
def test_a_label_names_a_version_or_the_published_one(label):
    assert label_parts(label) == ("coder", 3 if label[-1] == "3" else None)


@pytest.mark.parametrize("label", ["coder@x", "coder@-1", "coder@\u00b2"])
def test_a_label_without_a_number_is_refused(label):
    with pytest.raises(UsageError, match="names no version"):
        label_parts(label)


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
