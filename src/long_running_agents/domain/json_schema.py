"""The one walk through JSON schemas: what is inside one, and what it refers to."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

Json = dict[str, Any]

NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose keys are names, and no keywords."""
_DATA = frozenset({"const", "enum", "default", "examples"})
"""Keywords that hold values, and no schemas."""
_MOST_FOLLOWED = 20
"""References inside references that are put in place; more can always be anything."""


def mapped(
    schema: Mapping[str, Any],
    change: Callable[[Json], Any],
    keywords: Collection[str] | None = None,
) -> Json:
    """The schema with the schemas directly inside it changed.

    Args:
        schema: Any schema.
        change: Is handed each.
        keywords: Where to look for them; unset means everywhere but in data.
    """

    def part(value: Any) -> Any:
        return change(cast("Json", value)) if isinstance(value, Mapping) else value

    chosen = schema.keys() - _DATA if keywords is None else keywords
    return {
        key: changed(key, value, part) if key in chosen else value for key, value in schema.items()
    }


def changed(key: str, value: Any, change: Callable[[Any], Any]) -> Any:
    """The value of a keyword, with whatever is directly in it changed."""
    if key in NAMED and isinstance(value, Mapping):
        return {name: change(each) for name, each in cast("Json", value).items()}
    if isinstance(value, list):
        return [changed("", each, change) for each in cast("list[Any]", value)]
    return change(value)


def nodes(value: Any, depth: int = 0) -> Iterator[tuple[Any, int]]:
    """Everything in a schema, data included, with how deep it is."""
    yield value, depth
    if isinstance(value, dict | list):
        known = cast("Json | list[Any]", value)
        for each in known.values() if isinstance(known, dict) else known:
            yield from nodes(each, depth + 1)


@dataclass(slots=True)
class References:
    """What a schema can refer to inside itself."""

    definitions: Json
    """By the last word of a reference: not every server writes the way there as it is."""
    left: int = 2000
    """How many more are put in place: a small schema can refer to itself for ever."""

    @classmethod
    def of(cls, root: object) -> "References":
        """Those of a whole schema."""
        found: Json = {}
        for place in ("definitions", "$defs"):
            named: Any = cast("Json", root).get(place) if isinstance(root, dict) else None
            if isinstance(named, dict):
                pairs = cast("dict[object, Any]", named).items()
                found |= {str(key): value for key, value in pairs}
        return cls(found)

    def resolved(
        self, schema: Json, followed: tuple[str, ...] = ()
    ) -> tuple[Json, tuple[str, ...]]:
        """The schema with what it refers to in place, and the references that led there.

        What cannot be put in place, or was followed before, can be anything.
        """
        while (reference := schema.get("$ref")) is not None:
            name = str(reference).rpartition("/")[2]
            schema = {key: value for key, value in schema.items() if key != "$ref"}
            target = self.definitions.get(name)
            if not isinstance(target, dict) or name in followed:
                break
            if len(followed) == _MOST_FOLLOWED or self.left <= 0:
                break
            self.left -= 1
            schema = {**cast("Json", target), **schema}
            followed = (*followed, name)
        return schema, followed
