"""The trial of a function: sample calls from its schema, run in a sandbox, and its JSON checked."""

import asyncio
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar, cast

from long_running_agents.domain.json_schema import mapped
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.skill import (
    Attempt,
    Interface,
    Json,
    SkillExample,
    SkillLimits,
    SkillTrial,
    Version,
)
from long_running_agents.sandbox.base import ExecResult, FailureName, Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCandidate:
    """What is tried."""

    source: str
    interface: Interface
    limits: SkillLimits
    examples: Sequence[SkillExample]


async def run(
    sandbox: Sandbox, function: Version | TrialCandidate, args: Json, context: Json
) -> ExecResult:
    """Call a function once; a failure of its code is part of the result."""
    interface, limits = function.interface, function.limits
    given = {**args, interface.context: context} if interface.context else args
    memory = limits.memory << 20
    return await sandbox.call(
        function.source, interface.function, given, limits.timeout, memory=memory
    )


_MOST = 3
"""Complaints that are told."""
_LONGEST = 300
# A pattern of somebody else's could keep this process busy for ever.
_UNTRIED = frozenset({"pattern", "patternProperties", "format", "$dynamicRef"})
_TOO_MANY = frozenset({"additionalProperties", "unevaluatedProperties"})
_OUTSIDE = re.compile(r'"\$ref": "(?!#)([^"]{0,120})')
_MOST_REFERENCES = 10_000
"""References that are followed: a schema can be small and yet take for ever."""


def complaints(schema: Json | None, value: object) -> str:
    """What is wrong with a value, in words; empty when nothing is."""
    if schema is None:
        return ""
    # Slow to import, and most turns check nothing.
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    try:
        errors = _validator(_harmless(schema)).iter_errors(value)
        found: list[Any] = sorted(errors, key=lambda error: error.json_path)
    except (RecursionError, Unresolvable):
        return "the schema refers to what is not in it, or to itself without end"
    told = [f"{_where(error.json_path)}{error.message[:_LONGEST]}" for error in found[:_MOST]]
    return "; ".join(told)


def _validator(schema: Any) -> Any:
    """A validator that fetches nothing, and does not follow references for ever."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - as above
    from referencing import Registry  # noqa: PLC0415 - as above

    followed = itertools.count()
    usual: Any = Draft202012Validator
    library: Any = validators
    nothing: Any = Registry

    def follow(validator: Any, ref: str, value: object, schema: Any) -> Iterator[Any]:
        if next(followed) >= _MOST_REFERENCES:
            raise RecursionError
        yield from usual.VALIDATORS["$ref"](validator, ref, value, schema)

    return library.extend(usual, {"$ref": follow})(schema, registry=nothing())


def invalid(schema: Json) -> str:
    """Why a schema is none that can be checked; empty when it is one."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - as above

    try:
        Draft202012Validator.check_schema(schema)
        outside = _OUTSIDE.search(json.dumps(schema))
    except SchemaError as error:
        return f"it is no JSON Schema ({error.message[:120]})"
    except RecursionError:
        return "it is too deep"
    return "" if outside is None else f"it refers to {outside[1]}, which is not fetched"


def equal(one: object, other: object) -> bool:
    """Whether two pieces of JSON are the same, but for the last digits of a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        ours, theirs = cast("list[object]", one), cast("list[object]", other)
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    if isinstance(one, dict) and isinstance(other, dict):
        mine, yours = cast("Json", one), cast("Json", other)
        return mine.keys() == yours.keys() and all(equal(mine[key], yours[key]) for key in mine)
    return one == other


def _where(path: str) -> str:
    inside = path.removeprefix("$").lstrip(".")
    return f"{inside}: " if inside else ""


def _harmless(schema: Json, depth: int = 0) -> Json:
    if depth > 50:  # noqa: PLR2004 - deeper than anybody reads
        return {}
    # Where names go by patterns, nobody knows which are too many.
    dropped = _UNTRIED | _TOO_MANY if "patternProperties" in schema else _UNTRIED
    kept = {key: value for key, value in schema.items() if key not in dropped}
    return mapped(kept, lambda inner: _harmless(inner, depth + 1))


SAMPLE: Json = {"session_id": "trial", "turn_id": "trial", "owner": "trial", "agent": "lra"}
"""The context of a call that no conversation has asked for."""

_AT_ONCE = 2
_SHOWN = 500
_BROKEN = frozenset(FailureName) | {
    "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError",
    "MemoryError", "RecursionError", "SystemExit",
}  # fmt: skip
"""What no arguments excuse."""
_NO_JSON = "no JSON: "
"""How the sandbox says that a result is none; no arguments excuse that either."""

Lend = Callable[[], AbstractAsyncContextManager[Sandbox]]
"""Lends a fresh sandbox with an empty workspace, and takes it back."""


class Trials:
    """Tries functions, a few at a time."""

    def __init__(self, lend: Lend, clock: Clock) -> None:
        self._lend = lend
        self._clock = clock
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def of(self, candidate: Version | TrialCandidate, context: Json) -> SkillTrial:
        """Call a function with its examples.

        Raises:
            SandboxUnavailable: Nothing can be tried here.
        """
        attempts: list[Attempt] = []
        broken = ""
        async with self._turn, self._lend() as sandbox:
            for example in candidate.examples:
                result = await run(sandbox, candidate, example.args, context)
                attempt = _judged(candidate.interface, example, result)
                attempts.append(attempt)
                if attempt.error and (not example.derived or not _excused(result)):
                    # One more call would say nothing new, or has no sandbox any more.
                    given = ", ".join(
                        f"{name}={_short(each)}" for name, each in example.args.items()
                    )
                    called = f"{candidate.interface.function}({given[:_SHOWN]})"
                    broken = f"{called} {attempt.error}"
                    break
        if not broken and all(attempt.error for attempt in attempts):
            last = attempts[-1].error if attempts else "no call could be made from its signature"
            broken = (
                f"no call that was made from its signature worked ({last}); give examples that do"
            )
        return SkillTrial(
            at=self._clock.now(),
            passed=not broken,
            reason=broken[: 4 * _SHOWN],
            attempts=tuple(attempts),
        )


def _judged(interface: Interface, example: SkillExample, result: ExecResult) -> Attempt:
    """Whether a call did what it should."""
    error = ""
    if result.error is not None:
        error = f"fails: {result.error.name}: {result.error.message}".rstrip(": ")
    elif wrong := complaints(interface.returns, result.value):
        error = f"returns {_short(result.value)}, which is not what its signature says: {wrong}"
    elif example.checked and not equal(result.value, example.result):
        error = f"returns {_short(result.value)} instead of {_short(example.result)}"
    return Attempt(
        args=example.args,
        shown=_short(result.value) if result.error is None else "",
        error=error[: 2 * _SHOWN],
        derived=example.derived,
        duration_ms=result.duration_ms,
        memory=result.memory,
    )


def _excused(result: ExecResult) -> bool:
    """Whether a failure may be that of arguments that make no sense."""
    if result.error is None:
        return False
    return result.error.name not in _BROKEN and not result.error.message.startswith(_NO_JSON)


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_T = TypeVar("_T")

_SENTENCE = "The quick brown fox jumps over the lazy dog."
_TEXTS: Mapping[str, str] = {
    "url": "https://example.com/articles?page=2", "link": "https://example.com/articles?page=2",
    "uri": "https://example.com/articles?page=2", "host": "example.com", "domain": "example.com",
    "email": "ada@example.com", "mail": "ada@example.com", "date": "2024-05-17",
    "day": "2024-05-17", "start": "2024-05-01", "end": "2024-05-17",
    "datetime": "2024-05-17T12:30:00+00:00", "timestamp": "2024-05-17T12:30:00+00:00",
    "time": "12:30", "timezone": "Europe/Berlin", "path": "notes/example.txt",
    "file": "notes/example.txt", "filename": "example.txt", "name": "Ada Lovelace",
    "title": "A short title", "text": _SENTENCE, "content": _SENTENCE, "sentence": _SENTENCE,
    "message": _SENTENCE, "query": "quick fox", "word": "level", "language": "en", "lang": "en",
    "locale": "en_US", "currency": "EUR", "country": "DE", "city": "Berlin", "color": "#336699",
    "colour": "#336699", "phone": "+49 30 123456", "json": '{"name": "Ada", "values": [1, 2, 3]}',
    "csv": "name,value\nAda,1\nGrace,2\n", "html": "<p>Hello <b>world</b></p>",
    "markdown": "# Title\n\nSome *text*.\n", "xml": "<a><b>1</b></a>", "pattern": r"\w+",
    "regex": r"\w+", "format": "%Y-%m-%d", "ip": "192.0.2.1",
    "uuid": "12345678-1234-5678-1234-567812345678", "id": "a1", "key": "name", "period": "month",
    "symbol": "ABC", "unit": "km", "separator": ",", "delimiter": ",", "code": "x = 1\n",
    "expression": "1 + 2 * 3", "isbn": "978-3-16-148410-0", "iban": "DE89370400440532013000",
    "roman": "XIV", "hex": "ff8800", "binary": "1011", "number": "42",
}  # fmt: skip
_FORMATS = {
    "date": _TEXTS["date"], "date-time": _TEXTS["datetime"], "time": "12:30:00Z",
    "email": _TEXTS["email"], "uri": _TEXTS["url"], "uuid": _TEXTS["uuid"], "ipv4": _TEXTS["ip"],
}  # fmt: skip
_WHOLE: Mapping[str, int] = {
    "period": 5, "window": 5, "count": 3, "n": 5, "k": 3, "limit": 10, "size": 10, "length": 12,
    "width": 80, "year": 2024, "month": 5, "day": 17, "hour": 12, "minute": 30, "second": 15,
    "age": 36, "port": 8080, "base": 10, "precision": 2, "digits": 2, "page": 1, "seed": 1,
    "percent": 50, "timestamp": 1_715_949_000, "index": 1, "exponent": 2, "start": 1, "end": 10,
}  # fmt: skip
_REAL: Mapping[str, float] = {
    "price": 101.5, "rate": 0.05, "ratio": 0.5, "percent": 12.5, "percentage": 12.5,
    "probability": 0.25, "lat": 52.52, "lat1": 52.52, "lat2": 48.85, "latitude": 52.52,
    "lon": 13.4, "lon1": 13.4, "lon2": 2.35, "lng": 13.4, "longitude": 13.4, "weight": 70.0,
    "height": 1.75, "temperature": 21.5, "celsius": 21.5, "fahrenheit": 70.0, "amount": 250.0,
    "principal": 1000.0, "threshold": 0.5, "alpha": 0.3,
}  # fmt: skip

_STEPS = (1.5, -0.5, 2.0, 0.5, -1.0)
_FRUIT = ("apple", "banana", "cherry", "date", "elderberry", "fig", "grape")


def _named(table: Mapping[str, _T], name: str, usual: _T) -> _T:
    """What an argument of this name may well be."""
    return next((table[word] for word in _words(name) if word in table), usual)


def _reals(count: int) -> list[float]:
    """Numbers that rise, with a setback now and then."""
    found = [100.0]
    while len(found) < count:
        found.append(found[-1] + _STEPS[(len(found) - 1) % len(_STEPS)])
    return found[:count]


def _wholes(count: int) -> list[int]:
    """Whole numbers that rise, with a setback now and then."""
    return [3 * place - (4 if place % 4 == 3 else 0) + 2 for place in range(count)]  # noqa: PLR2004


def _texts(count: int) -> list[str]:
    """Words, all different as far as there are enough."""
    return [_FRUIT[at % len(_FRUIT)] + str(at // len(_FRUIT) or "") for at in range(count)]


def _words(name: str) -> list[str]:
    """The words of a name, the last first: a start_date is a date. Plurals count, too."""
    words = name.lower().split("_")[::-1]
    return [form for word in [name.lower(), *words] for form in (word, word.removesuffix("s"))]


_MOST_CALLS = 6
_DEEPEST = 6
_TYPICAL_ITEMS = 16
"""Enough for a window of 14."""
_LARGER_ITEMS = 60
_LONGEST_TEXT = 2000


class _Edge(IntEnum):
    """Which one of several values is taken."""

    TYPICAL = 0
    SMALL = 1
    """Nothing, or as little as may be."""
    LARGE = 2
    NEGATIVE = 3
    """Below zero, and letters that are not English."""


def sample_calls(parameters: Json) -> tuple[SkillExample, ...]:
    """Up to six calls that the schema takes: a typical one, and some at the edges."""
    properties = cast("dict[str, Json]", parameters.get("properties", {}))
    required = set(cast("list[str]", parameters.get("required", [])))
    if not properties:
        return (SkillExample(args={}, derived=True),)
    usual, small, large, negative = (
        {name: _value(schema, name, edge, 0) for name, schema in properties.items()}
        for edge in _Edge
    )
    settled = {
        name: value if properties[name].get("default") is None else properties[name]["default"]
        for name, value in usual.items()
    }
    needed = {name: value for name, value in usual.items() if name in required}
    found: dict[str, SkillExample] = {}
    for args in (settled, needed, small, large, negative, usual):
        key = json.dumps(args, sort_keys=True)
        if key not in found and not complaints(parameters, args):
            found[key] = SkillExample(args=args, derived=True)
    return tuple(found.values())[:_MOST_CALLS]


def _value(schema: Json, name: str, edge: _Edge, depth: int) -> Any:
    if "const" in schema:
        return schema["const"]
    if choices := schema.get("enum"):
        return choices[(0, 0, -1, len(choices) // 2)[edge]]
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches and "type" not in schema:
        return _value(_branch(branches, edge), name, edge, depth + 1)
    return _of_kind(schema, name, edge, depth)


def _of_kind(schema: Json, name: str, edge: _Edge, depth: int) -> Any:
    given = cast("object", schema.get("type", "string"))
    match cast("list[object]", given)[0] if isinstance(given, list) else given:
        case "integer":
            found = _integer(schema, name, edge)
        case "number":
            found = _number(schema, name, edge)
        case "boolean":
            found = edge in (_Edge.TYPICAL, _Edge.LARGE)
        case "null":
            found = None
        case "array":
            found = _array(schema, name, edge, depth)
        case "object":
            found = _object(schema, name, edge, depth)
        case _:
            found = _text(schema, name, edge)
    return found


def _branch(branches: Sequence[Json], edge: _Edge) -> Json:
    nothing = [branch for branch in branches if branch.get("type") == "null"]
    something = [branch for branch in branches if branch.get("type") != "null"]
    if edge is _Edge.SMALL and nothing:
        return nothing[0]
    return (something or nothing)[-1 if edge is _Edge.LARGE else 0]


def _integer(schema: Json, name: str, edge: _Edge) -> int:
    wished = (_named(_WHOLE, name, 7), 0, 100, -3)[edge]
    lowest, highest = _bounds(schema, 1)
    step = schema.get("multipleOf")
    found = math.ceil(max(wished, lowest)) if lowest > -math.inf else wished
    if isinstance(step, int) and step > 0:
        found = -(-found // step) * step
        return found if found <= highest else int(highest // step) * step
    return found if found <= highest else math.floor(highest)


def _number(schema: Json, name: str, edge: _Edge) -> float:
    wished = (_named(_REAL, name, 2.5), 0.0, 10_000.0, -1.5)[edge]
    lowest, highest = _bounds(schema, 0.001)
    if lowest > highest:
        lowest, highest = _bounds(schema, 0)
        return (lowest + highest) / 2
    return float(min(max(wished, lowest), highest))


def _bounds(schema: Json, gap: float) -> tuple[float, float]:
    """The lowest and the highest number; a gap away from what is excluded."""
    lowest = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf) + gap)
    highest = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf) - gap)
    return lowest, highest


def _text(schema: Json, name: str, edge: _Edge) -> str:
    usual = _FORMATS.get(str(schema.get("format", ""))) or _named(_TEXTS, name, "Hello, world!")
    large = " ".join([usual] * 20) if " " in usual else usual
    foreign = usual if "format" in schema else "Grüße, 世界 🙂"
    wished = (usual, "", large, foreign)[edge]
    shortest = min(int(schema.get("minLength", 0)), _LONGEST_TEXT)
    longest = int(schema.get("maxLength", _LONGEST_TEXT))
    return (wished + "x" * max(shortest - len(wished), 0))[:longest]


def _array(schema: Json, name: str, edge: _Edge, depth: int) -> list[Any]:
    first = cast("list[Json]", schema.get("prefixItems", []))
    found = [_value(item, name, edge, depth + 1) for item in first]
    items = cast("Json", schema.get("items", {})) if isinstance(schema.get("items"), dict) else {}
    if schema.get("maxItems") == len(found) or depth >= _DEEPEST:
        return found
    many = _is_number(items) and not depth
    usual, large = (_TYPICAL_ITEMS, _LARGER_ITEMS) if many else (3, 5)
    count = max((usual, 0, large, usual)[edge], min(int(schema.get("minItems", 0)), _LARGER_ITEMS))
    count = min(count, int(schema.get("maxItems", count)))
    return found + _items(items, name, edge, max(count - len(found), 0), depth)


def _is_number(items: Json) -> bool:
    return items.get("type") in ("integer", "number") and "enum" not in items


def _items(items: Json, name: str, edge: _Edge, count: int, depth: int) -> list[Any]:
    if _is_number(items):
        whole = items["type"] == "integer"
        lowest, highest = _bounds(items, 1 if whole else 0.001)
        sign = -1 if edge is _Edge.NEGATIVE else 1
        given = _wholes(count) if whole else _reals(count)
        found = [min(max(sign * number, lowest), highest) for number in given]
        return [int(number) for number in found] if whole else found
    if items.get("type", "string") == "string" and not set(items) - {"type", "description"}:
        return _texts(count) if edge is not _Edge.NEGATIVE else ["", "ß", "世界"]
    if choices := items.get("enum"):
        return [choices[place % len(choices)] for place in range(count)]
    return [_value(items, name, edge, depth + 1) for _ in range(count)]


def _object(schema: Json, name: str, edge: _Edge, depth: int) -> Json:
    properties = cast("dict[str, Json]", schema.get("properties", {}))
    if depth >= _DEEPEST:
        return {}
    if properties:
        required = cast("list[str]", schema.get("required", []))
        chosen = required if edge is _Edge.SMALL else list(properties)
        return {key: _value(properties.get(key, {}), key, edge, depth + 1) for key in chosen}
    if edge is _Edge.SMALL:
        return {}
    names = cast("Json", schema.get("propertyNames", {})).get("enum") or ["a", "b", "c"]
    values = schema.get("additionalProperties")
    inner = cast("Json", values) if isinstance(values, dict) else {"type": "integer"}
    return {str(key): _value(inner, name, edge, depth + 1) for key in names[:3]}
