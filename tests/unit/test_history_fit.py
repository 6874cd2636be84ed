from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.agent.history import fit
from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.store.messages import StoredMessage

TURNS = st.lists(
    st.lists(st.integers(min_value=0, max_value=300), min_size=1, max_size=5),
    min_size=1,
    max_size=8,
)


def log(turns):
    """Turns whose steps ask and answer with bodies of some length."""
    return [
        [
            StoredMessage(step=step, kind=kind, body="x" * size)
            for step, size in enumerate(sizes, 1)
            for kind in ("request", "response")
        ]
        for sizes in turns
    ]


def tokens(messages):
    return sum(estimate_tokens(len(message.body)) for message in messages)


@given(TURNS, st.integers(min_value=0, max_value=2000))
def test_as_many_whole_turns_as_fit_are_shown_and_the_newest_always(turns, limit):
    turns = log(turns)
    shown = fit([message for turn in turns for message in turn], limit)

    kept = next(n for n in range(1, len(turns) + 1) if sum(turns[-n:], []) == shown)  # noqa: RUF017 - short lists
    assert kept == 1 or tokens(shown) <= limit
    assert kept == len(turns) or tokens(shown) + tokens(turns[-kept - 1]) > limit


def test_an_empty_log_is_shown_as_it_is():
    assert fit([], 10) == []
