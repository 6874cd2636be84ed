"""JSON schemas of tools, reduced to what every grammar can follow."""

from typing import Any, cast

from long_running_agents.models.local.engine import Json

LONGEST_TEXT = 2000
"""Characters of a text without a bound of its own: small models do not find its end alone."""

_KEPT = frozenset(
    {
        "type",
        "enum",
        "const",
        "required",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    }
)
_DEEPEST = 8
_ANYTHING: Json = {"type": "string", "maxLength": LONGEST_TEXT}


def arguments_schema(parameters: Json) -> Json:
    """The schema of a tool's arguments: references put in place, unknown keywords left out.

    A grammar that meets a keyword it does not know lets go of the whole schema without a word.
    """
    definitions: Json = parameters.get("$defs") or parameters.get("definitions") or {}
    reduced = _reduced(parameters, definitions, 0)
    properties: Json = reduced.get("properties") or {}
    named: list[str] = reduced.get("required") or []
    required = [name for name in named if name in properties]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _reduced(schema: Json, definitions: Json, depth: int) -> Json:
    if depth > _DEEPEST:
        return dict(_ANYTHING)
    if reference := schema.get("$ref"):
        named = definitions.get(str(reference).rpartition("/")[2])
        return _reduced(named, definitions, depth + 1) if named else dict(_ANYTHING)
    options: list[Json] = schema.get("anyOf") or schema.get("oneOf") or []
    if options:
        return {"anyOf": [_reduced(option, definitions, depth + 1) for option in options]}
    parts: list[Json] = schema.get("allOf") or []
    if len(parts) == 1:
        return _reduced(parts[0], definitions, depth + 1)
    kept: Json = {name: value for name, value in schema.items() if name in _KEPT}
    if kept.get("type") == "string" and "enum" not in kept:
        kept["maxLength"] = min(int(kept.get("maxLength", LONGEST_TEXT)), LONGEST_TEXT)
    return {**kept, **_inside(schema, definitions, depth)}


def _inside(schema: Json, definitions: Json, depth: int) -> Json:
    found: Json = {}
    properties = cast("dict[str, Json]", schema.get("properties") or {})
    if properties:
        found["properties"] = {
            name: _reduced(inner, definitions, depth + 1) for name, inner in properties.items()
        }
    if isinstance(items := cast("Any", schema.get("items")), dict):
        found["items"] = _reduced(cast("Json", items), definitions, depth + 1)
    extra: Any = schema.get("additionalProperties")
    if isinstance(extra, dict):
        found["additionalProperties"] = _reduced(cast("Json", extra), definitions, depth + 1)
    elif properties:
        found["additionalProperties"] = False
    return found
