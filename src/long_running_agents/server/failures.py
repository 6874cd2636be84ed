"""What goes wrong, in one shape: code and message, the next step, and the fields that are wrong."""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from long_running_agents.errors import LraError

log = logging.getLogger(__name__)


class WrongField(BaseModel):
    """One part of a request that cannot be taken."""

    field: str
    message: str


class ErrorBody(BaseModel):
    """The body of every response that is not a success."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "error",
                "code": "not_found",
                "message": "No session 'x'.",
                "hint": "'lra sessions list' shows them.",
                "fields": [],
            }
        }
    )

    type: Literal["error"] = "error"
    code: str
    message: str
    hint: str = ""
    fields: list[WrongField] = []


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


class Refusal(JSONResponse):
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
        await JSONResponse(body.model_dump(), status, dict(self._told))(scope, receive, send)


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


def openai_error(status: int, body: ErrorBody) -> OpenAIErrorBody:
    """An error as such clients read it."""
    ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    usual = "server_error" if ours else "invalid_request_error"
    wrong = [field.field.removeprefix("body.") for field in body.fields]
    error = OpenAIError(
        message=f"{body.message} {body.hint}".rstrip(),
        type=_KINDS.get(status, usual),
        param=wrong[0] if wrong else None,
        code=body.code,
    )
    return OpenAIErrorBody(error=error)


def refusal(error: LraError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error of ours as a response."""
    body = ErrorBody(code=error.code, message=error.message, hint=error.hint)
    return response(error.http_status, body, headers)


def response(
    status: int, body: ErrorBody, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error as a response."""
    told = dict(headers or {})
    if status == HTTPStatus.UNAUTHORIZED:
        told["WWW-Authenticate"] = "Bearer"
    return Refusal(status, body, told)


def handle_failures(app: FastAPI) -> None:
    """Answer whatever goes wrong in the one shape."""
    app.add_exception_handler(LraError, _ours)
    app.add_exception_handler(RequestValidationError, _wrong_request)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


async def _ours(_: Request, error: Exception) -> Response:
    assert isinstance(error, LraError)  # noqa: S101 - registered for nothing else
    return refusal(error)


async def _wrong_request(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for nothing else
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
    return [
        WrongField(
            field=".".join(_written(part) for part in error["loc"]) or "body", message=error["msg"]
        )
        for error in errors
    ]


def _written(part: object) -> str:
    # A key of the body may have half a character in it, which no JSON can say.
    return str(part).encode("utf-8", "replace").decode()


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    status = HTTPStatus(error.status_code)
    body = ErrorBody(code=status.name.lower(), message=str(error.detail))
    return response(status, body, error.headers)


async def _bug(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    body = ErrorBody(
        code="failed", message="Something broke.", hint="The log of the server says what."
    )
    return response(HTTPStatus.INTERNAL_SERVER_ERROR, body)
