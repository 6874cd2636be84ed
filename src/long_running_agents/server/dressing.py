"""The headers that every response wears."""

import re
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

_USUAL: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
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

    async def sending(message: Message) -> None:
        if message["type"] in _STARTS:
            headers = MutableHeaders(scope=message)
            for name, value in _USUAL.items():
                headers.setdefault(name, value)
            if origin is not None:
                headers["access-control-allow-origin"] = origin
                headers["access-control-expose-headers"] = "*"
            headers.add_vary_header("Origin")
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
