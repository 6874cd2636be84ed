import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain import context_window
from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.domain.context_window import (
    ConversationSizes,
    HistoryCut,
    MessageRole,
    MessageSizes,
    allot,
    calibrated,
    enough,
    first_sentence,
    room,
    weight,
    window_after_refusal,
)


def size(items, cut, space):
    return ConversationSizes(items).size(cut, space)


def advance(cut, items, space):
    return context_window.advance(cut, ConversationSizes(items), space)


def retrace(items, space):
    return context_window.retrace(ConversationSizes(items), space)


START, ANSWER, RESULTS = MessageRole.START, MessageRole.ANSWER, MessageRole.RESULTS


def start(tokens=20):
    return MessageSizes(START, tokens, tokens, 0)


def exchange(result=100, aside=30, line=10):
    return [MessageSizes(ANSWER, 20, 20, line), MessageSizes(RESULTS, result, aside, line)]


def turn(steps, **sizes):
    items = [start()]
    for _ in range(steps):
        items += exchange(**sizes)
    return [*items, MessageSizes(ANSWER, 20, 20, 10)]


def running(steps, **sizes):
    return turn(steps, **sizes)[:-1]


def test_a_window_is_shared_out():
    small = allot(4096)
    assert (small.prompt, small.tools, small.result) == (3072, 1024, 1600)
    assert allot(4096, max_output=500).prompt == 3596
    assert allot(4096, max_output=100_000).prompt == 2048
    assert allot(400_000).prompt == 384_000


def test_what_is_left_shrinks_when_tokens_turn_out_shorter_than_thought():
    assert room(allot(4096), 1000, 1.0) == 2072
    assert room(allot(4096), 1000, 1.45) == room(allot(4096), 1000, 1.5) == 1048
    assert enough(room(allot(4096), 1000, 1.0))
    assert not enough(room(allot(4096), 3000, 1.0))


def test_scripts_that_need_more_tokens_weigh_more():
    assert estimate_tokens(weight("word " * 30)) == 51
    assert estimate_tokens(weight("字" * 30)) == 31


def test_what_fits_is_left_alone():
    items = running(5)
    assert advance(HistoryCut(), items, size(items, HistoryCut(), 0)) == HistoryCut()


def test_the_oldest_results_are_put_aside_first():
    cut = advance(HistoryCut(), running(10), 1200)
    assert cut.first == cut.folded == 0
    assert 0 < cut.aside <= 17
    assert size(running(10), cut, 1200) <= 900


def test_then_turns_are_left_out_the_oldest_first():
    items = [*turn(3), *turn(3), *turn(3), *running(1)]
    cut = advance(HistoryCut(), items, 500)
    assert items[cut.first].role is START
    assert cut.folded <= cut.first
    assert size(items, cut, 500) <= 250


def test_then_steps_of_the_running_turn_become_one_line_each():
    items = [*turn(3), *running(40, result=40)]
    cut = advance(HistoryCut(), items, 600)
    assert items[cut.first].role is START
    assert cut.first == 8
    assert items[cut.folded].role is ANSWER
    assert size(items, cut, 600) <= 300


def test_the_cut_moves_by_leaps():
    cut, moves = HistoryCut(), 0
    for steps in range(1, 200):
        items = running(steps, result=40)
        moved = advance(cut, items, 2000)
        moves += moved != cut
        assert size(items, moved, 2000) <= 2000
        cut = moved
    assert moves <= 15


def test_a_restart_finds_the_cut_its_predecessor_had():
    cut = HistoryCut()
    items = [*turn(2), *turn(2), *running(60)]
    for length, item in enumerate(items, start=1):
        if item.role is not ANSWER:
            cut = advance(cut, items[:length], 1500)
    assert retrace(items, 1500) == cut != HistoryCut()


ITEMS = st.builds(
    lambda earlier, now: [item for one in earlier for item in turn(**one)] + running(**now),
    st.lists(st.fixed_dictionaries({"steps": st.integers(0, 6), "result": st.integers(1, 900)})),
    st.fixed_dictionaries({"steps": st.integers(0, 30), "result": st.integers(1, 900)}),
)


@given(ITEMS, st.integers(256, 5000))
def test_whatever_can_fit_fits_and_nothing_is_torn(items, space):
    cut = retrace(items, space)
    assert items[cut.first].role is START
    assert cut.folded <= cut.first or items[cut.folded].role is ANSWER
    last = max(place for place, item in enumerate(items) if item.role is START)
    assert cut.first <= last
    if ConversationSizes(items).least() <= space:
        assert size(items, cut, space) <= space


def test_a_very_long_turn_is_retraced_in_no_time():
    items = running(20_000, result=400)
    cut = retrace(items, 2000)
    assert len(items) - cut.folded < 20
    assert size(items, cut, 2000) <= 2000


def test_the_ratio_follows_reports_up_at_once_and_down_slowly():
    assert calibrated(1.0, 1000, 1500) == 1.5
    assert calibrated(1.5, 1000, 1000) == pytest.approx(1.4)
    assert calibrated(1.0, 1000, 90_000) == 3.0
    assert calibrated(0.7, 1000, 1) == pytest.approx(0.7)
    assert calibrated(1.2, 1000, 0) == 1.2


@pytest.mark.parametrize(
    ("said", "window"),
    [
        ("maximum context length is 4096 tokens, you requested 9000 tokens", 4096),
        ("the request exceeds the available context size (2048 tokens)", 2048),
        ("prompt is too long", 6000),
        ("prompt is too long by 100 tokens", 6000),
    ],
)
def test_a_refusal_names_the_window_or_is_taken_as_a_hint(said, window):
    assert window_after_refusal(said, 8000) == window


def test_a_description_in_short():
    assert first_sentence("Reads a file. And more.\nArgs: x") == "Reads a file."
    assert first_sentence("Version 1.2 reads\nfiles") == "Version 1.2 reads"
