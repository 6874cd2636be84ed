from pydantic import BaseModel, Field

from long_running_agents.models.quirks import simple


class Leaf(BaseModel):
    """A leaf."""

    title: str = Field(default="x", examples=["y"], description="What it is called.")


class Tree(BaseModel):
    leaf: Leaf
    others: list[Leaf] = []
    parent: "Tree | None" = None


def test_references_are_replaced_by_what_they_mean():
    plain = simple(Tree.model_json_schema())
    leaf = plain["properties"]["leaf"]

    assert "$" not in str(plain)
    assert leaf["properties"] == {"title": {"type": "string", "description": "What it is called."}}
    assert plain["properties"]["others"]["items"] == leaf


def test_a_schema_that_contains_itself_comes_to_an_end():
    plain = simple(
        {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}}
    )

    assert plain == {"properties": {"a": {}}}


def test_what_stands_beside_a_reference_is_kept():
    schema = {
        "properties": {"a": {"$ref": "#/$defs/A", "description": "own"}},
        "$defs": {"A": {"type": "string", "description": "general"}},
    }

    assert simple(schema)["properties"]["a"] == {"type": "string", "description": "own"}


def test_a_reference_to_nothing_is_left_open():
    assert simple({"properties": {"a": {"$ref": "#/$defs/gone"}}}) == {"properties": {"a": {}}}


def test_alternatives_that_only_require_are_dropped():
    schema = {
        "type": "object",
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "properties": {"a": {"oneOf": [{"type": "string"}, {"required": ["x"]}]}},
    }

    assert simple(schema) == {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}]}},
    }


def test_a_constant_is_a_choice_of_one():
    assert simple({"const": "x", "title": "X"}) == {"enum": ["x"]}


def test_a_property_may_have_the_name_of_a_keyword():
    schema = {"properties": {"title": {"type": "string"}, "default": {"type": "integer"}}}

    assert simple(schema) == schema
