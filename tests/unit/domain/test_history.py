from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.context_window import HistoryWindow

WINDOWS = st.integers(min_value=1, max_value=500)
TOTALS = st.integers(min_value=0, max_value=100_000)


@given(WINDOWS, TOTALS)
def test_never_more_than_the_window_is_shown_and_never_less_than_half(size, total):
    shown = total - HistoryWindow(size).first(total)

    assert shown <= size
    assert shown >= min(total, size // 2)


@given(WINDOWS, TOTALS)
def test_the_view_moves_forward_in_half_window_blocks(size, total):
    before, after = HistoryWindow(size).first(total), HistoryWindow(size).first(total + 1)
    block = max(1, size // 2)

    assert before % block == 0
    assert after - before in (0, block)


def test_the_beginning_stays_the_same_for_half_a_window_of_messages():
    window = HistoryWindow(200)

    assert [window.first(n) for n in (0, 200, 201, 300, 301)] == [0, 0, 100, 100, 200]
