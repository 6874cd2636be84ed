"""What decides between candidates, what a model is asked, and what its answer means."""

import pytest

from long_running_agents.domain.agent import AgentDraft
from long_running_agents.domain.routing import (
    RouteCandidate,
    Routing,
    chosen,
    passages,
    question,
    routed,
    spoken_of,
)


def candidates(*scores):
    return [
        RouteCandidate(agent=f"agent-{number}@1", score=score)
        for number, score in enumerate(scores, 1)
    ]


@pytest.mark.parametrize(
    ("scores", "to", "by", "margin"),
    [
        ((), "", "default", 0.0),
        ((0.3,), "agent-1@1", "words", 1.0),
        ((1.0, 0.8), "agent-1@1", "words", 0.2),
        ((1.0, 0.81), "", "default", 0.19),
        ((0.5, 0.5, 0.1), "", "default", 0.0),
    ],
)
def test_the_first_is_routed_to_if_it_is_a_fifth_before_the_second(scores, to, by, margin):
    told = routed(candidates(*scores))

    assert (told.to, told.by, told.margin) == (to, by, margin)
    assert told.unsure is (by == "default" and bool(scores))


@pytest.mark.parametrize(
    ("answer", "to", "by"),
    [
        ("2", "agent-2@1", "model"),
        ("I thought of 1, but: **4**", "agent-4@1", "model"),
        ("0", "", "model"),
        ("5", "", "default"),
        ("", "", "default"),
        ("none of them", "", "default"),
    ],
)
def test_a_model_answers_with_a_number_of_the_list_or_is_not_heard(answer, to, by):
    open_ = Routing(to="", by="default", candidates=candidates(1.0, 0.9, 0.9, 0.8))

    told = chosen(open_, answer)

    assert (told.to, told.by) == (to, by)
    assert len(told.candidates) == 3


def test_a_model_reads_numbers_names_and_what_they_are_for():
    told, shown = question("Bake me a cake", [("cook@1", "Cooks."), ("smith@2", "Forges.")])

    assert "1. cook@1: Cooks.\n2. smith@2: Forges." in told
    assert shown.endswith("Bake me a cake")


def test_long_instructions_are_read_in_part_and_in_pieces():
    agent = AgentDraft(name="big-one", description="Is big", instructions="word " * 1000 + "END")

    pieces = passages(agent)

    assert pieces[0] == "big one. Is big"
    assert max(map(len, pieces)) <= 301
    assert 5 <= len(pieces) <= 7
    assert "END" not in spoken_of(agent, ["a sentence"])
    assert "a sentence" in spoken_of(agent, ["a sentence"])
