"""JSON Schemas from type hints, read from the source; no hint is ever evaluated."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from long_running_agents.domain.skill import Finding, Json
from long_running_agents.skills.reviewing import syntax
from long_running_agents.skills.reviewing.classes import Field, enumerated, fields_of

_DEEPEST = 12
_MOST = 300
"""Parts of one hint, so that classes full of classes cannot grow without end."""

_SIMPLE: Mapping[str, Json] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "LiteralString": {"type": "string"},
    "Text": {"type": "string"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "NoneType": {"type": "null"},
    "Any": {},
    "object": {},
}
_LISTS = frozenset(
    {"list", "List", "Sequence", "MutableSequence", "Iterable", "Collection", "Container"}
)
_SETS = frozenset({"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"})
_TABLES = frozenset({"dict", "Dict", "Mapping", "MutableMapping"})
_WRAPPERS = frozenset({"Required", "NotRequired", "ReadOnly", "Final", "InitVar"})

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


def schema_of(
    annotation: ast.expr,
    classes: Mapping[str, ast.ClassDef],
    aliases: Mapping[str, ast.expr] | None = None,
) -> Json:
    """The JSON Schema of a type hint; empty when anything goes.

    Args:
        annotation: The hint.
        classes: The classes of the same source.
        aliases: Names at its top that stand for other hints.

    Raises:
        UnknownHint: It is not known, or JSON has no such thing.
    """
    return _Reader(classes, aliases or {}, annotation.lineno).read(annotation, (), 0)


class _Reader:
    def __init__(
        self, classes: Mapping[str, ast.ClassDef], aliases: Mapping[str, ast.expr], line: int
    ) -> None:
        self._classes = classes
        self._aliases = aliases
        self._line = line
        self._left = _MOST

    def read(self, node: ast.expr, inside: tuple[str, ...], depth: int) -> Json:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise self._refused("A type hint is too large.", "Make it simpler, or use dict.")
        match node:
            case ast.Constant(value=None):
                return {"type": "null"}
            case ast.Constant(value=str(text)):
                return self.read(self._quoted(text), inside, depth + 1)
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return self._named(node, name, inside, depth)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self._either([left, right], inside, depth)
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=given):
                parts = given.elts if isinstance(given, ast.Tuple) else [given]
                return self._subscript(node, name, parts, inside, depth)
            case _:
                raise self._unknown(node)

    def _quoted(self, text: str) -> ast.expr:
        found = syntax.expression(text) if len(text) <= syntax.LARGEST else None
        if found is None:
            raise self._refused(f"The type hint {text[:60]!r} is no type.", _KNOWN + _CLASSES)
        return found

    def _named(self, node: ast.expr, name: str, inside: tuple[str, ...], depth: int) -> Json:
        if isinstance(node, ast.Name) and name in self._classes:
            return self._class(self._classes[name], inside, depth)
        if isinstance(node, ast.Name) and name in self._aliases and name not in inside:
            return self.read(self._aliases[name], (*inside, name), depth + 1)
        if name in _SIMPLE:
            return dict(_SIMPLE[name])
        if name in _LISTS or name in ("tuple", "Tuple"):
            return {"type": "array"}
        if name in _SETS:
            return {"type": "array", "uniqueItems": True}
        if name in _TABLES:
            return {"type": "object"}
        raise self._unknown(node)

    def _subscript(
        self,
        node: ast.expr,
        name: str,
        parts: Sequence[ast.expr],
        inside: tuple[str, ...],
        depth: int,
    ) -> Json:
        if not parts and name not in ("tuple", "Tuple"):
            raise self._unknown(node)
        match name:
            case "Literal":
                found = self._literal(parts)
            case "Annotated":
                found = self._annotated(parts, inside, depth)
            case "Union":
                found = self._either(parts, inside, depth)
            case "Optional":
                found = self._either([*parts, ast.Constant(value=None)], inside, depth)
            case "tuple" | "Tuple":
                found = self._tuple(parts, inside, depth)
            case _:
                found = self._group(node, name, parts, inside, depth)
        return found

    def _group(
        self,
        node: ast.expr,
        name: str,
        parts: Sequence[ast.expr],
        inside: tuple[str, ...],
        depth: int,
    ) -> Json:
        if name in _TABLES and len(parts) == len(("key", "value")):
            return self._table(parts, inside, depth)
        if name not in _LISTS | _SETS | _WRAPPERS or len(parts) != 1:
            raise self._unknown(node)
        item = self.read(parts[0], inside, depth + 1)
        if name in _WRAPPERS:
            return item
        kind: Json = {"type": "array"} | ({"items": item} if item else {})
        return kind | ({"uniqueItems": True} if name in _SETS else {})

    def _literal(self, parts: Sequence[ast.expr]) -> Json:
        try:
            values: list[Any] = [syntax.literal(part) for part in parts]
        except syntax.NotPlain:
            values = [...]
        if not all(value is None or isinstance(value, str | int) for value in values):
            raise self._refused(
                "Literal[…] may only have strings, whole numbers, True, False and None.",
                "Write its values out.",
            )
        return enumeration(values)

    def _annotated(self, parts: Sequence[ast.expr], inside: tuple[str, ...], depth: int) -> Json:
        found = self.read(parts[0], inside, depth + 1)
        for part in parts[1:]:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                found.setdefault("description", part.value)
        return found

    def _either(self, parts: Sequence[ast.expr], inside: tuple[str, ...], depth: int) -> Json:
        found: list[Json] = []
        for part in parts:
            one = self.read(part, inside, depth + 1)
            for branch in one["anyOf"] if set(one) == {"anyOf"} else [one]:
                if branch not in found:
                    found.append(branch)
        if {} in found:
            return {}
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _tuple(self, parts: Sequence[ast.expr], inside: tuple[str, ...], depth: int) -> Json:
        if parts and isinstance(parts[-1], ast.Constant) and parts[-1].value is ...:
            item = self.read(parts[0], inside, depth + 1) if len(parts) > 1 else {}
            return {"type": "array"} | ({"items": item} if item else {})
        if not parts or (isinstance(parts[0], ast.Tuple) and not parts[0].elts):
            return {"type": "array", "maxItems": 0}
        items = [self.read(part, inside, depth + 1) for part in parts]
        count = len(items)
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}

    def _table(self, parts: Sequence[ast.expr], inside: tuple[str, ...], depth: int) -> Json:
        key = self.read(parts[0], inside, depth + 1)
        if key.get("type", "string") != "string" or "anyOf" in key:
            raise self._refused(
                f"The keys of a dict are strings in JSON, not {syntax.shown(parts[0])}.",
                "Use dict[str, …], and convert the keys in the function.",
            )
        value = self.read(parts[1], inside, depth + 1)
        names: Json = {"propertyNames": {"enum": key["enum"]}} if "enum" in key else {}
        return {"type": "object"} | ({"additionalProperties": value} if value else {}) | names

    def _class(self, node: ast.ClassDef, inside: tuple[str, ...], depth: int) -> Json:
        values = enumerated(node)
        if values is not None:
            return enumeration(values)
        fields = fields_of(node, self._classes)
        if fields is None:
            raise self._refused(
                f"The class {node.name} is no dataclass, TypedDict or StrEnum.",
                "Make it one: what a tool takes and returns is JSON.",
            )
        if node.name in inside:
            return {"type": "object"}
        return self._fields(fields, (*inside, node.name), depth)

    def _fields(self, fields: Sequence[Field], inside: tuple[str, ...], depth: int) -> Json:
        found = {field.name: self.read(field.hint, inside, depth + 1) for field in fields}
        required = [field.name for field in fields if field.required]
        return {
            "type": "object",
            "properties": found,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def _unknown(self, node: ast.expr) -> UnknownHint:
        head = node.value if isinstance(node, ast.Subscript) else node
        name = head.attr if isinstance(head, ast.Attribute) else getattr(head, "id", "")
        repair = _INSTEAD.get(name, _KNOWN + _CLASSES)
        return self._refused(f"The type hint {syntax.shown(node)} has no meaning in JSON.", repair)

    def _refused(self, message: str, repair: str) -> UnknownHint:
        return UnknownHint(Finding(message=message, repair=repair, line=self._line))


def enumeration(values: Sequence[Any]) -> Json:
    """The schema of one of several values."""
    names = {"str": "string", "bool": "boolean", "int": "integer", "NoneType": "null"}
    kinds = [names[type(value).__name__] for value in values]
    kind: Json = {"type": kinds[0]} if len(set(kinds)) == 1 else {}
    return kind | {"enum": list(values)}
