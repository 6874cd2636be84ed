import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.mcp import base
from long_running_agents.mcp.base import Program, ServerSpec, readable
from long_running_agents.mcp.tools import MOST_TOOLS, UnusableSchema, listed, settled

EMPTY = {"type": "object"}


def spec(name="files", **terms):
    return ServerSpec(name=name, way=Program(command="x"), **terms)


def offered(spec, *tools, taken=()):
    found = listed(spec, [(tool, "", EMPTY) for tool in tools], taken)
    return [offer.name for offer in found.offers]


@given(st.text(min_size=1, max_size=40), st.text(max_size=200))
def test_every_name_is_one_that_every_provider_takes(server, tool):
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", base.exposed(server, tool))


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("git", "log", "git_log"),
        ("my server", "a.b/c", "my_server_a_b_c"),
        ("1password", "get", "mcp_1password_get"),
    ],
)
def test_a_tool_is_called_after_its_server(server, tool, name):
    assert base.exposed(server, tool) == name


def test_long_names_stay_different():
    one, other = (base.exposed("s", f"{'x' * 80}{end}") for end in "ab")

    assert one != other
    assert len(one) == len(other) == base.LONGEST


def test_only_what_is_allowed_and_not_denied_is_offered():
    terms = spec(allow=("read_*", "w?ite"), deny=("*_secret",))

    assert offered(terms, "read_a", "read_secret", "write", "other") == [
        "files_read_a",
        "files_write",
    ]
    assert offered(spec(allow=()), "read") == []
    assert offered(spec(allow=("[ab]",)), "a", "[ab]") == ["files__ab_"]


def test_no_tool_takes_the_name_of_another():
    assert offered(spec(), "a.b", "a/b", "read", taken={"files_read"}) == ["files_a_b"]


def test_a_name_made_shorter_cannot_slip_past_the_approval():
    long = f"{'x' * 80}_delete"
    found = listed(spec(require_approval=("*_delete",)), [(long, "", EMPTY)], ())

    assert found.offers == ()
    assert found.refused[0].reason == "its name is too long for require_approval"


def test_there_is_a_bound_for_how_many_tools_a_server_offers():
    assert len(offered(spec(), *map(str, range(MOST_TOOLS + 5)))) == MOST_TOOLS


def test_a_description_is_marked_bounded_and_visible():
    [offer] = listed(spec(), [("t", f"Reads{chr(0x200B)}\x1b[2J. " * 10_000, EMPTY)], ()).offers

    assert offer.description.startswith("[From the foreign server 'files'] Reads")
    assert len(offer.description) < 1100
    assert not re.search("[\u200b\x1b]", offer.description)


@given(st.text())
def test_readable_text_is_never_longer_than_asked(text):
    assert len(readable(text, 10)) <= 10


def test_a_short_text_is_left_as_it_is():
    assert readable("Añadir\n二", 20) == "Añadir\n二"


def test_a_schema_keeps_what_a_model_needs():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "mode": {"enum": ["a", "b"], "description": "Which."},
            "depth": {"type": "integer", "minimum": 0, "default": 1},
            "many": {"type": "array", "items": {"type": "string"}},
            "any": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["mode"],
        "additionalProperties": False,
    }

    assert settled(schema) == {key: value for key, value in schema.items() if key != "$schema"}


def test_references_are_put_in_place_and_circles_end():
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}, "far": {"$ref": "https://evil.example/"}},
        "$defs": {
            "node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}},
        },
    }

    assert settled(schema)["properties"] == {
        "tree": {"type": "object", "properties": {"child": {}}},
        "far": {},
    }


def bomb(wide, deep):
    definitions = {
        str(level): {"anyOf": [{"$ref": f"#/$defs/{level + 1}"}] * wide} for level in range(deep)
    }
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/0"}}, "$defs": definitions}


def referring(often):
    """Many properties at the end of a chain of references: small to write, large to settle."""
    chain = {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(10)} | {"10": {"type": "string"}}
    properties = {str(number): {"$ref": "#/$defs/0"} for number in range(often)}
    return {"type": "object", "properties": properties, "$defs": chain}


def nested(deep):
    schema = {}
    for _ in range(deep):
        schema = {"properties": {"x": schema}}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        bomb(10, 10),
        nested(200),
        {"properties": {str(number): {} for number in range(5000)}},
        {"type": "array"},
        {"properties": {"x": 5}},
        {"properties": {"x": {"items": "string"}}},
        {"properties": {"x": {"not": [{}]}}},
        {"additionalProperties": [{"type": "string"}]},
        referring(500),
        [],
        None,
    ],
)
def test_a_schema_that_is_none_or_has_no_end_is_refused(schema):
    with pytest.raises(UnusableSchema):
        settled(schema)


KEYWORDS = (
    "type", "properties", "items", "anyOf", "$ref", "$defs", "enum", "x", "not", "contains",
    "additionalProperties", "propertyNames",
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYWORDS),
            inner,
            max_size=4,
        )
    ),
)


@given(JSON)
def test_whatever_comes_is_settled_or_refused(schema):
    try:
        found = settled(schema)
    except UnusableSchema:
        return
    assert found["type"] == "object"
    assert all(isinstance(each, dict) for each in found["properties"].values())
    json.dumps(found)
