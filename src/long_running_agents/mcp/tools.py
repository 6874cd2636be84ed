"""Which tools of a server are offered, under which names, with which JSON schema."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from long_running_agents.domain.json_schema import NAMED, References
from long_running_agents.domain.tool import Claim
from long_running_agents.mcp import base
from long_running_agents.mcp.base import Listing, OfferedTool, RefusedTool, ServerSpec, readable

Json = dict[str, Any]

MOST_NODES = 2000
_DEEPEST = 20
_LONGEST = 500
_MOST_VALUES = 500

_INSIDE: dict[str, type] = {
    **dict.fromkeys(("properties", "patternProperties"), dict),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), list),
    **dict.fromkeys(("items", "additionalProperties", "not", "contains", "propertyNames"), object),
}
"""The keywords with schemas in them, and what these have to be."""
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
    found = _Walk(References.of(schema)).node(schema, (), 0)
    if found.setdefault("type", "object") != "object":
        raise UnusableSchema("its arguments are not an object")
    found.setdefault("properties", {})
    return found


class _Walk:
    def __init__(self, known: References) -> None:
        self._known = known
        self._left = MOST_NODES

    def node(self, schema: object, followed: tuple[str, ...], depth: int) -> Json:
        self._spend(1, depth)
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if not isinstance(schema, dict):
            raise UnusableSchema("its schema is not valid")
        given = {str(key): each for key, each in cast("Json", schema).items()}
        given, inside = self._known.resolved(given, followed)
        # What is referred to is as dear as what is written out.
        hops = len(inside) - len(followed)
        self._spend(hops, depth + hops)
        found: Json = {}
        for key, value in given.items():
            found |= self._keyword(str(key), value, inside, depth + hops + 1)
        return found

    def _spend(self, nodes: int, depth: int) -> None:
        self._left -= nodes
        if self._left < 0 or depth > _DEEPEST:
            raise UnusableSchema("its schema is too large")

    def _keyword(self, key: str, value: Any, followed: tuple[str, ...], depth: int) -> Json:
        if key not in _INSIDE or (key == "additionalProperties" and isinstance(value, bool)):
            plain = key in _INSIDE or _plain(key, value)
            return {key: value} if plain else self._other(key, value)
        if not isinstance(value, _INSIDE[key]):
            return {}
        if isinstance(value, list) and (key == "items" or _INSIDE[key] is list):
            listed = [self.node(item, followed, depth) for item in cast("list[object]", value)]
            return {"prefixItems" if key == "items" else key: listed} if listed else {}
        if key in NAMED:
            named = cast("Json", value).items()
            return {key: {name: self.node(each, followed, depth) for name, each in named}}
        return {key: self.node(cast("object", value), followed, depth)}

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


MOST_TOOLS = 100
LONGEST_DESCRIPTION = 1000
LARGEST_SCHEMA = 20_000
_LONGEST_NAME = 200


def listed(
    spec: ServerSpec,
    tools: Iterable[tuple[str, str, Mapping[str, Any]]],
    taken: Collection[str],
    claims: Mapping[str, Claim | None] | None = None,
) -> Listing:
    """Choose among the tools that a server has: each one's own name, description and schema.

    None may have a name that is taken. Claims are what the server says of them, by their own names.
    """
    offers: dict[str, OfferedTool] = {}
    refused: list[RefusedTool] = []
    for tool, description, schema in tools:
        name = base.exposed(spec.name, tool)
        try:
            if reason := _objection(spec, tool, name, {*taken, *offers}):
                refused.append(RefusedTool(readable(tool, _LONGEST_NAME), reason))
            elif len(offers) == MOST_TOOLS:
                refused.append(RefusedTool(tool, f"more than {MOST_TOOLS} tools"))
            else:
                offers[name] = OfferedTool(
                    name=name,
                    tool=tool,
                    description=_described(spec.name, description),
                    schema=_bounded_schema(schema),
                    claim=(claims or {}).get(tool),
                )
        except UnusableSchema as error:
            refused.append(RefusedTool(tool, str(error)))
    return Listing(offers=tuple(offers.values()), refused=tuple(refused))


def _objection(spec: ServerSpec, tool: str, name: str, taken: Collection[str]) -> str:
    """Why a tool is not offered; empty when it is."""
    if not tool or len(tool) > _LONGEST_NAME:
        return "its name is empty or too long"
    if not spec.offers(tool):
        return "mcp.json does not allow it"
    if name in taken:
        return f"the name {name} is taken"
    asking = [base.pattern(spec.name, given) for given in spec.require_approval]
    if spec.asks(tool) and not base.fits(name, asking):
        # The gate knows the name that was made shorter, and must not overlook it.
        return "its name is too long for require_approval"
    return ""


def _described(server: str, description: str) -> str:
    """The server's words, marked as such."""
    text = readable(description.strip(), LONGEST_DESCRIPTION)
    return f"[From the foreign server {server!r}] {text}"


def _bounded_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = settled(dict(schema))
    if len(json.dumps(found)) > LARGEST_SCHEMA:
        raise UnusableSchema("its schema is too large")
    return found
