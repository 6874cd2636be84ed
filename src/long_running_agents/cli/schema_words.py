"""A JSON Schema in words, for people who want to know what a tool takes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

Schema = Mapping[str, Any]

_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "nothing",
    "object": "object",
    "array": "list",
}
_DEEPEST = 6
"""Lists in lists that are told; deeper ones nobody reads."""
_CHOICES = 12


def arguments_in_words(parameters: Schema) -> list[tuple[str, str, str]]:
    """Each argument: its name, what it is, and what is said about it."""
    needed: list[str] = parameters.get("required") or []
    found: Mapping[str, Any] = parameters.get("properties") or {}
    return [_argument(name, about, parameters, name in needed) for name, about in found.items()]


def in_words(schema: object, whole: Schema | None = None) -> str:
    """What a value has to be.

    Args:
        schema: What is said about it.
        whole: The schema that this one is a part of, for what it refers to.
    """
    return _told(schema, whole or {}, 0)


def _argument(name: str, about: object, whole: Schema, needed: bool) -> tuple[str, str, str]:
    if not isinstance(about, Mapping):
        return name, in_words(about, whole), ""
    given = cast("Schema", about)
    words = in_words(given, whole)
    if needed:
        words = f"{words}, needed"
    elif given.get("default") is not None:
        words = f"{words}, else {_value(given['default'])}"
    return name, words, str(given.get("description") or "")


def _told(schema: object, whole: Schema, depth: int) -> str:
    if not isinstance(schema, Mapping) or not schema or depth > _DEEPEST:
        return "anything"
    given = cast("Schema", schema)
    reference = given.get("$ref")
    if isinstance(reference, str):
        definitions: Schema = whole.get("$defs") or {}
        return _told(definitions.get(reference.rpartition("/")[2]), whole, depth + 1)
    if "const" in given:
        return _value(given["const"])
    if isinstance(given.get("enum"), list):
        return _choice(cast("list[object]", given["enum"]))
    return " or ".join(dict.fromkeys(_alternatives(given, whole, depth))) or "anything"


def _alternatives(given: Schema, whole: Schema, depth: int) -> Iterator[str]:
    for key in ("anyOf", "oneOf"):
        for each in given.get(key) or ():
            yield _told(each, whole, depth + 1)
    kinds = given.get("type")
    for kind in [kinds] if isinstance(kinds, str) else kinds or ():
        yield _kind(str(kind), given, whole, depth)


def _kind(kind: str, given: Schema, whole: Schema, depth: int) -> str:
    if kind == "array" and given.get("items"):
        return f"list of {_told(given['items'], whole, depth + 1)}"
    if kind == "object" and given.get("properties"):
        return f"object with {', '.join(given['properties'])}"
    if kind == "object" and isinstance(given.get("additionalProperties"), Mapping):
        return f"object of {_told(given['additionalProperties'], whole, depth + 1)}"
    return _TYPES.get(kind, kind)


def _choice(values: list[object]) -> str:
    told = [_value(value) for value in values[:_CHOICES]]
    return ", ".join([*told, "…"] if len(values) > _CHOICES else told)


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
