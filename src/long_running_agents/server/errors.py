"""What goes wrong, in one shape: code and message, the next step, and the fields that are wrong."""

import logging
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from long_running_agents.errors import LraError, StorageFailed, TooMany, file_hint
from long_running_agents.models.chat_protocol import error_json
from long_running_agents.server.wire import WireResponse, example

log = logging.getLogger(__name__)


class WrongField(BaseModel):
    """One part of a request that cannot be taken."""

    field: str
    message: str


class ErrorBody(WireResponse):
    """The body of every response that is not a success."""

    model_config = example("""{"type": "error", "code": "not_found", "message": "No session 'x'.",
      "hint": "'lra sessions list' shows them.", "fields": []}""")

    type: Literal["error"] = "error"
    code: str
    message: str
    hint: str = ""
    fields: list[WrongField] = Field(default=[])


class OpenAIError(BaseModel):
    """What went wrong, as clients of OpenAI's protocols read it."""

    message: str
    type: str
    param: str | None = None
    """The field that is wrong."""
    code: str


class OpenAIErrorBody(BaseModel):
    """The body of every response there that is not a success."""

    error: OpenAIError


OPENAI_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": OpenAIErrorBody} for status in ("4XX", "5XX")
}
"""What the routes of these protocols say about their errors."""


class ErrorResponse(JSONResponse):
    """An error, in the shape that the path it is asked for makes one expect."""

    def __init__(self, status: int, body: ErrorBody, headers: Mapping[str, str]) -> None:
        super().__init__(body.model_dump(), status, dict(headers))
        self._body = body
        self._told = headers

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if not str(scope.get("path", "")).startswith(OPENAI):
            await super().__call__(scope, receive, send)
            return
        status = openai_status(self.status_code)
        body = openai_error(status, self._body)
        await JSONResponse(body, status, dict(self._told))(scope, receive, send)


OPENAI = "/v1/"
"""Where clients of OpenAI's protocols ask."""


def openai_status(status: int) -> int:
    """The status that such clients know: there, what cannot be understood is a bad request."""
    return HTTPStatus.BAD_REQUEST if status == HTTPStatus.UNPROCESSABLE_ENTITY else status


_KINDS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}


def openai_error(status: int, body: ErrorBody) -> dict[str, Any]:
    """An error as such clients read it."""
    ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    kind = _KINDS.get(status, "server_error" if ours else "invalid_request_error")
    wrong = [field.field.removeprefix("body.") for field in body.fields]
    message = f"{body.message} {body.hint}".rstrip()
    return error_json(message, kind, body.code, wrong[0] if wrong else None)


def refusal(error: LraError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error of ours as a response."""
    told = dict(headers or {})
    if isinstance(error, TooMany):
        told["Retry-After"] = str(math.ceil(error.seconds))
    return response(error.http_status, ErrorBody.of(error), told)


def response(
    status: int, body: ErrorBody, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as a response."""
    told = dict(headers or {})
    if status == HTTPStatus.UNAUTHORIZED:
        told["WWW-Authenticate"] = "Bearer"
    return ErrorResponse(status, body, told)


def handle_failures(app: FastAPI) -> None:
    """Answer whatever goes wrong in the one shape."""
    for kind in (LraError, RequestValidationError, HTTPException, OSError, Exception):
        app.add_exception_handler(kind, _failed)


async def _failed(request: Request, error: Exception) -> Response:
    match error:
        case LraError():
            return refusal(error)
        case RequestValidationError():
            return _misunderstood(error)
        case HTTPException():
            status = HTTPStatus(error.status_code)
            body = ErrorBody(code=status.name.lower(), message=str(error.detail))
            return response(status, body, error.headers)
        case _ if full := file_hint(error):
            return refusal(StorageFailed("A file cannot be written.", hint=full))
        case _:
            log.error("%s %s failed", request.method, request.url.path, exc_info=error)
            hint = "The log of the server says what."
            body = ErrorBody(code="failed", message="Something broke.", hint=hint)
            return response(HTTPStatus.INTERNAL_SERVER_ERROR, body)


def _misunderstood(error: RequestValidationError) -> Response:
    fields = wrong_fields(error.errors())
    said = "; ".join(f"{wrong.field}: {wrong.message}" for wrong in fields[:3])
    body = ErrorBody(
        code="bad_request",
        message=f"The request cannot be understood: {said}.",
        hint="/openapi.json says what is expected.",
        fields=fields,
    )
    return response(HTTPStatus.UNPROCESSABLE_ENTITY, body)


def wrong_fields(errors: Sequence[Any]) -> list[WrongField]:
    """What is wrong with a request, without repeating what it said: that may be anything."""

    def written(place: Sequence[object]) -> str:
        # A key of the body may have half a character in it, which no JSON can say.
        return ".".join(map(str, place)).encode("utf-8", "replace").decode() or "body"

    return [WrongField(field=written(error["loc"]), message=error["msg"]) for error in errors]
