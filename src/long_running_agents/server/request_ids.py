"""A name for every request, so that what is logged and traced can be found again."""

import re
import secrets
from contextlib import nullcontext

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from long_running_agents import correlation
from long_running_agents.agent.tracing import continued

_NAME = b"x-request-id"
_HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")
_STARTS = ("http.response.start", "websocket.accept", "websocket.http.response.start")


def accepted(given: str | None) -> str:
    """The name that a client gives its request, if it is short and harmless; or a new one."""
    if given is not None and _HARMLESS.fullmatch(given):
        return given
    return secrets.token_hex(8)


def _given(scope: Scope) -> str | None:
    return next((text.decode("latin-1") for name, text in scope["headers"] if name == _NAME), None)


class RequestIds:
    """Names each request, tells the client, and goes on with the trace it is a part of.

    Args:
        app: Whoever answers.
        traced: Whether anybody traces.
    """

    def __init__(self, app: ASGIApp, *, traced: bool = False) -> None:
        self._app = app
        self._traced = traced

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer under a name."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        name = accepted(_given(scope))
        header = (_NAME, name.encode())

        async def named(message: Message) -> None:
            if message["type"] in _STARTS:
                message["headers"] = [*message.get("headers", ()), header]
            await send(message)

        trace = continued(Headers(scope=scope)) if self._traced else nullcontext()
        with correlation.request(name), trace:
            await self._app(scope, receive, named)
