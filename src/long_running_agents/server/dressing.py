"""The headers that every response wears."""

import re

from starlette.types import Message, Send

_USUAL = (
    (
        b"content-security-policy",
        b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_STARTS = frozenset({"http.response.start", "websocket.http.response.start"})
_NAMES = re.compile(r"[A-Za-z0-9, _-]{1,1000}")
_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_DAY = "86400"


def dressed(send: Send, origin: str | None) -> Send:
    """Have every response say what a browser may do with it.

    A page that has to load scripts sets a policy of its own, which is left alone.

    Args:
        send: Sends a message.
        origin: The site of another server that may read the response.
    """
    own = [(b"vary", b"Origin")]
    if origin is not None:
        own.append((b"access-control-allow-origin", origin.encode("latin-1")))
        own.append((b"access-control-expose-headers", b"*"))

    async def sending(message: Message) -> None:
        if message["type"] in _STARTS:
            said = message.get("headers", ())
            names = {name.lower() for name, _ in said}
            message["headers"] = [*said, *(pair for pair in _USUAL if pair[0] not in names), *own]
        await send(message)

    return sending


def permission(asked: str) -> dict[str, str]:
    """What a page of an allowed site may send, as the answer to its browser's question.

    Args:
        asked: The headers that it wants to send.
    """
    told = {"access-control-allow-methods": _METHODS, "access-control-max-age": _DAY}
    if _NAMES.fullmatch(asked):
        told["access-control-allow-headers"] = asked
    return told
