"""Schemas that a draft declares beside its signature: they may say more, never something else."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from long_running_agents.domain.skill import Finding, Json
from long_running_agents.mcp.schema import UnusableSchema, settled
from long_running_agents.skills.reviewing import syntax
from long_running_agents.skills.validating import invalid

_LARGEST = 20_000
_DEEPEST = 40
_WORDS = frozenset({"description", "title", "examples"})
_LOWER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_UPPER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


class Disagreement(ValueError):
    """A declared schema that says something else than the signature."""


def looked_at(schema: object, what: str) -> Json | Finding:
    """A declared schema without references, or what is wrong with it.

    Args:
        schema: What was declared.
        what: What it is called in a message.
    """
    try:
        text = json.dumps(syntax.plain(schema))
        if not isinstance(schema, dict):
            return _wrong(what, "it is no JSON object", "Declare one, or leave it out.")
        if len(text) > _LARGEST:
            return _wrong(what, "it is too large", "Leave out what the signature says already.")
        if why := next(_unwelcome(json.loads(text), 0), ""):
            return _wrong(what, why, "Check it in the function, and say it in the description.")
        if why := invalid(cast("Json", json.loads(text))):
            return _wrong(what, why, "Correct it, or leave it out: the signature is enough.")
        return _without_references(cast("Json", json.loads(text)))
    except (syntax.NotPlain, RecursionError, UnusableSchema) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return _wrong(what, why, "Declare a JSON object, or leave it out.")


def joined_input(signature: Json, declared: Json) -> Json:
    """The schema of the arguments, with what was declared about them.

    Raises:
        Disagreement: The two say different things.
    """
    if declared.get("type", "object") != "object":
        raise Disagreement("it is not about an object")
    ours, theirs = signature["properties"], cast("Json", declared.get("properties", {}))
    if theirs and set(theirs) != set(ours):
        odd = ", ".join(sorted(set(theirs) ^ set(ours)))
        raise Disagreement(f"its properties and the parameters are not the same: {odd}")
    required = set(signature.get("required", []))
    if "required" in declared and set(declared["required"]) != required:
        odd = ", ".join(sorted(set(declared["required"]) ^ required))
        raise Disagreement(f"what it requires and the defaults do not agree: {odd}")
    if odd := ", ".join(sorted(name for name in required if "default" in theirs.get(name, {}))):
        raise Disagreement(f"it has a default that the signature does not have: {odd}")
    properties = {name: joined(ours[name], theirs.get(name, {}), name) for name in ours}
    left_out = {"type", "properties", "required", "additionalProperties", *_WORDS}
    more = {key: value for key, value in declared.items() if key not in left_out}
    return {**signature, **more, "properties": properties}


def joined(ours: Json, theirs: Json, where: str) -> Json:
    """A schema that takes only what both take.

    Raises:
        Disagreement: Nothing is taken by both, as far as can be told.
    """
    found = dict(ours)
    for key, value in theirs.items():
        if key not in found or key in _WORDS:
            found[key] = value
        elif found[key] != value:
            found[key] = _both(key, found[key], value, where)
    _same_kind(ours, theirs, where)
    return found


def _both(key: str, ours: Any, theirs: Any, where: str) -> Any:
    if key in _LOWER or key in _UPPER:
        return max(ours, theirs) if key in _LOWER else min(ours, theirs)
    if key == "type":
        return _kind(ours, theirs, where)
    if key in ("enum", "anyOf") and all(value in ours for value in theirs):
        return theirs
    if key == "required":
        return sorted({*ours, *theirs})
    return _inner(key, ours, theirs, where)


def _inner(key: str, ours: Any, theirs: Any, where: str) -> Any:
    """Schemas inside of schemas."""
    if key == "anyOf":
        return [_branch(ours, one, where) for one in theirs]
    if key == "additionalProperties" and True in (ours is False, theirs is False):
        return False
    if key in ("items", "additionalProperties"):
        return joined(ours, {} if theirs is True else theirs, where)
    if key == "properties" and set(theirs) <= set(ours):
        return {name: joined(ours[name], theirs.get(name, {}), name) for name in ours}
    raise Disagreement(f"'{key}' of {where} is something else in the signature")


def _branch(ours: Sequence[Json], theirs: Json, where: str) -> Json:
    for one in ours:
        if one.get("type") == theirs.get("type"):
            return joined(one, theirs, where)
    raise Disagreement(f"a kind of {where} is none of those of the signature")


def _kind(ours: str, theirs: object, where: str) -> str:
    kinds = cast("list[str]", theirs) if isinstance(theirs, list) else [str(theirs)]
    if ours in kinds or (ours == "integer" and "number" in kinds):
        return ours
    if ours == "number" and "integer" in kinds:
        return "integer"
    raise Disagreement(f"the type of {where} is {', '.join(kinds)}, and {ours} in the signature")


def _same_kind(ours: Json, theirs: Json, where: str) -> None:
    """A type beside several kinds must be one of them."""
    if "anyOf" in ours and "type" in theirs:
        given = cast("object", theirs["type"])
        kinds = cast("list[str]", given) if isinstance(given, list) else [given]
        known = {branch.get("type") for branch in cast("Sequence[Json]", ours["anyOf"])}
        if None not in known and not known & {*kinds, *(["integer"] if "number" in kinds else [])}:
            raise Disagreement(f"the type of {where} is none of those of the signature")


def _unwelcome(schema: object, depth: int) -> Iterator[str]:
    """What a schema may not have, since it is used outside of the sandbox."""
    if depth > _DEEPEST:
        yield "it is nested too deeply"
    elif isinstance(schema, list):
        for item in cast("list[object]", schema):
            yield from _unwelcome(item, depth + 1)
    elif isinstance(schema, dict):
        for key, value in cast("dict[str, object]", schema).items():
            if why := _unwelcome_keyword(key, value):
                yield why
            yield from _unwelcome(value, depth + 1)


def _unwelcome_keyword(key: str, value: object) -> str:
    if isinstance(value, str) and key in ("$ref", "$dynamicRef", "$recursiveRef", "$id"):
        inside = value.startswith(("#/$defs/", "#/definitions/"))
        return "" if inside else "it refers to something outside of itself"
    if key == "patternProperties" or (key == "pattern" and isinstance(value, str)):
        return "a pattern can take for ever to match"
    return ""


def _without_references(schema: Json) -> Json:
    """Every reference put in place; the ways of an object's property do that for any schema."""
    definitions = {key: schema.get(key, {}) for key in ("$defs", "definitions")}
    inner = {key: value for key, value in schema.items() if key not in definitions}
    whole = settled({**definitions, "type": "object", "properties": {"it": inner}})
    return cast("Json", whole["properties"]["it"])


def _wrong(what: str, why: str, repair: str) -> Finding:
    return Finding(message=f"The declared {what} cannot be used: {why}.", repair=repair)
