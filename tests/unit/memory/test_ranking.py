from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.memory import MemoryKind
from long_running_agents.memory import ranking, words
from long_running_agents.memory.arrays import ENTRY, MemoryArrays
from long_running_agents.memory.ranking import MatchEvidence, RankingWeights, WordMatch, best, rank
from long_running_agents.store.memory_index import KINDS

NOTHING = np.empty(0, np.int64), np.empty(0, np.float32)
LENGTH = 10


def shelf_of(*sessions, **fields):
    """A shelf whose slots belong to these sessions, each after the one before it; 0 is a note."""
    count = len(sessions)
    entries = {name: np.zeros(count, ENTRY[name]) for name in ENTRY.names}
    entries["length"][:] = LENGTH
    entries["session"][:] = sessions
    entries["kind"][:] = np.where(
        np.array(sessions) > 0, KINDS.index(MemoryKind.CONVERSATION), KINDS.index(MemoryKind.NOTE)
    )
    for name, values in fields.items():
        entries[name][:] = values
    before, after = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
    for slot in range(1, count):
        if sessions[slot] and sessions[slot] == sessions[slot - 1]:
            before[slot], after[slot - 1] = slot - 1, slot
    return MemoryArrays(
        revision=1,
        ids=np.arange(1, count + 1),
        entries=entries,
        days=np.zeros(count, np.int32),
        before=before,
        after=after,
        bits=np.zeros((1, count), np.uint64),
        embedded=np.ones(count, np.bool_),
        gone=np.zeros(count, np.bool_),
        names={},
        actors=frozenset(),
    )


def evidence_of(shelf, *slots, near=(), **changed):
    """Words, each with the slots that have it, and slots that are near in meaning."""
    values = {
        "eligible": np.ones(len(shelf), np.bool_),
        "words": [WordMatch(str(place), np.array(have)) for place, have in enumerate(slots)],
        "near": np.array(near, np.int64),
        "nearness": np.linspace(1, 0.5, len(near), dtype=np.float32),
    }
    return MatchEvidence(**{**values, **changed})


def order(shelf, evidence, limit=10, **changed):
    return rank(shelf, evidence, RankingWeights(**changed), limit=limit).slots.tolist()


def test_no_evidence_ranks_nothing():
    shelf = shelf_of(0, 0)
    assert order(shelf, evidence_of(shelf)) == []
    assert order(shelf_of(), evidence_of(shelf_of())) == []


def test_more_words_and_rarer_words_come_first():
    shelf = shelf_of(0, 0, 0, 0)
    assert order(shelf, evidence_of(shelf, [0, 1, 2], [2]))[0] == 2
    assert order(shelf, evidence_of(shelf, [0, 1, 3], [2]))[0] == 2


def test_meaning_finds_what_no_word_does():
    shelf = shelf_of(0, 0, 0)
    assert order(shelf, evidence_of(shelf, near=[1])) == [1]


def test_what_was_said_beside_a_match_is_found():
    shelf = shelf_of(1, 1, 1, 2)
    assert order(shelf, evidence_of(shelf, [1])) == [1, 2, 0]


def test_a_note_has_nothing_beside_it():
    shelf = shelf_of(0, 0, 0)
    assert order(shelf, evidence_of(shelf, [1])) == [1]


def test_an_answer_counts_more_than_another_reply():
    asks = [words.QUESTION, 0, 0, 0]
    shelf = shelf_of(1, 1, 2, 2, signs=asks)
    ranked = order(shelf, evidence_of(shelf, [0, 2]))
    assert ranked.index(1) < ranked.index(3)


def test_what_tells_more_comes_first():
    shelf = shelf_of(1, 2, telling=[0.1, 1])
    assert order(shelf, evidence_of(shelf, [0, 1])) == [1, 0]


def test_who_is_named_comes_first():
    shelf = shelf_of(1, 2, actor=[7, 8])
    assert order(shelf, evidence_of(shelf, [0, 1], actor=8)) == [1, 0]


def test_what_has_the_wanted_signs_comes_first():
    shelf = shelf_of(0, 0, signs=[words.NUMBER, words.TIME])
    assert order(shelf, evidence_of(shelf, [0, 1], wanted=words.TIME)) == [1, 0]


def test_what_happened_then_comes_first_and_is_found_without_a_word():
    shelf = shelf_of(0, 0, 0)
    then = np.array([False, True, True])
    assert order(shelf, evidence_of(shelf, [0, 1], in_period=then)) == [1, 0, 2]
    assert order(shelf, evidence_of(shelf, in_period=then)) == [1, 2]


def test_a_session_that_answers_well_lifts_what_is_in_it():
    shelf = shelf_of(1, 1, 1, 1, 1, 2)
    evidence = evidence_of(shelf, [0, 2, 4, 5])
    assert order(shelf, evidence, session=5.0, beside=0.0)[-1] == 5


def test_a_shorter_text_with_the_same_words_comes_first():
    shelf = shelf_of(0, 0, length=[80, 8])
    assert order(shelf, evidence_of(shelf, [0, 1])) == [1, 0]


def test_what_is_not_eligible_neither_appears_nor_counts():
    shelf = shelf_of(1, 1, 1, 0)
    alone = evidence_of(shelf, [0, 1], [3])
    hidden = replace(alone, eligible=np.array([False, True, True, True]))
    assert 0 not in order(shelf, hidden)
    # Two have the word, one of them hidden: to this viewer both words are equally rare.
    ranked = rank(shelf, hidden, RankingWeights(), limit=4)
    own = dict(zip(ranked.slots.tolist(), ranked.parts["words"].tolist(), strict=True))
    assert own[1] == own[3]


def test_reciprocal_ranks_count_places_not_scores():
    shelf = shelf_of(0, 0, 0)
    evidence = evidence_of(shelf, [0, 1], [0], near=[1, 2])
    ranked = rank(shelf, evidence, RankingWeights(), limit=3, fusion="rrf")
    assert ranked.slots.tolist() == [1, 0, 2]
    assert set(ranked.parts) == {"words", "around", "meaning"}


def test_the_best_of_a_crowd_is_still_found(monkeypatch):
    monkeypatch.setattr(ranking, "_PROMISING", 20)
    monkeypatch.setattr(ranking, "_CROWD", 60)
    monkeypatch.setattr(ranking, "_KEPT", 10)
    monkeypatch.setattr(ranking, "_MANY", 30)
    shelf = shelf_of(*(1 + slot // 4 for slot in range(400)))
    everyone = list(range(400))
    evidence = evidence_of(shelf, everyone[::2], everyone[::3], [120])
    assert order(shelf, evidence)[0] == 120


def test_of_a_crowd_that_is_alike_the_latest_are_kept(monkeypatch):
    monkeypatch.setattr(ranking, "_PROMISING", 5)
    monkeypatch.setattr(ranking, "_CROWD", 15)
    shelf = shelf_of(*[0] * 50)
    assert sorted(order(shelf, evidence_of(shelf, list(range(50))))) == [45, 46, 47, 48, 49]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.data())
def test_the_best_are_as_many_as_asked_and_none_is_worse_than_one_left_out(values, data):
    count = data.draw(st.integers(1, len(values)))
    scores = np.array(values, np.float32)
    chosen = best(scores, count)
    rest = np.setdiff1d(np.arange(len(values)), chosen)
    assert len(set(chosen.tolist())) == count
    assert not len(rest) or scores[chosen].min() >= scores[rest].max()
    for limit in {scores[chosen].min()}:
        equal_in, equal_out = chosen[scores[chosen] == limit], rest[scores[rest] == limit]
        assert not len(equal_out) or equal_in.min() > equal_out.max()


@pytest.mark.parametrize("fusion", ["weights", "rrf"])
@given(st.data())
def test_any_evidence_is_ranked_in_falling_order_without_repetition(fusion, data):
    sessions = sorted(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=12)))
    shelf = shelf_of(*sessions)
    slots = st.lists(st.integers(0, len(sessions) - 1), unique=True).map(sorted)
    near = data.draw(slots)
    eligible = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(shelf), max_size=len(shelf)))
    )
    near = [slot for slot in near if eligible[slot]]
    words_ = [have for have in data.draw(st.lists(slots, max_size=3)) if have]
    ranked = rank(
        shelf, evidence_of(shelf, *words_, near=near, eligible=eligible), RankingWeights(), limit=5,
        fusion=fusion,
    )  # fmt: skip
    assert len(set(ranked.slots.tolist())) == len(ranked.slots) <= 5
    assert np.all(np.diff(ranked.scores) <= 0)
    assert eligible[ranked.slots].all()
