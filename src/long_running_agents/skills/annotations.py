"""JSON Schemas from type hints, read from the source and never evaluated, and declared ones."""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any, cast

from long_running_agents.domain.json_schema import nodes
from long_running_agents.domain.skill import Finding, Json
from long_running_agents.mcp.tools import UnusableSchema, settled
from long_running_agents.skills import python_ast
from long_running_agents.skills.python_ast import last_name
from long_running_agents.skills.trial import invalid

_MOST_BASES = 4
"""How many classes a class may come from, and how far up: some inherit in a circle."""


def _enumerated(node: ast.ClassDef) -> list[Any] | None:
    """The values of an enumeration of strings or whole numbers; None when it is no such thing."""
    bases = {last_name(base) for base in node.bases}
    kind = str if "StrEnum" in bases or {"str", "Enum"} <= bases else None
    kind = int if "IntEnum" in bases or {"int", "Enum"} <= bases else kind
    if kind is None:
        return None
    found: list[Any] = []
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = _member(statement.targets[0].id, statement.value, lower="StrEnum" in bases)
            if type(value) is not kind:
                return None
            found.append(value)
    return found or None


_Fields = dict[str, tuple[ast.expr, bool]]
"""The hints of fields, and whether they are required."""


def _fields_of(
    node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], level: int = 0
) -> _Fields | None:
    """The fields of a dataclass or typed dict, inherited ones first; None when it is neither."""
    if level > _MOST_BASES:
        return None
    found: _Fields = {}
    typed = any(last_name(base) == "TypedDict" for base in node.bases)
    inherited = [
        classes[last_name(base)] for base in node.bases[:_MOST_BASES] if last_name(base) in classes
    ]
    above = [_fields_of(base, classes, level + 1) for base in inherited if base is not node]
    is_data = any(python_ast.called(one) == "dataclass" for one in node.decorator_list)
    if not (typed or is_data or any(fields is not None for fields in above)):
        return None
    for fields in above:
        found.update(fields or {})
    total = not any(
        keyword.arg == "total" and getattr(keyword.value, "value", True) is False
        for keyword in node.keywords
    )
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            hint = statement.annotation
            outer = last_name(hint.value) if isinstance(hint, ast.Subscript) else last_name(hint)
            given = statement.value is not None and _defaulted(statement.value)
            required = outer == "Required" or (total and outer != "NotRequired" and not given)
            if outer not in ("ClassVar", "KW_ONLY"):
                found[statement.target.id] = hint, required
    return found


def _defaulted(value: ast.expr) -> bool:
    """Whether what stands after a field's hint is a value for it."""
    if isinstance(value, ast.Call) and last_name(value.func) == "field":
        return any(keyword.arg in ("default", "default_factory") for keyword in value.keywords)
    return True


def _member(name: str, value: ast.expr, *, lower: bool) -> Any:
    if isinstance(value, ast.Call) and last_name(value.func) == "auto":
        return name.lower() if lower else None
    try:
        return python_ast.literal(value)
    except python_ast.NotPlain:
        return None


_DEEPEST = 13
_MOST = 300
"""Parts of one hint, so that classes full of classes cannot grow without end."""

_LISTS = frozenset(
    {"list", "List", "Sequence", "MutableSequence", "Iterable", "Collection", "Container"}
)
_SETS = frozenset({"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"})
_TABLES = frozenset({"dict", "Dict", "Mapping", "MutableMapping"})
_WRAPPERS = frozenset({"Required", "NotRequired", "ReadOnly", "Final", "InitVar"})
_SIMPLE: Mapping[str, Json] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    **{key: {"type": "string"} for key in ("str", "LiteralString", "Text")},
    "bool": {"type": "boolean"},
    **{key: {"type": "null"} for key in ("None", "NoneType")},
    **{key: {} for key in ("Any", "object")},
    **{key: {"type": "array"} for key in (*_LISTS, "tuple", "Tuple")},
    **{key: {"type": "array", "uniqueItems": True} for key in _SETS},
    **{key: {"type": "object"} for key in _TABLES},
}

_AS_TEXT = "Take it as str, and convert it in the function; return it as str."
_AS_LIST = "Use list."
_INSTEAD = {
    **dict.fromkeys(("datetime", "date", "time", "timedelta", "Timestamp", "UUID"), _AS_TEXT),
    **dict.fromkeys(("Decimal", "Fraction"), "Take it as str or float, and convert it."),
    **dict.fromkeys(("Path", "PurePath", "PosixPath"), "Take it as str, and make a Path of it."),
    **dict.fromkeys(("bytes", "bytearray"), "Take it as str, with base64."),
    "complex": "Take the two parts as list[float].",
    **dict.fromkeys(("ndarray", "Series", "array", "deque", "Deque"), _AS_LIST),
    **dict.fromkeys(("Iterator", "Generator", "AsyncIterator", "AsyncGenerator"), _AS_LIST),
    "DataFrame": "Use list[dict[str, Any]], and make a DataFrame of it.",
    **dict.fromkeys(("defaultdict", "OrderedDict", "Counter", "DefaultDict"), "Use dict."),
    "Callable": "Take a name with Literal, and choose the function inside.",
    **dict.fromkeys(("Coroutine", "Awaitable"), "Write 'async def', and hint what it returns."),
}
_KNOWN = "Use str, int, float, bool, list[…], dict[str, …], tuple[…], Literal[…], … | None, or a "
_CLASSES = "dataclass, TypedDict or StrEnum of the same source."


class UnknownHint(ValueError):
    """A type hint that says nothing about JSON."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


@dataclass(slots=True)
class SchemaReader:
    """Reads one type hint, with the classes and aliases of its source; it may be an UnknownHint."""

    classes: Mapping[str, ast.ClassDef]
    aliases: Mapping[str, ast.expr]
    line: int
    _left: int = _MOST
    _depth: int = 0
    _inside: list[str] = field(default_factory=list[str])
    """The classes and aliases that are being read."""

    def read(self, node: ast.expr) -> Json:
        """The JSON Schema of a hint; empty when anything goes."""
        self._left -= 1
        self._depth += 1
        if self._left < 0 or self._depth > _DEEPEST:
            raise self._refused("A type hint is too large.", "Make it simpler, or use dict.")
        match node:
            case ast.Constant(value=None):
                found: Json = {"type": "null"}
            case ast.Constant(value=str(text)):
                found = self.read(self._quoted(text))
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found = self._named(node, name)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                found = self._either([left, right])
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=given):
                parts = given.elts if isinstance(given, ast.Tuple) else [given]
                found = self._subscript(node, name, parts)
            case _:
                raise self._unknown(node)
        self._depth -= 1
        return found

    def _quoted(self, text: str) -> ast.expr:
        found = python_ast.expression(text) if len(text) <= python_ast.LARGEST else None
        if found is None:
            raise self._refused(f"The type hint {text[:60]!r} is no type.", _KNOWN + _CLASSES)
        return found

    def _named(self, node: ast.expr, name: str) -> Json:
        if isinstance(node, ast.Name) and name in self.classes:
            return self._class(self.classes[name])
        if isinstance(node, ast.Name) and name in self.aliases and name not in self._inside:
            self._inside.append(name)
            found = self.read(self.aliases[name])
            self._inside.pop()
            return found
        if name in _SIMPLE:
            return dict(_SIMPLE[name])
        raise self._unknown(node)

    def _subscript(self, node: ast.expr, name: str, parts: Sequence[ast.expr]) -> Json:
        if not parts and name not in ("tuple", "Tuple"):
            raise self._unknown(node)
        match name:
            case "Literal":
                found = self._literal(parts)
            case "Annotated":
                found = self._annotated(parts)
            case "Union" | "Optional":
                nothing = [ast.Constant(value=None)] if name == "Optional" else []
                found = self._either([*parts, *nothing])
            case "tuple" | "Tuple":
                found = self._tuple(parts)
            case _ if name in _TABLES and len(parts) == len(("key", "value")):
                found = self._table(*parts)
            case _ if name in _LISTS | _SETS | _WRAPPERS and len(parts) == 1:
                found = self._group(name, parts[0])
            case _:
                raise self._unknown(node)
        return found

    def _group(self, name: str, part: ast.expr) -> Json:
        item = self.read(part)
        if name in _WRAPPERS:
            return item
        kind: Json = {"type": "array"} | ({"items": item} if item else {})
        return kind | ({"uniqueItems": True} if name in _SETS else {})

    def _literal(self, parts: Sequence[ast.expr]) -> Json:
        try:
            values: list[Any] = [python_ast.literal(part) for part in parts]
        except python_ast.NotPlain:
            values = [...]
        if not all(value is None or isinstance(value, str | int) for value in values):
            raise self._refused(
                "Literal[…] may only have strings, whole numbers, True, False and None.",
                "Write its values out.",
            )
        return enumeration(values)

    def _annotated(self, parts: Sequence[ast.expr]) -> Json:
        found = self.read(parts[0])
        for part in parts[1:]:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                found.setdefault("description", part.value)
        return found

    def _either(self, parts: Sequence[ast.expr]) -> Json:
        found: list[Json] = []
        for one in map(self.read, parts):
            for branch in one["anyOf"] if set(one) == {"anyOf"} else [one]:
                if branch not in found:
                    found.append(branch)
        if {} in found:
            return {}
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _tuple(self, parts: Sequence[ast.expr]) -> Json:
        if parts and isinstance(parts[-1], ast.Constant) and parts[-1].value is ...:
            item = self.read(parts[0]) if len(parts) > 1 else {}
            return {"type": "array"} | ({"items": item} if item else {})
        if not parts or (isinstance(parts[0], ast.Tuple) and not parts[0].elts):
            return {"type": "array", "maxItems": 0}
        items = [self.read(part) for part in parts]
        count = len(items)
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}

    def _table(self, keys: ast.expr, values: ast.expr) -> Json:
        key = self.read(keys)
        if key.get("type", "string") != "string" or "anyOf" in key:
            raise self._refused(
                f"The keys of a dict are strings in JSON, not {python_ast.shown(keys)}.",
                "Use dict[str, …], and convert the keys in the function.",
            )
        value = self.read(values)
        names: Json = {"propertyNames": {"enum": key["enum"]}} if "enum" in key else {}
        return {"type": "object"} | ({"additionalProperties": value} if value else {}) | names

    def _class(self, node: ast.ClassDef) -> Json:
        values = _enumerated(node)
        if values is not None:
            return enumeration(values)
        fields = _fields_of(node, self.classes)
        if fields is None:
            raise self._refused(
                f"The class {node.name} is no dataclass, TypedDict or StrEnum.",
                "Make it one: what a tool takes and returns is JSON.",
            )
        if node.name in self._inside:
            return {"type": "object"}
        self._inside.append(node.name)
        found = {name: self.read(hint) for name, (hint, _) in fields.items()}
        self._inside.pop()
        return object_schema(found, [name for name, (_, required) in fields.items() if required])

    def _unknown(self, node: ast.expr) -> UnknownHint:
        name = last_name(node.value if isinstance(node, ast.Subscript) else node)
        message = f"The type hint {python_ast.shown(node)} has no meaning in JSON."
        return self._refused(message, _INSTEAD.get(name, _KNOWN + _CLASSES))

    def _refused(self, message: str, repair: str) -> UnknownHint:
        return UnknownHint(Finding(message, repair, self.line))


def object_schema(properties: Json, required: Sequence[str]) -> Json:
    """The schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def enumeration(values: Sequence[Any]) -> Json:
    """The schema of one of several values."""
    names = {"str": "string", "bool": "boolean", "int": "integer", "NoneType": "null"}
    kinds = [names[type(value).__name__] for value in values]
    kind: Json = {"type": kinds[0]} if len(set(kinds)) == 1 else {}
    return kind | {"enum": list(values)}


_LARGEST = 20_000
_DEEPEST_DECLARED = 40
_WORDS = frozenset({"description", "title", "examples"})
_LOWER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_UPPER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


class Disagreement(ValueError):
    """A declared schema that says something else than the signature."""


def looked_at(schema: object, what: str) -> Json | Finding:
    """A declared schema without references, or what is wrong with it."""
    try:
        text = json.dumps(python_ast.plain(schema))
        if not isinstance(schema, dict):
            return _wrong(what, "it is no JSON object", "Declare one, or leave it out.")
        if len(text) > _LARGEST:
            return _wrong(what, "it is too large", "Leave out what the signature says already.")
        # What is told here is used outside of the sandbox.
        if why := next(_unwelcome(json.loads(text)), ""):
            return _wrong(what, why, "Check it in the function, and say it in the description.")
        plain: Json = json.loads(text)
        if why := invalid(plain):
            return _wrong(what, why, "Correct it, or leave it out: the signature is enough.")
        return _without_references(plain)
    except (python_ast.NotPlain, RecursionError, UnusableSchema) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return _wrong(what, why, "Declare a JSON object, or leave it out.")


def joined_input(signature: Json, declared: Json) -> Json:
    """The schema of the arguments, with what was declared about them."""
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
    """A schema that takes only what both take, as far as they agree."""
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


def _unwelcome(schema: object) -> Iterator[str]:
    """What a schema may not have, since it is used outside of the sandbox."""
    for part, depth in nodes(schema):
        if depth > _DEEPEST_DECLARED:
            yield "it is nested too deeply"
        elif isinstance(part, dict):
            yield from filter(None, starmap(_unwelcome_keyword, cast("Json", part).items()))


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
    return Finding(f"The declared {what} cannot be used: {why}.", repair)
