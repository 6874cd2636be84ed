"""Writes the wire's types as TypeScript: `python ui/shapes.py [--check]`.

Events and deltas are those of domain/events.py, responses those of the server's own OpenAPI
description. With `--check` nothing is written: when a file is stale, the exit code is 1.
"""

# ruff: noqa: INP001 - a script beside the program it serves, no package

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, JsonValue
from typing_extensions import TypeAliasType

from long_running_agents.clock import SystemClock
from long_running_agents.domain import events
from long_running_agents.domain.events import meanings
from long_running_agents.server.asgi import api
from long_running_agents.testing import ScriptedModel, make_app

FOLDER = Path(__file__).parent / "src" / "wire"

_NOTICE = "// Made by ui/shapes.py from the shapes in domain/events.py; change them, then run it."
_NOTICE_OF_API = (
    "// Made by ui/shapes.py from what the server says of its API; change that, then run it."
)
_PLAIN: dict[object, str] = {
    bool: "boolean",
    datetime: "string",
    Decimal: "string",
    float: "number",
    int: "number",
    str: "string",
    NoneType: "null",
    JsonValue: "Json",
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


_REFERENCE = re.compile(r"#/components/schemas/(\w+)")
_NAMES = {each: each for each in ("boolean", "number", "string", "null")} | {"integer": "number"}
_EVENTS = {"ActivityResponse.activity": "Event[]", "EventList.events": "Event[]"}
"""What is told in the words of the events, which OpenAPI does not have."""


def written() -> dict[str, str]:
    """The whole files, by their names."""
    return {"events.ts": _events(), "responses.ts": _responses(asyncio.run(_described()))}


async def _described() -> dict[str, Any]:
    """What a server says of itself."""
    with tempfile.TemporaryDirectory() as home:
        model = ScriptedModel([])
        async with make_app(Path(home), model=model, memory__enabled=False) as app:
            return api(app, SystemClock()).openapi()


def _responses(described: dict[str, Any]) -> str:
    """Every shape that answers something, but for those of other people's protocols."""
    schemas: dict[str, Any] = described["components"]["schemas"]
    answers = [
        answer.get("content", {}).get("application/json")
        for path, methods in described["paths"].items()
        for about in methods.values()
        for status, answer in about["responses"].items()
        if status.startswith("2") and not path.startswith("/v1/")
    ]
    found, new = set[str](), _named(answers)
    while new:
        found |= new
        new = _named([schemas[name] for name in new]) - found
    imported = 'import type { Event, Json } from "./events";'
    types = [_declared(name, schemas[name]) for name in sorted(found - {"JsonValue"})]
    return "\n\n".join([_NOTICE_OF_API, imported, *types]) + "\n"


def _named(value: object) -> set[str]:
    return set(_REFERENCE.findall(json.dumps(value)))


def _declared(name: str, schema: dict[str, Any]) -> str:
    """A type of its own; what answers has all of its fields."""
    about = [f"/** {_first(schema['description'])} */"] if "description" in schema else []
    if "properties" not in schema:
        return "\n".join([*about, f"export type {name} = {_typed(schema)};"])
    lines = [*about, f"export interface {name} {{"]
    for field, each in schema["properties"].items():
        if "description" in each:
            lines.append(f"  /** {_first(each['description'])} */")
        lines.append(f"  {field}: {_EVENTS.get(f'{name}.{field}') or _typed(each)};")
    return "\n".join([*lines, "}"])


def _typed(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2].replace("JsonValue", "Json")
    if "anyOf" in schema:
        return " | ".join(_typed(each) for each in schema["anyOf"])
    if values := schema.get("enum") or [schema[key] for key in ("const",) if key in schema]:
        return " | ".join(json.dumps(value) for value in values)
    if schema.get("type") == "array":
        inner = _typed(schema["items"])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if schema.get("type") == "object":
        inner = schema["additionalProperties"]
        return f"Record<string, {'Json' if inner is True else _typed(inner)}>"
    return _NAMES.get(schema.get("type", ""), "Json")


def _events() -> str:
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
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in inner)
    if origin in (UnionType, Union):
        return " | ".join(_type(each) for each in inner)
    if origin in (list, dict):
        inside = _type(inner[-1])
        return f"{inside}[]" if origin is list else f"Record<string, {inside}>"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation.__name__
    return _PLAIN[annotation]


def main() -> int:
    """Write the file, or say that it is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check, wanted = parser.parse_args().check, written()
    stale = [
        name
        for name, text in wanted.items()
        if not (FOLDER / name).is_file() or (FOLDER / name).read_text(encoding="utf-8") != text
    ]
    for name in stale:
        if check:
            sys.stderr.write(f"{name} is stale: run 'python ui/shapes.py'.\n")
        else:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
