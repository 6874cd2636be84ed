"""Shapes whose fields are described by the strings below them, read when somebody asks for it.

Pydantic does the same with `use_attribute_docstrings`, but when a class is made and for each class
anew: a tenth of all that a server does before it is ready, for words that few will ever ask for.
"""

import ast
import inspect
import sys
from functools import cache

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class Described(BaseModel):
    """A shape that tells in its JSON Schema what its fields mean."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, meaning in meanings(cls).items():
            field = cls.model_fields[name]
            told = properties.get(field.serialization_alias or field.alias or name)
            if told is not None:
                told.setdefault("description", meaning)
        return schema


def meanings(shape: type[BaseModel]) -> dict[str, str]:
    """What the fields of a shape mean, by their names: the strings below them."""
    found: dict[str, str] = {}
    for each in reversed(shape.__mro__):
        found |= _written(each.__module__).get(each.__qualname__, {})
    return {name: meaning for name, meaning in found.items() if name in shape.model_fields}


@cache
def _written(module: str) -> dict[str, dict[str, str]]:
    """The strings below the fields of every class of a module."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        # Installed without its source.
        return {}
    return {each.name: dict(_strings(each)) for each in tree.body if isinstance(each, ast.ClassDef)}


def _strings(shape: ast.ClassDef) -> list[tuple[str, str]]:
    return [
        (field.target.id, inspect.cleandoc(string.value.value))
        for field, string in zip(shape.body, shape.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(string, ast.Expr)
        and isinstance(string.value, ast.Constant)
        and isinstance(string.value.value, str)
    ]
