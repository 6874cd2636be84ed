"""Tool calls that a model has written into its text.

Models that were not trained for tools, or whose server does not notice their calls, write them
down in one of a few forms. Only the names of known tools count, and a text is read only when the
model itself wrote it: what tools and users say is never searched for calls.
"""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Any, cast

Json = dict[str, Any]
Names = frozenset[str]

NAME_KEYS = ("name", "tool", "tool_name", "function")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
OTHER_KEYS = ("type", "id", "tool_calls")

_DECODER = json.JSONDecoder(strict=False)
_TOOL_TAG = re.compile(r"""<tool\s+name\s*=\s*["']([^"'<>]+)["']\s*>(.*?)</tool>""", re.DOTALL)
_FUNCTION_TAG = re.compile(r"<function=([^<>\s]+)\s*>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^<>\s]+)\s*>(.*?)(?:</parameter>|\Z)", re.DOTALL)
_BROKEN_NAME = re.compile(r'"(?:name|tool|tool_name)"\s*:\s*"([^"]+)"')
_BROKEN_ARGUMENTS = re.compile(r'"(?:arguments|parameters|args|input)"\s*:\s*')
_LONGEST_LINE = 20_000


@dataclass(frozen=True, slots=True)
class TextCall:
    """One call, as it was written."""

    name: str
    arguments: str
    """JSON text; not valid when the model miswrote it, so that it will be told."""


def in_block(text: str, names: Names) -> list[TextCall]:
    """The calls in a text that is all calls: the inside of a fence or of a tag."""
    text = text.strip()
    if text.startswith("<"):
        return in_tags(text, names)
    return in_json(text, names) or in_python(text, names)


def in_tags(text: str, names: Names) -> list[TextCall]:
    """The calls in ``<tool name="x">{}</tool>`` and ``<function=x>{}</function>``."""
    found: list[TextCall] = []
    for tag in (_TOOL_TAG, _FUNCTION_TAG):
        for name, inside in tag.findall(text):
            arguments = arguments_in(inside)
            if name in names and arguments is not None:
                found.append(TextCall(name, arguments))
    return found


def arguments_in(text: str) -> str | None:
    """Arguments as JSON text, from a JSON object, ``<parameter=x>`` tags, or nothing at all."""
    text = text.strip()
    if not text:
        return "{}"
    if text.startswith("<parameter="):
        values = {key: _value(value.strip("\n")) for key, value in _PARAMETER.findall(text)}
        return json.dumps(values, ensure_ascii=False)
    found = _loads(text)
    return json.dumps(found, ensure_ascii=False) if isinstance(found, dict) else None


def _value(text: str) -> object:
    # Everything else stays text: a schema that wants a number reads it from text as well.
    if text.lstrip().startswith(("{", "[")):
        found = _loads(text)
        return text if found is None else found
    return text


def in_json(text: str, names: Names) -> list[TextCall]:
    """The calls in JSON objects, in lists of them, or in several one after the other."""
    found: list[TextCall] = []
    rest = text.strip()
    while rest:
        decoded = first_json(rest)
        if decoded is None:
            return []
        value, end = decoded
        calls = calls_of(value, names)
        if not calls:
            return []
        found.extend(calls)
        rest = rest[end:].strip().lstrip(",;").lstrip()
    return found


def first_json(text: str) -> tuple[object, int] | None:
    """The JSON value that a text begins with, and where it ends."""
    try:
        return _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        pass
    # Some templates teach models to double the braces.
    if not text.startswith("{{"):
        return None
    whole = text.rstrip()
    value = _loads(whole)
    return None if value is None else (value, len(whole))


def _loads(text: str) -> object:
    text = text.strip()
    for attempt in (text, text[1:-1], text.replace("{{", "{").replace("}}", "}")):
        try:
            return _DECODER.decode(attempt)
        except (ValueError, RecursionError):
            if not (text.startswith("{{") and text.endswith("}}")):
                return None
    return None


def calls_of(value: object, names: Names) -> list[TextCall]:
    """The calls that a JSON value describes; none unless all of it does."""
    if isinstance(value, list):
        found = [calls_of(item, names) for item in cast("list[object]", value)]
        return [call for calls in found for call in calls] if all(found) else []
    if not isinstance(value, dict):
        return []
    described = cast("Json", value)
    inner = described.get("tool_calls", described.get("function"))
    if isinstance(inner, list | dict):
        return calls_of(cast("object", inner), names)
    name = next((described[key] for key in NAME_KEYS if key in described), None)
    arguments = cast(
        "object", next((described[key] for key in ARGUMENT_KEYS if key in described), None)
    )
    if isinstance(arguments, str):
        arguments = _loads(arguments or "{}")
    strange = described.keys() - {*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS}
    if not isinstance(name, str) or name not in names or strange:
        return []
    if not isinstance(arguments, dict | NoneType):
        return []
    return [TextCall(name, json.dumps(cast("object", arguments or {}), ensure_ascii=False))]


def in_python(text: str, names: Names) -> list[TextCall]:
    """The calls in lines of Python; none unless every line is a call."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = [list(_line(line, names)) for line in lines]
    return [call for calls in found for call in calls] if all(found) else []


def _line(line: str, names: Names) -> Iterator[TextCall]:
    if len(line) > _LONGEST_LINE:
        return
    try:
        node = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for item in node.elts if isinstance(node, ast.List) else [node]:
        call = _python_call(item, names)
        if call is None:
            return
        yield call


def _python_call(node: ast.expr, names: Names) -> TextCall | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if node.func.id == "print" and len(node.args) == 1 and not node.keywords:
        return _python_call(node.args[0], names)
    if node.func.id not in names or node.args:
        return None
    try:
        arguments = {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
        return TextCall(node.func.id, json.dumps(arguments, ensure_ascii=False))
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None


def miswritten(text: str, names: Names) -> TextCall | None:
    """The call that a text is meant to be although it cannot be read."""
    name = _BROKEN_NAME.search(text)
    arguments = _BROKEN_ARGUMENTS.search(text)
    if name is None or arguments is None or name[1] not in names:
        return None
    return TextCall(name[1], text[arguments.end() :].strip())
