"""Classes of a source that have a shape in JSON: dataclasses, typed dicts and enumerations."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from long_running_agents.skills.reviewing import syntax

_MOST_BASES = 4
"""How many classes a class may come from, and how far up; a ring of them has no end."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a class."""

    name: str
    hint: ast.expr
    required: bool


def enumerated(node: ast.ClassDef) -> list[Any] | None:
    """The values of an enumeration of strings or whole numbers; None when it is no such thing."""
    bases = {_last(base) for base in node.bases}
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


def fields_of(
    node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], level: int = 0
) -> Sequence[Field] | None:
    """The fields of a dataclass or typed dict, inherited ones first; None when it is neither."""
    if level > _MOST_BASES:
        return None
    found: dict[str, Field] = {}
    typed = any(_last(base) == "TypedDict" for base in node.bases)
    inherited = [
        classes[_last(base)] for base in node.bases[:_MOST_BASES] if _last(base) in classes
    ]
    above = [fields_of(base, classes, level + 1) for base in inherited if base is not node]
    is_data = any(_last(_bare(one)) == "dataclass" for one in node.decorator_list)
    if not (typed or is_data or any(fields is not None for fields in above)):
        return None
    for fields in above:
        found.update({field.name: field for field in fields or ()})
    total = not any(
        keyword.arg == "total" and getattr(keyword.value, "value", True) is False
        for keyword in node.keywords
    )
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found.update(_field(statement.target.id, statement, total=total))
    return list(found.values())


def _field(name: str, statement: ast.AnnAssign, *, total: bool) -> dict[str, Field]:
    hint = statement.annotation
    outer = _last(hint.value) if isinstance(hint, ast.Subscript) else _last(hint)
    if outer in ("ClassVar", "KW_ONLY"):
        return {}
    given = statement.value is not None and _defaulted(statement.value)
    required = outer == "Required" or (total and outer != "NotRequired" and not given)
    return {name: Field(name, hint, required)}


def _defaulted(value: ast.expr) -> bool:
    """Whether what stands after a field's hint is a value for it."""
    if isinstance(value, ast.Call) and _last(value.func) == "field":
        return any(keyword.arg in ("default", "default_factory") for keyword in value.keywords)
    return True


def _member(name: str, value: ast.expr, *, lower: bool) -> Any:
    if isinstance(value, ast.Call) and _last(value.func) == "auto":
        return name.lower() if lower else None
    try:
        return syntax.literal(value)
    except syntax.NotPlain:
        return None


def _bare(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
