import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.text import parse
from long_running_agents.errors import UsageError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
)


@given(VALUES)
def test_what_is_json_is_taken_as_it_is(value):
    assert parse(json.dumps(value)) == value
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.binary(max_size=60) | st.text(alphabet='[]{}",:\\ud8019eE+-.NaInfty ', max_size=60))
def test_whatever_is_sent_is_a_value_that_can_be_stored_or_a_mistake(raw):
    try:
        value = parse(raw)
    except UsageError:
        return
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("NaN", "NaN is no number"),
        ("[-Infinity]", "-Infinity is no number"),
        ("1e999", "too large"),
        ('"\\ud800"', "half a character"),
        ('{"\\udc00": 1}', "half a character"),
        ("9223372036854775808", "64 bits"),
        ("9" * 10_000, "64 bits"),
        ('{"a": 1, "a": 1}', "twice"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff", "not UTF-8"),
        ("", "Expecting value"),
    ],
)
def test_a_mistake_is_named(text, why):
    with pytest.raises(UsageError, match=why):
        parse(text)


def test_a_whole_pair_is_a_character():
    assert parse('"\\ud83d\\ude00"') == "\U0001f600"
    assert parse("[9223372036854775807, -9223372036854775807]")[0] == 2**63 - 1
