"""A picture that goes with a message: kept once, and named wherever it is shown."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from long_running_agents.errors import TooLarge, UsageError

MOST = 8
"""Pictures in one message."""
LARGEST = 5_000_000
"""Bytes of one picture."""
WEIGHT = 3000
"""What a picture counts for where characters are counted: about a thousand tokens."""

_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
KINDS = frozenset(_KINDS.values())


@dataclass(frozen=True, slots=True)
class Picture:
    """What it is called, and what it holds."""

    id: str
    data: bytes


def picture(data: bytes) -> Picture:
    """Take a picture for what it is, whatever it is said to be."""
    if len(data) > LARGEST:
        raise TooLarge(f"A picture has more than {LARGEST} bytes.", hint="Send a smaller one.")
    kind = next((kind for start, kind in _KINDS.items() if data.startswith(start)), None)
    if kind is None:
        raise UsageError("This is no PNG, JPEG, GIF or WebP picture.", hint="Convert it first.")
    return Picture(f"{hashlib.sha256(data).hexdigest()[:32]}.{kind}", data)


def from_urls(urls: Sequence[str]) -> tuple[Picture, ...]:
    """The pictures in data URLs; an address is not followed."""
    if len(urls) > MOST:
        raise UsageError(f"A message has at most {MOST} pictures.", hint="Send fewer.")
    return tuple(picture(_decoded(url)) for url in dict.fromkeys(urls))


def _decoded(url: str) -> bytes:
    head, _, rest = url.partition(",")
    if not head.startswith("data:") or not head.endswith(";base64"):
        raise UsageError(
            f"Pictures are not fetched from an address ({url[:60]!r}).",
            hint="Send the picture itself, as data:image/png;base64,…",
        )
    try:
        return base64.b64decode(rest, validate=True)
    except ValueError:
        raise UsageError("A picture is not valid base64.", hint="Encode it again.") from None
