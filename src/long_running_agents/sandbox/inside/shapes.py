"""Gives a function its arguments in the shapes that its hints name: JSON has fewer of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SIGNS = str.maketrans("[],|", "    ")
_AS_THEY_ARE = frozenset(
    {"str", "int", "float", "bool", "None", "list", "dict", "List", "Dict", "Optional", "Union"}
    | {"Any", "object"}
)
"""Words of hints that ask for nothing but JSON."""
_GROUPS = frozenset({"set", "frozenset", "tuple"})


def shaped(function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with a dataclass, an enumeration, a set or a tuple where a hint says so."""
    hints = _hints(function)
    return {
        name: _shape(hints[name], value) if name in hints else value
        for name, value in arguments.items()
    }


def _hints(function: Any) -> dict[str, Any]:
    told = getattr(function, "__annotations__", {})
    if all(_plain(hint) for name, hint in told.items() if name != "return"):
        return {}
    from typing import get_type_hints  # noqa: PLC0415 - takes as long as all the rest

    try:
        return get_type_hints(function)
    except Exception:  # noqa: BLE001 - foreign hints; most functions do without
        return {}


def _plain(hint: object) -> bool:
    return isinstance(hint, str) and not set(hint.translate(_SIGNS).split()) - _AS_THEY_ARE


def _shape(hint: Any, value: Any) -> Any:
    from typing import get_args, get_origin  # noqa: PLC0415 - as above

    origin = get_origin(hint)
    if origin is not None:
        return _of_parts(getattr(origin, "__name__", ""), get_args(hint), value)
    if not isinstance(hint, type):
        return value
    kind: Any = hint
    if _is(value, dict) and hasattr(kind, "__annotations__"):
        return _fields(kind, value)
    if hasattr(kind, "__members__") or (_is(value, list) and kind.__name__ in _GROUPS):
        return kind(value)
    return value


def _fields(kind: Any, value: dict[str, Any]) -> Any:
    """An object of a class with fields; of a typed dict, the dict."""
    from typing import get_type_hints  # noqa: PLC0415 - as above

    hints = get_type_hints(kind)
    found = {key: _shape(hints.get(key), inner) for key, inner in value.items()}
    return kind(**found) if hasattr(kind, "__dataclass_fields__") else found


def _of_parts(name: str, parts: tuple[Any, ...], value: Any) -> Any:
    """A value for a hint that is made of others."""
    if name in ("Union", "UnionType"):
        return _either(parts, value)
    if _is(value, dict) and len(parts) == 2:  # noqa: PLR2004 - keys and values
        return {key: _shape(parts[1], inner) for key, inner in value.items()}
    if _is(value, list) and parts:
        return _group(name, parts, value)
    return value


def _group(name: str, parts: tuple[Any, ...], value: list[Any]) -> Any:
    if name == "tuple" and parts[-1] is not ...:
        return tuple(map(_shape, parts, value))
    items = [_shape(parts[0], item) for item in value]
    if name == "tuple":
        return tuple(items)
    if name == "frozenset":
        return frozenset(items)
    return set(items) if name in ("set", "Set", "MutableSet") else items


def _either(parts: tuple[Any, ...], value: Any) -> Any:
    """What the first part makes of a value that makes something of it."""
    for part in parts:
        try:
            found = _shape(part, value)
        except (TypeError, ValueError):
            continue
        if found is not value:
            return found
    return value


def _is(value: object, kind: type) -> bool:
    # Not narrowed: what is inside is anything.
    return isinstance(value, kind)
