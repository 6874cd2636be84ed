"""The walk through JSON schemas that all who read or change one share."""

from long_running_agents.domain.json_schema import References, mapped, nodes


def marked(schema):
    return {**schema, "seen": True}


def test_whatever_is_directly_inside_is_changed_once():
    schema = {
        "properties": {"enum": {"type": "string"}, "b": True},
        "anyOf": [{"type": "null"}, "word"],
        "unknown": [[{"pattern": "x"}]],
        "items": {"items": {}},
    }

    assert mapped(schema, marked) == {
        "properties": {"enum": {"type": "string", "seen": True}, "b": True},
        "anyOf": [{"type": "null", "seen": True}, "word"],
        "unknown": [[{"pattern": "x", "seen": True}]],
        "items": {"items": {}, "seen": True},
    }


def test_data_is_no_schema():
    schema = {"enum": [{"type": "x"}], "default": {"a": 1}, "const": {}, "examples": [{}]}
    assert mapped(schema, marked) == schema


def test_only_the_keywords_that_are_asked_for_are_looked_at():
    schema = {"properties": {"a": {}}, "items": {}}
    assert mapped(schema, marked, ("items",)) == {"properties": {"a": {}}, "items": {"seen": True}}


def test_every_node_is_found_with_its_depth():
    assert list(nodes({"a": [1, {}]})) == [({"a": [1, {}]}, 0), ([1, {}], 1), (1, 2), ({}, 2)]


def test_references_are_followed_until_they_would_be_inside_themselves():
    known = References.of(
        {"$defs": {"A": {"$ref": "#/$defs/B", "type": "a"}, "B": {"$ref": "#/$defs/A", "b": 1}}}
    )

    found, inside = known.resolved({"$ref": "#/$defs/A", "description": "own"})

    assert found == {"type": "a", "b": 1, "description": "own"}
    assert inside == ("A", "B")
    assert known.resolved({"$ref": "#/$defs/B"}, inside)[0] == {}


def test_only_so_many_references_are_put_in_place():
    known = References.of({"$defs": {"A": {"type": "a"}}})
    reference = {"$ref": "#/definitions/A"}

    found = [known.resolved(reference)[0] for _ in range(2_001)]

    assert found == [{"type": "a"}] * 2_000 + [{}]


def test_a_long_chain_of_references_comes_to_an_end():
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(10_000)}
    assert References.of({"$defs": chain}).resolved({"$ref": "#/$defs/d0"})[0] == {}
