"""Whether data is what a schema says."""

import math
from collections.abc import Mapping
from typing import Any, cast

from long_running_agents.domain.skill import Json

_MOST = 3
"""Complaints that are told."""
_LONGEST = 300
# A pattern of somebody else's could keep this process busy for ever.
_UNTRIED = frozenset({"pattern", "patternProperties", "format", "$ref", "$dynamicRef"})


def complaints(schema: Json | None, value: object) -> str:
    """What is wrong with a value, in words; empty when nothing is."""
    if schema is None:
        return ""
    # Slow to import, and most turns call no skill.
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    validator: Any = Draft202012Validator(_harmless(schema))
    found: list[Any] = sorted(validator.iter_errors(value), key=lambda error: error.json_path)
    told = [f"{_where(error.json_path)}{error.message[:_LONGEST]}" for error in found[:_MOST]]
    return "; ".join(told)


def invalid(schema: Json) -> str:
    """Why a schema is none; empty when it is one."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - as above

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return f"it is no JSON Schema ({error.message[:120]})"
    return ""


def equal(one: object, other: object) -> bool:
    """Whether two pieces of JSON are the same, but for the last digits of a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        ours, theirs = cast("list[object]", one), cast("list[object]", other)
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    if isinstance(one, dict) and isinstance(other, dict):
        mine, yours = cast("Json", one), cast("Json", other)
        return mine.keys() == yours.keys() and all(equal(mine[key], yours[key]) for key in mine)
    return one == other


def _where(path: str) -> str:
    inside = path.removeprefix("$").lstrip(".")
    return f"{inside}: " if inside else ""


def _harmless(schema: Any, depth: int = 0) -> Any:
    if depth > 50:  # noqa: PLR2004 - deeper than anybody reads
        return {}
    if isinstance(schema, Mapping):
        pairs = cast("Mapping[str, Any]", schema).items()
        return {key: _harmless(value, depth + 1) for key, value in pairs if key not in _UNTRIED}
    if isinstance(schema, list):
        return [_harmless(value, depth + 1) for value in cast("list[Any]", schema)]
    return schema
