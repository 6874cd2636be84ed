"""Writes the shapes of events and deltas as TypeScript: `python ui/shapes.py [--check]`.

With `--check` nothing is written: when the file is stale, the exit code is 1.
"""

# ruff: noqa: INP001 - a script beside the program it serves, no package

import argparse
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue
from typing_extensions import TypeAliasType

from long_running_agents.domain import events
from long_running_agents.domain.described import meanings

TARGET = Path(__file__).parent / "src" / "wire" / "events.ts"

_NOTICE = "// Made by ui/shapes.py from the shapes in domain/events.py; change them, then run it."
_PLAIN: dict[object, str] = {
    bool: "boolean",
    datetime: "string",
    float: "number",
    int: "number",
    str: "string",
    NoneType: "null",
}
_PLACE = """/** Where an event stands in its session's log. */
export interface Place {
  seq: number;
  session_id: string;
  turn_id: string | null;
  at: string;
}

/** Whose passing news a delta is. */
export interface Whose {
  session_id: string;
  turn_id: string;
}"""
_JSON = """/** Anything that JSON can say. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };"""


def written() -> str:
    """The whole file."""
    facts = get_args(get_args(events.Event)[0])
    news = get_args(events.Delta)
    shapes = [*_parts([*facts, *news]), *facts, *news]
    sections = [
        _NOTICE,
        _JSON,
        _PLACE,
        *(_interface(shape) for shape in shapes),
        _union("Event", "A fact, as it was stored.", facts, "Place"),
        _union("Delta", "Passing news: never stored, lost without harm.", news, "Whose"),
    ]
    return "\n\n".join(sections) + "\n"


def _parts(shapes: list[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    """The shapes within shapes, each once."""
    seen: set[type[BaseModel]] = set()
    for shape in shapes:
        for field in shape.model_fields.values():
            for part in _models(field.annotation):
                if part not in seen:
                    seen.add(part)
                    yield part


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif not isinstance(annotation, TypeAliasType):
        for inner in get_args(annotation):
            yield from _models(inner)


def _interface(shape: type[BaseModel]) -> str:
    lines = [f"/** {_first(shape.__doc__)} */", f"export interface {shape.__name__} {{"]
    told = meanings(shape)
    for name, field in shape.model_fields.items():
        if name in told:
            lines.append(f"  /** {_first(told[name])} */")
        lines.append(f"  {name}: {_type(field.annotation)};")
    return "\n".join([*lines, "}"])


def _union(name: str, what: str, shapes: tuple[type[BaseModel], ...], beside: str) -> str:
    choices = "\n".join(f"  | {shape.__name__}" for shape in shapes)
    return f"/** {what} */\nexport type {name} = {beside} &\n  (\n{choices}\n  );"


def _first(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


def _type(annotation: Any) -> str:
    if annotation is JsonValue:
        return "Json"
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in inner)
    if origin in (UnionType, Union):
        return " | ".join(_type(each) for each in inner)
    if origin is list:
        return f"{_type(inner[0])}[]"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation.__name__
    return _PLAIN[annotation]


def main() -> int:
    """Write the file, or say that it is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    wanted = written()
    if parser.parse_args().check:
        fresh = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == wanted
        if not fresh:
            sys.stderr.write(f"{TARGET.name} is stale: run 'python ui/shapes.py'.\n")
        return 0 if fresh else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
