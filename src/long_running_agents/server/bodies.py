"""Bodies of requests: read with a limit, and parsed so that nothing odd gets past this point."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from typing_extensions import override

from long_running_agents.domain import strict_json
from long_running_agents.server.callers import Allowed

MOST = 8 << 20
"""Bytes of the longest JSON body."""

_TOO_LARGE = 413
_OTHER_KIND = 415


async def read(request: Request, most: int) -> bytes:
    """The whole body.

    Raises:
        HTTPException: It is longer than this; the rest is not read.
    """
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise HTTPException(_TOO_LARGE, f"The body has more than {most} bytes.")
        pieces.append(piece)
    return b"".join(pieces)


def expect(request: Request, kind: str) -> None:
    """See that a body says it is of a kind that no form of another site can send.

    Raises:
        HTTPException: It says something else, or nothing.
    """
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said != kind:
        raise HTTPException(_OTHER_KIND, f"The body has to be {kind!r}.")


class JsonRequest(Request):
    """A request whose body is JSON, and is taken as nothing else."""

    @override
    async def body(self) -> bytes:
        """All of it, up to the limit."""
        if not hasattr(self, "_body"):
            self._body = await read(self, MOST)
        return self._body

    @override
    async def json(self) -> Any:
        """The value of it.

        Raises:
            UsageError: It is not what JSON should be.
            HTTPException: It is too long, or says that it is something else.
        """
        if not hasattr(self, "_json"):
            expect(self, "application/json")
            self._json: Any = strict_json.parse(await self.body())
        return self._json


class JsonRoute(APIRoute):
    """A route whose body, if it has one, is parsed by us: ``APIRouter(route_class=JsonRoute)``."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Take the first line of what the handler says of itself as the summary."""
        said = inspect.getdoc(endpoint) or ""
        options["summary"] = options.get("summary") or said.partition("\n")[0].rstrip(".")
        super().__init__(path, endpoint, **options)
        scopes = [
            str(each.call.scope)
            for each in self.dependant.dependencies
            if isinstance(each.call, Allowed)
        ]
        if scopes:
            self.openapi_extra = {"x-scope": scopes[0], **(self.openapi_extra or {})}

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Parse first, so that what is wrong is told as we tell it."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle
        needed = self.body_field.field_info.is_required()

        async def parsed(request: Request) -> Response:
            own = JsonRequest(request.scope, request.receive)
            if needed or await own.body():
                await own.json()
            return await handle(own)

        return parsed
