"""Schemas of foreign tools, brought into a shape that nothing of ours stumbles over.

References are put in place once, within a bound: a few lines that refer to each other could
otherwise grow to millions wherever they are read.
"""

from typing import Any, cast

from long_running_agents.mcp.texts import readable

Json = dict[str, Any]

MOST_NODES = 2000
_DEEPEST = 20
_LONGEST = 500
_MOST_VALUES = 500

_MAPS = ("properties", "patternProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "contains", "propertyNames")
_TEXTS = ("title", "description", "format", "pattern")
_NUMBERS = frozenset(
    {
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
        "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
    }
)  # fmt: skip


class UnusableSchema(ValueError):
    """A schema that is too large, too deep, or none."""


def settled(schema: object) -> Json:
    """The same schema in known keywords, without references.

    Raises:
        UnusableSchema: It is too large or too deep, or does not describe an object.
    """
    found = _Walk(schema).node(schema, (), 0)
    if found.setdefault("type", "object") != "object":
        raise UnusableSchema("its arguments are not an object")
    found.setdefault("properties", {})
    return found


class _Walk:
    def __init__(self, root: object) -> None:
        self._left = MOST_NODES
        self._definitions: Json = {}
        for place in ("definitions", "$defs"):
            named: object = cast("Json", root).get(place) if isinstance(root, dict) else None
            pairs = _items(cast("object", named)) if isinstance(named, dict) else []
            self._definitions |= {f"#/{place}/{key}": value for key, value in pairs}

    def node(self, schema: object, inside: tuple[str, ...], depth: int) -> Json:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise UnusableSchema("its schema is too large")
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if not isinstance(schema, dict):
            raise UnusableSchema("its schema is not valid")
        given = cast("Json", schema)
        reference = given.get("$ref")
        if reference is not None:
            return self._referred(str(reference), given, inside, depth)
        found: Json = {}
        for key, value in _items(given):
            found |= self._keyword(key, value, inside, depth + 1)
        return found

    def _referred(self, name: str, given: Json, inside: tuple[str, ...], depth: int) -> Json:
        beside = {key: value for key, value in _items(given) if key != "$ref"}
        target = self._definitions.get(name)
        if not isinstance(target, dict) or name in inside:
            # What cannot be put in place can be anything.
            return self.node(beside, inside, depth + 1)
        return self.node({**cast("Json", target), **beside}, (*inside, name), depth + 1)

    def _keyword(self, key: str, value: Any, inside: tuple[str, ...], depth: int) -> Json:
        if key in _MAPS and isinstance(value, dict):
            pairs = _items(cast("object", value))
            return {key: {name: self.node(item, inside, depth) for name, item in pairs}}
        if key in (*_LISTS, "items") and isinstance(value, list):
            nodes = [self.node(item, inside, depth) for item in cast("list[object]", value)]
            return {"prefixItems" if key == "items" else key: nodes} if nodes else {}
        value = cast("object", value)
        if key in _SINGLE:
            plain = isinstance(value, bool) and key == "additionalProperties"
            return {key: value if plain else self.node(value, inside, depth)}
        return {key: value} if _plain(key, value) else self._other(key, value)

    def _other(self, key: str, value: object) -> Json:
        if key in _TEXTS and isinstance(value, str):
            return {key: readable(value, _LONGEST)}
        if key in ("const", "default") and isinstance(value, str | int | float | bool):
            return {key: readable(value, _LONGEST) if isinstance(value, str) else value}
        return {}


def _plain(key: str, value: object) -> bool:
    """Whether a keyword has a value that can be left as it is."""
    if key in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if key == "type" and isinstance(value, str):
        return len(value) <= _LONGEST
    if key in ("type", "required", "enum") and isinstance(value, list):
        values = cast("list[object]", value)
        kinds = str | int | float | bool | None if key == "enum" else str
        return len(values) <= _MOST_VALUES and all(
            isinstance(item, kinds) and len(str(item)) <= _LONGEST for item in values
        )
    return False


def _items(table: object) -> list[tuple[str, object]]:
    return [(str(key), value) for key, value in cast("dict[object, object]", table).items()]
