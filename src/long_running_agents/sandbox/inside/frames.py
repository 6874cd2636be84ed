"""Messages between processes: a length and JSON."""

from __future__ import annotations

import json
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

HEAD = struct.Struct("!I")
LARGEST = 64 << 20

# Bound now: a cell may replace the functions of any module, and its answer must still go out.
_write = os.write
_read = os.read
_dumps = json.dumps
_loads = json.loads


class Broken(Exception):
    """The other side is gone, or does not speak our language."""


def write_frame(descriptor: int, message: Message) -> None:
    """Send a message."""
    body = _dumps(message, default=repr).encode("utf-8", "replace")
    left = memoryview(HEAD.pack(len(body)) + body)
    while left:
        left = left[_write(descriptor, left) :]


def read_frame(descriptor: int) -> Message:
    """Wait for a message."""
    size = HEAD.unpack(_read_exactly(descriptor, HEAD.size))[0]
    if size > LARGEST:
        raise Broken
    return parse(_read_exactly(descriptor, size))


def parse(body: bytes) -> Message:
    """Read a message that has arrived."""
    try:
        message: object = _loads(body)
    except (ValueError, RecursionError) as error:
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
