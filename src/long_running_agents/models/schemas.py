"""JSON schemas for servers that understand only the plain ones."""

from collections.abc import Mapping
from typing import Any, cast

Json = dict[str, Any]

_DROPPED = frozenset(
    {
        "$defs", "definitions", "$schema", "$id", "$comment", "title", "examples", "default",
        "additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties",
        "discriminator", "if", "then", "else", "not", "dependentRequired",
        "dependentSchemas", "contentMediaType", "contentEncoding", "readOnly", "writeOnly",
    }
)  # fmt: skip
"""Keywords that some server refuses, and that no model needs to call a tool."""


def simple(schema: Json) -> Json:
    """The same schema without references and without keywords that servers refuse."""
    definitions: Json = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    return _simple(schema, definitions, ())


def _simple(schema: Json, definitions: Mapping[str, Any], inside: tuple[str, ...]) -> Json:
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _inlined(reference, schema, definitions, inside)
    plain: Json = {}
    for key, value in schema.items():
        if key == "properties":
            plain[key] = {name: _node(item, definitions, inside) for name, item in value.items()}
        elif key in ("anyOf", "oneOf", "allOf"):
            options = _node(value, definitions, inside)
            # An alternative that only says what is required says nothing about a value.
            if kept := [option for option in options if set(option) - {"required"}]:
                plain["anyOf" if key == "oneOf" else key] = kept
        elif key == "const":
            plain["enum"] = [value]
        elif key not in _DROPPED:
            plain[key] = _node(value, definitions, inside)
    return plain


def _inlined(
    reference: str, schema: Json, definitions: Mapping[str, Any], inside: tuple[str, ...]
) -> Json:
    name = reference.rpartition("/")[2]
    found = definitions.get(name)
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    if not isinstance(found, dict) or name in inside:
        return _simple(beside, definitions, inside)
    merged: Json = {**cast("Json", found), **beside}
    return _simple(merged, definitions, (*inside, name))


def _node(value: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return _simple(cast("Json", value), definitions, inside)
    if isinstance(value, list):
        return [_node(item, definitions, inside) for item in cast("list[Any]", value)]
    return value
