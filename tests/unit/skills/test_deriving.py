import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from long_running_agents.skills.trial import sample_calls


def schema(required=None, **properties):
    wanted = list(properties) if required is None else required
    return {
        "type": "object",
        "properties": properties,
        "required": wanted,
        "additionalProperties": False,
    }


def values(**properties):
    return [next(iter(example.args.values())) for example in sample_calls(schema(**properties))]


NUMBERS = {"type": "array", "items": {"type": "number"}}


def test_a_function_without_parameters_gets_one_empty_call():
    found = sample_calls(schema())
    assert [example.args for example in found] == [{}]
    assert found[0].derived


def test_the_typical_call_has_a_rising_list_and_the_default():
    first, second, *others = sample_calls(
        schema(["prices"], prices=NUMBERS, period={"type": "integer", "default": 14})
    )
    prices = first.args["prices"]
    assert first.args["period"] == 14
    assert len(prices) > 14
    assert prices[-1] > prices[0]
    assert any(later < earlier for earlier, later in itertools.pairwise(prices))
    assert list(second.args) == ["prices"]
    assert {"prices": [], "period": 0} in [example.args for example in others]
    assert any(example.args["period"] < 0 for example in others)


def test_there_are_never_more_than_six_and_none_is_there_twice():
    found = sample_calls(schema(a={"type": "integer"}, b={"type": "string"}, c=NUMBERS))
    texts = [json.dumps(example.args) for example in found]
    assert 2 <= len(texts) <= 6
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("url", "https://"),
        ("start_date", "2024-"),
        ("email", "@"),
        ("text", "fox"),
        ("input_text", "fox"),
        ("path", "/"),
        ("period", "month"),
        ("emails", "@"),
    ],
)
def test_a_name_helps_to_choose_a_text(name, words):
    assert words in values(**{name: {"type": "string"}})[0]


def test_a_name_helps_to_choose_a_number():
    assert values(count={"type": "integer"})[0] == 3
    assert values(latitude={"type": "number"})[0] == 52.52


@pytest.mark.parametrize(
    "one",
    [
        {"type": "integer", "minimum": 5, "maximum": 6},
        {"type": "integer", "exclusiveMinimum": 0},
        {"type": "integer", "multipleOf": 4, "maximum": 90},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "number", "minimum": 0.2, "maximum": 0.2},
        {"type": "string", "minLength": 50},
        {"type": "string", "maxLength": 3},
        {"type": "string", "enum": ["a", "b", "c"]},
        {"const": 3},
        {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 4},
        {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}],
         "minItems": 2, "maxItems": 2},
        {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        {"type": "array"},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
         "additionalProperties": False},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"type": "boolean"},
        {"type": "null"},
        {},
        {"type": ["integer", "null"]},
    ],
)  # fmt: skip
def test_every_call_is_one_that_the_schema_takes(one):
    whole = schema(value=one)
    found = sample_calls(whole)
    assert found
    assert all(Draft202012Validator(whole).is_valid(example.args) for example in found)
    assert found == sample_calls(whole)


def test_what_may_be_none_is_none_once():
    assert None in values(limit={"anyOf": [{"type": "integer"}, {"type": "null"}]})


def test_a_schema_that_nothing_fits_gets_no_calls():
    assert sample_calls(schema(a={"type": "integer", "minimum": 5, "maximum": 1})) == ()


_SIMPLE = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number", "string", "boolean", "null"])},
    optional={"minimum": st.integers(-9, 9), "maxLength": st.integers(0, 9)},
)
_SCHEMAS = st.recursive(
    _SIMPLE,
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=5,
)


@given(st.dictionaries(st.text("abcdeurl_", min_size=1, max_size=8), _SCHEMAS, max_size=4))
def test_any_schema_of_a_signature_gets_calls_that_fit(properties):
    whole = schema(**properties)
    for example in sample_calls(whole):
        Draft202012Validator(whole).validate(example.args)
        json.dumps(example.args, allow_nan=False)
