import pytest
from tests.unit.skills.reviewing import RSI, function, messages, reviewed


def declared(properties, **more):
    return {"type": "object", "properties": properties, **more}


ARRAY = {"type": "array", "items": {"type": "number"}}


def test_descriptions_and_stricter_keywords_are_taken_over():
    found = reviewed(
        RSI,
        input_schema=declared(
            {
                "prices": {
                    "type": "array",
                    "items": {"type": "number", "minimum": 0},
                    "minItems": 2,
                },
                "period": {"type": "integer", "minimum": 1, "description": "Days."},
            },
            required=["prices"],
        ),
        output_schema={"type": "array", "description": "One value."},
    )
    assert found.findings == ()
    assert found.interface.parameters["properties"] == {
        "prices": {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2},
        "period": {"type": "integer", "default": 14, "minimum": 1, "description": "Days."},
    }
    assert found.interface.parameters["additionalProperties"] is False
    assert found.interface.returns == {
        "type": "array",
        "items": {"type": "number"},
        "description": "One value.",
    }
    assert all(example.args.get("period", 14) >= 1 for example in found.examples)


def test_a_result_that_may_be_anything_can_be_declared():
    found = reviewed(function(returns="Any"), output_schema={"type": "string"})
    assert found.interface.returns == {"type": "string"}
    assert reviewed(function(returns="Any")).interface.returns is None


def test_a_reference_within_the_schema_is_put_in_place():
    schema = declared(
        {"prices": ARRAY, "period": {"$ref": "#/$defs/Days"}},
        **{"$defs": {"Days": {"type": "integer", "maximum": 99}}},
    )
    found = reviewed(RSI, input_schema=schema)
    assert found.interface.parameters["properties"]["period"]["maximum"] == 99
    assert "$defs" not in found.interface.parameters


def test_a_choice_may_become_narrower_and_not_wider():
    source = function(hint="text: Literal['a', 'b']")
    narrow = reviewed(source, input_schema=declared({"text": {"enum": ["b"]}}))
    assert narrow.interface.parameters["properties"]["text"]["enum"] == ["b"]
    assert "disagree" in messages(
        reviewed(source, input_schema=declared({"text": {"enum": ["c"]}}))
    )


def test_one_of_several_kinds_may_be_narrowed():
    branch = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}
    found = reviewed(function(hint="a: int | None"), input_schema=declared({"a": branch}))
    assert found.interface.parameters["properties"]["a"] == branch


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (declared({"prices": ARRAY}), "not the same: period"),
        (declared({"prices": ARRAY, "period": {}, "more": {}}), "not the same: more"),
        (declared({}, required=["prices", "period"]), "do not agree: period"),
        (declared({"prices": ARRAY, "period": {"type": "string"}}), "integer in the signature"),
        (
            declared({"prices": {"type": "array", "items": {"type": "string"}}, "period": {}}),
            "number",
        ),
        (declared({"prices": ARRAY, "period": {"default": 3}}), "'default' of period"),
        (declared({"prices": ARRAY, "period": {"maximum": 10}}), "default of period does not fit"),
        ({"type": "array"}, "not about an object"),
        ({"type": "nonsense"}, "no JSON Schema"),
        ({"properties": {"x": {"$ref": "https://example.com/x"}}}, "outside of itself"),
        ({"properties": {"x": {"$ref": "#/properties/y"}}}, "outside of itself"),
        ({"properties": {"x": {"pattern": "(a+)+$"}}}, "take for ever"),
        ({"x": {1, 2}}, "JSON has no set"),
        ({"x": float("nan")}, "no finite number"),
        ({1: 2}, "no string"),
        ([], "no JSON object"),
        ({"x": "y" * 30_000}, "too large"),
    ],
)
def test_a_schema_that_says_something_else_is_an_error(schema, words):
    found = reviewed(RSI, input_schema=schema)
    assert found.errors
    assert words in messages(found)


def test_a_schema_inside_of_itself_ends_somewhere():
    ring: dict = {"type": "object"}
    ring["properties"] = {"prices": ring}
    assert "nested too deeply" in messages(reviewed(RSI, input_schema=ring))
    loop = {"$defs": {"A": {"$ref": "#/$defs/A"}}, "properties": {"prices": {"$ref": "#/$defs/A"}}}
    assert reviewed(RSI, input_schema=loop).errors


def test_the_result_may_not_be_declared_as_something_else():
    found = reviewed(RSI, output_schema={"type": "string"})
    assert "the type of the result is string, and array in the signature" in messages(found)
