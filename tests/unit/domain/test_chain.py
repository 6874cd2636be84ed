"""Chains end, start each link once and only compare; receipts are quoted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.chain import (
    Chain,
    ChainLink,
    ChainStrategy,
    Receipt,
    fill,
    holds,
    lookup,
    next_links,
    receipt_text,
)
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import UsageError

WAYS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "contains")
FIELDS = st.sampled_from(["input", "score", "1.output", "1.output.score", "2.output", "9.output"])
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("score"), inner),
    max_leaves=5,
)
WHEN = st.builds(
    lambda field, way, value: {"field": field, way: value}, FIELDS, st.sampled_from(WAYS), JSON
)
LINKS = st.builds(
    ChainLink,
    agent=st.just("coder"),
    when=st.none() | WHEN,
    on_error=st.sampled_from(["stop", "continue"]),
)
CHAINS = st.builds(
    Chain,
    strategy=st.sampled_from(ChainStrategy),
    links=st.lists(LINKS, min_size=1, max_size=5).map(tuple),
)
HOSTILE = st.text(alphabet="ab> \n\r\u2028\x0b", max_size=40)
ENDS = st.sampled_from([TurnStatus.DONE, TurnStatus.FAILED, TurnStatus.LIMITED, TurnStatus.STOPPED])


def receipt(status=TurnStatus.DONE, **more):
    ids = {"session_id": SessionId("s"), "turn_id": TurnId("t")}
    return Receipt(agent="coder@1", status=status, **ids, **more)


@given(chain=CHAINS, data=st.data(), text=st.sampled_from(["", "words", '{"score": 1}']))
def test_a_chain_ends_and_starts_no_link_twice(chain, data, text):
    receipts, begun = {}, []
    for _ in range(len(chain.links) + 1):
        move = next_links(chain, text, receipts, begun)
        if move.over:
            break
        assert move.start
        assert not {*move.start} & {*begun}
        begun += move.start
        # While one of them is at work, it waits.
        waiting = next_links(chain, text, receipts, begun)
        assert (waiting.start, waiting.over) == ((), False)
        for number in move.start:
            receipts[number] = receipt(data.draw(ENDS), answer="so", output=data.draw(JSON))
    assert move.over
    assert len(begun) == len(set(begun)) <= len(chain.links)
    stopping = [n for n in begun if not receipts[n].done and chain.links[n - 1].on_error == "stop"]
    assert bool(move.failed) == bool(stopping or not begun)


@given(link=LINKS, text=st.text(max_size=9), output=JSON)
def test_a_condition_holds_or_not_whatever_it_compares(link, text, output):
    assert holds(link, text, {1: receipt(output=output)}) in (True, False)


@pytest.mark.parametrize(
    "when",
    [
        {},
        {"field": "score"},
        {"gte": 1},
        {"field": "score", "matches": ".*"},
        {"field": "score", "gt": 1, "lt": 3},
        {"field": "score", "__class__": 1},
    ],
)
def test_a_condition_can_say_nothing_but_one_comparison(when):
    with pytest.raises(UsageError, match="cannot be read"):
        ChainLink(agent="coder", when=when)


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("Praise {{1.output.score}} of {{ input }}", "Praise 7 of {{2.output}}"),
        ("{{2.output}}", "so {{input}}"),
        ("{{1.output}}", '{"score": 7}'),
        ("{input} {{}} {{1 output}}", "{input} {{}} {{1 output}}"),
    ],
)
def test_a_template_is_filled_once_and_its_outputs_stay_words(template, filled):
    receipts = {1: receipt(answer="x", output={"score": 7}), 2: receipt(answer="so {{input}}")}

    assert fill(template, "{{2.output}}", receipts) == filled


@pytest.mark.parametrize(
    "path",
    [
        "3.output",
        "1.answer",
        "1",
        "1.output.none",
        "1.output.score.deeper",
        "input.x",
        "x",
        "\u00b2",
    ],
)
def test_what_is_not_there_is_refused_by_its_name(path):
    with pytest.raises(UsageError, match="to hand on"):
        lookup(path, "words", {1: receipt(output={"score": 7})})


@given(
    answer=HOSTILE,
    words=HOSTILE,
    most=st.integers(0, 60),
    silent=st.booleans(),
)
def test_nothing_of_a_receipt_stands_outside_its_lines(answer, words, most, silent):
    """Whatever a delegate says is quoted, and what is told of it begins no line of its own."""
    marks = {"wrote": (words,), "uncertain": (words,), "foreign": (words,), "not_seen": (words,)}
    shown = receipt(answer=answer, error=words, no_work_seen=silent, tool_calls={words: 1}, **marks)
    told = receipt_text(shown, most).splitlines()
    heads = 6 + bool(words) + silent

    assert all(line.startswith("> ") for line in told[heads:])
    assert not any(line.startswith(">") for line in told[:heads])
    assert len(told) - heads >= len(answer[:most].splitlines())
