import pytest

from long_running_agents.skills.trial import complaints, equal

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


NAMED = {
    "properties": {"format": {"$ref": "#/$defs/word"}, "kind": {"const": {"format": 1}}},
    "additionalProperties": False,
    "$defs": {"word": {"type": "string"}},
}


def test_names_and_data_are_no_keywords_and_references_are_followed():
    assert complaints(NAMED, {"format": "a", "kind": {"format": 1}}) == ""
    assert complaints(NAMED, {"format": 7}) == "format: 7 is not of type 'string'"


def test_what_a_pattern_would_allow_is_not_too_much():
    schema = {"patternProperties": {"^x": {}}, "additionalProperties": False}
    assert complaints(schema, {"x1": 1}) == ""


def doubling(times):
    """A small schema that says everything twice, and again."""
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(times)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, f"d{times}": {"type": "string"}}}


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"$ref": "#/$defs/missing"}, {"$ref": "http://127.0.0.1:9/x"}, doubling(60)],
)
def test_references_end_and_nothing_is_fetched(schema):
    assert "the schema refers to" in complaints(schema, "x")


def test_a_tree_may_refer_to_itself():
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["name"]}
    assert complaints(tree, {"name": 1, "next": {"name": 2}}) == ""
    assert "next" in complaints(tree, {"name": 1, "next": {}})


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
