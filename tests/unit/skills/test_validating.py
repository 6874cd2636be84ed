import pytest

from long_running_agents.skills.validating import complaints, equal

PERIOD = {
    "type": "object",
    "properties": {"period": {"type": "integer"}},
    "required": ["period"],
    "additionalProperties": False,
}


def test_data_that_fits_has_nothing_wrong():
    assert complaints(PERIOD, {"period": 3}) == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"period": "3"}, "period: '3' is not of type 'integer'"),
        ({}, "'period' is a required property"),
        ({"period": 3, "rest": 1}, "rest"),
    ],
)
def test_what_does_not_fit_is_named(given, said):
    assert said in complaints(PERIOD, given)


def test_anything_fits_where_nothing_is_said():
    assert complaints(None, object()) == ""


def test_a_pattern_of_somebody_else_is_not_run():
    evil = {"type": "string", "pattern": "^(a+)+$"}
    assert complaints(evil, "a" * 40 + "!") == ""


def test_a_schema_without_a_bottom_is_read_as_far_as_it_goes():
    deep = {"type": "integer"}
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    assert complaints(deep, []) == ""


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (0.1 + 0.2, 0.3, True),
        (1, 1.0, True),
        (1, True, False),
        ([1, [2]], [1, [2]], True),
        ([1, 2], [1], False),
        ({"a": 1.0}, {"a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ("a", "b", False),
        (None, None, True),
    ],
)
def test_results_are_equal_but_for_the_last_digits(one, other, alike):
    assert equal(one, other) is alike
