from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.ids import beside, new_id, scoped, session_id, shown
from long_running_agents.errors import UsageError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
MOMENTS = st.integers(min_value=0, max_value=70_000).map(lambda days: EPOCH + timedelta(days=days))


@given(MOMENTS, st.timedeltas(min_value=timedelta(milliseconds=1), max_value=timedelta(days=9999)))
def test_ids_sort_by_the_time_they_were_made(earlier, pause):
    assert new_id("turn", earlier) < new_id("turn", earlier + pause + timedelta(milliseconds=1))


def test_ids_of_one_moment_are_unique():
    assert len({new_id("turn", NOON) for _ in range(10_000)}) == 10_000


def test_ids_say_what_they_are_and_have_one_length():
    assert new_id("task", NOON).startswith("task_")
    assert {len(new_id("task", NOON + timedelta(days=days))) for days in range(0, 9999, 99)} == {25}


@pytest.mark.parametrize("text", ["a", "my-session", "2026.01.05_notes", "A" * 100, "7"])
def test_plain_names_are_session_ids(text):
    assert session_id(text) == text


@pytest.mark.parametrize(
    "text",
    ["", " ", "a b", ".hidden", "-dash", "_low", "a/b", "../up", "a\n", "ä", "A" * 101, "a\x00b"],
)
def test_names_that_could_be_paths_or_flags_are_refused_with_the_rule(text):
    with pytest.raises(UsageError, match="not accepted: use up to 100 letters"):
        session_id(text)


OWNERS = st.text(st.sampled_from("ab~-."), min_size=1, max_size=5)
CHOSEN = st.from_regex(r"[ab7][ab7._-]{0,4}", fullmatch=True)


@given(st.tuples(OWNERS, CHOSEN), st.tuples(OWNERS, CHOSEN))
def test_no_two_owners_meet_under_one_key_and_each_is_shown_what_they_chose(one, other):
    keys = [scoped(owner, "a", name) for owner, name in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)
    assert [shown(key) for key in keys] == [one[1], other[1]]


def test_whoever_the_home_belongs_to_has_the_ids_as_they_are():
    assert scoped("anne", "anne", "talk") == "talk"
    assert beside(scoped("bob", "anne", "talk"), NOON).startswith("bob~session_")
    assert beside(scoped("anne", "anne", "talk"), NOON).startswith("session_")
