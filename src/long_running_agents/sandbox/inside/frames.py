"""Messages between processes: a length and JSON."""

from __future__ import annotations

import os
import struct
from _json import encode_basestring_ascii, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    Message = dict[str, Any]

HEAD = struct.Struct("!I")
LARGEST = 64 << 20

# Bound now: a cell may replace the functions of any module, and its answer must still go out.
_write = os.write
_read = os.read


class _Reading:
    """How the scanner is to take what it finds."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


# What the module json is made of, without the milliseconds that it takes to import.
_scan = make_scanner(_Reading)  # pyright: ignore[reportArgumentType]


class Broken(Exception):
    """The other side is gone, or does not speak our language."""


def write_frame(descriptor: int, message: Message) -> None:
    """Send a message."""
    send(descriptor, written(message))


def send(descriptor: int, content: bytes) -> None:
    """Send a message that was written before."""
    left = memoryview(content)
    while left:
        left = left[_write(descriptor, left) :]


def written(message: Message, *, strict: bool = False) -> bytes:
    """A message as it is sent; strictly, or with the text of what JSON does not know.

    Raises:
        TypeError: It is no JSON, and strictly that was wanted.
        ValueError: It holds itself, or strictly NaN.
    """
    default = _refuse if strict else repr
    text = encode_basestring_ascii
    encode = make_encoder({}, default, text, None, ": ", ", ", False, False, not strict)  # noqa: FBT003 - it takes no names
    body = "".join(encode(message, 0)).encode()
    return HEAD.pack(len(body)) + body


def _refuse(value: object) -> Any:
    if hasattr(type(value), "__dataclass_fields__"):
        from dataclasses import fields  # noqa: PLC0415 - whoever made the class has it already

        return {field.name: getattr(value, field.name) for field in fields(value)}  # pyright: ignore[reportArgumentType]
    raise TypeError(f"a value of type {type(value).__name__}")


def read_frame(descriptor: int) -> Message:
    """Wait for a message."""
    size = HEAD.unpack(_read_exactly(descriptor, HEAD.size))[0]
    if size > LARGEST:
        raise Broken
    return parse(_read_exactly(descriptor, size))


def parse(body: bytes) -> Message:
    """Read a message that has arrived."""
    try:
        text = body.decode()
        message, end = _scan(text, 0)
        if end != len(text):
            raise Broken
    except (ValueError, RecursionError, StopIteration) as error:
        raise Broken from error
    if not isinstance(message, dict):
        raise Broken
    return message  # pyright: ignore[reportUnknownVariableType]


def _read_exactly(descriptor: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = _read(descriptor, min(size, 1 << 20))
        if not part:
            raise Broken
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class suppress:  # noqa: N801 - reads as the one of contextlib, which it stands for
    """Ends a block at an exception of these kinds; contextlib would take longer to import."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)
