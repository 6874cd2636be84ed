"""Calls to try a function with, made from nothing but the schema of its arguments."""

import json
import math
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, cast

from long_running_agents.domain.skill import Example, Json
from long_running_agents.skills.reviewing import plausible
from long_running_agents.skills.validating import complaints

_MOST = 6
_DEEPEST = 6
_TYPICAL_ITEMS = 16
"""Enough for a window of 14."""
_LARGER_ITEMS = 60
_LONGEST_TEXT = 2000


class _Manner(Enum):
    TYPICAL = auto()
    SMALL = auto()
    """Nothing, or as little as may be."""
    LARGE = auto()
    NEGATIVE = auto()
    """Below zero, and letters that are not English."""


def derived(parameters: Json) -> tuple[Example, ...]:
    """Up to six calls: a typical one, and some at the edges.

    Args:
        parameters: The schema of the arguments.
    """
    properties = cast("dict[str, Json]", parameters.get("properties", {}))
    required = set(cast("list[str]", parameters.get("required", [])))
    if not properties:
        return (Example(args={}, derived=True),)

    def all_in(manner: _Manner) -> Json:
        return {name: _value(schema, name, manner, 0) for name, schema in properties.items()}

    usual = all_in(_Manner.TYPICAL)
    settled = {
        name: value if properties[name].get("default") is None else properties[name]["default"]
        for name, value in usual.items()
    }
    calls = [
        settled,
        {name: value for name, value in usual.items() if name in required},
        all_in(_Manner.SMALL),
        all_in(_Manner.LARGE),
        all_in(_Manner.NEGATIVE),
        usual,
    ]
    return tuple(Example(args=args, derived=True) for args in _fitting(calls, parameters))[:_MOST]


def _fitting(calls: Sequence[Json], parameters: Json) -> list[Json]:
    """Those that the schema takes, each once."""
    found: dict[str, Json] = {}
    for args in calls:
        key = json.dumps(args, sort_keys=True)
        if key not in found and not complaints(parameters, args):
            found[key] = args
    return list(found.values())


def _value(schema: Json, name: str, manner: _Manner, depth: int) -> Any:
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return _choice(schema["enum"], manner)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches and "type" not in schema:
        return _value(_branch(branches, manner), name, manner, depth + 1)
    return _of_kind(schema, name, manner, depth)


def _of_kind(schema: Json, name: str, manner: _Manner, depth: int) -> Any:
    given = cast("object", schema.get("type", "string"))
    kind = cast("list[object]", given)[0] if isinstance(given, list) else given
    match kind:
        case "integer" | "number":
            whole = kind == "integer"
            found = _integer(schema, name, manner) if whole else _number(schema, name, manner)
        case "boolean":
            found = manner in (_Manner.TYPICAL, _Manner.LARGE)
        case "null":
            found = None
        case "array":
            found = _array(schema, name, manner, depth)
        case "object":
            found = _object(schema, name, manner, depth)
        case _:
            found = _text(schema, name, manner)
    return found


def _choice(values: Sequence[Any], manner: _Manner) -> Any:
    last, middle = len(values) - 1, len(values) // 2
    return values[{_Manner.LARGE: last, _Manner.NEGATIVE: middle}.get(manner, 0)]


def _branch(branches: Sequence[Json], manner: _Manner) -> Json:
    nothing = [branch for branch in branches if branch.get("type") == "null"]
    something = [branch for branch in branches if branch.get("type") != "null"]
    if manner is _Manner.SMALL and nothing:
        return nothing[0]
    return (something or nothing)[-1 if manner is _Manner.LARGE else 0]


def _integer(schema: Json, name: str, manner: _Manner) -> int:
    wished = {
        _Manner.TYPICAL: plausible.whole(name),
        _Manner.SMALL: 0,
        _Manner.LARGE: 100,
        _Manner.NEGATIVE: -3,
    }[manner]
    lowest, highest = _bounds(schema, 1)
    step = schema.get("multipleOf")
    found = math.ceil(max(wished, lowest)) if lowest > -math.inf else wished
    if isinstance(step, int) and step > 0:
        found = -(-found // step) * step
        return found if found <= highest else int(highest // step) * step
    return found if found <= highest else math.floor(highest)


def _number(schema: Json, name: str, manner: _Manner) -> float:
    wished = {
        _Manner.TYPICAL: plausible.real(name),
        _Manner.SMALL: 0.0,
        _Manner.LARGE: 10_000.0,
        _Manner.NEGATIVE: -1.5,
    }[manner]
    lowest, highest = _bounds(schema, 0.001)
    if lowest > highest:
        lowest, highest = _bounds(schema, 0)
        return (lowest + highest) / 2
    return float(min(max(wished, lowest), highest))


def _bounds(schema: Json, gap: float) -> tuple[float, float]:
    """The lowest and the highest number; a gap away from what is excluded."""
    lowest = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf) + gap)
    highest = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf) - gap)
    return lowest, highest


def _text(schema: Json, name: str, manner: _Manner) -> str:
    wished = plausible.text(name, str(schema.get("format", "")))
    if manner is _Manner.SMALL:
        wished = ""
    elif manner is _Manner.LARGE and " " in wished:
        wished = " ".join([wished] * 20)
    elif manner is _Manner.NEGATIVE and "format" not in schema:
        wished = "Grüße, 世界 🙂"
    shortest = min(int(schema.get("minLength", 0)), _LONGEST_TEXT)
    longest = int(schema.get("maxLength", _LONGEST_TEXT))
    return (wished + "x" * max(shortest - len(wished), 0))[:longest]


def _array(schema: Json, name: str, manner: _Manner, depth: int) -> list[Any]:
    first = cast("list[Json]", schema.get("prefixItems", []))
    found = [_value(item, name, manner, depth + 1) for item in first]
    items = cast("Json", schema.get("items", {})) if isinstance(schema.get("items"), dict) else {}
    count = _count(schema, manner, simple=_simple(items), depth=depth)
    if schema.get("maxItems") == len(found) or depth >= _DEEPEST:
        return found
    return found + _items(items, name, manner, max(count - len(found), 0), depth)


def _count(schema: Json, manner: _Manner, *, simple: bool, depth: int) -> int:
    wished = _TYPICAL_ITEMS if simple and not depth else 3
    if manner is _Manner.SMALL:
        wished = 0
    elif manner is _Manner.LARGE:
        wished = _LARGER_ITEMS if simple and not depth else 5
    wished = max(wished, min(int(schema.get("minItems", 0)), _LARGER_ITEMS))
    return min(wished, int(schema.get("maxItems", wished)))


def _simple(items: Json) -> bool:
    return items.get("type") in ("integer", "number") and "enum" not in items


def _items(items: Json, name: str, manner: _Manner, count: int, depth: int) -> list[Any]:
    sign = -1 if manner is _Manner.NEGATIVE else 1
    if _simple(items):
        whole = items["type"] == "integer"
        given = plausible.wholes(count) if whole else plausible.reals(count)
        lowest, highest = _bounds(items, 1 if whole else 0.001)
        found = [min(max(sign * number, lowest), highest) for number in given]
        return [int(number) for number in found] if whole else found
    if items.get("type", "string") == "string" and not set(items) - {"type", "description"}:
        return list(plausible.texts(count)) if manner is not _Manner.NEGATIVE else ["", "ß", "世界"]
    if items.get("enum"):
        return [items["enum"][place % len(items["enum"])] for place in range(count)]
    return [_value(items, name, manner, depth + 1) for _ in range(count)]


def _object(schema: Json, name: str, manner: _Manner, depth: int) -> Json:
    properties = cast("dict[str, Json]", schema.get("properties", {}))
    if depth >= _DEEPEST:
        return {}
    if properties:
        required = cast("list[str]", schema.get("required", []))
        chosen = required if manner is _Manner.SMALL else list(properties)
        return {key: _value(properties.get(key, {}), key, manner, depth + 1) for key in chosen}
    if manner is _Manner.SMALL:
        return {}
    names = cast("Json", schema.get("propertyNames", {})).get("enum") or ["a", "b", "c"]
    values = schema.get("additionalProperties")
    inner = cast("Json", values) if isinstance(values, dict) else {"type": "integer"}
    return {str(key): _value(inner, name, manner, depth + 1) for key in names[:3]}
