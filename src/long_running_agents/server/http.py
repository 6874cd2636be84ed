"""What all routes have in common: JSON bodies, parameters, and server-sent events (SSE)."""

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from pydantic import AfterValidator, AwareDatetime, Field
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from typing_extensions import override

from long_running_agents.agent.hub import Heard, Subscriber
from long_running_agents.agent.sessions import SessionService
from long_running_agents.agent.turns import TurnService
from long_running_agents.app import App
from long_running_agents.config.editor import ConfigFile
from long_running_agents.domain import text
from long_running_agents.domain.auth import Caller
from long_running_agents.domain.events import CLOSING, EventEnvelope
from long_running_agents.domain.ids import SessionId, shown
from long_running_agents.domain.picture import KINDS, LARGEST, MOST, Picture, picture
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import LraError, NotFound
from long_running_agents.server.auth import RequireScope, caller_of

if TYPE_CHECKING:
    from long_running_agents.observe.metrics import Metrics
    from long_running_agents.server.guard import Authenticator
    from long_running_agents.server.models import ModelSwitch


def event_json(heard: Heard) -> str:
    """An event or a delta as JSON."""
    return _json(heard.wire())


def aside_json(kind: str, session_id: SessionId | None = None, **fields: Any) -> str:
    """Something that is said to one client only, and never stored."""
    said = {"type": kind, **fields}
    return _json(said if session_id is None else {**said, "session_id": shown(session_id)})


def error_json(failure: LraError) -> str:
    """What went wrong with something a client said."""
    return aside_json("error", code=failure.code, message=failure.message, hint=failure.hint)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_KEEPALIVE = 15.0
"""Seconds without news after which something is sent all the same, so that nobody hangs up."""
STREAM = "text/event-stream"


Documented = dict[int | str, dict[str, Any]]
"""What a route says of its responses."""
RESPONSES: Documented = {200: {"content": {STREAM: {}}}}
"""What a route that may stream says of itself."""


def attachment(said: str, name: str, kind: str) -> Response:
    """A text as a file to be kept."""
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Content-Type-Options": "nosniff",
    }
    # What was cut in the middle of a character cannot be sent otherwise.
    return Response(said.encode("utf-8", "replace"), 200, headers, f"{kind}; charset=utf-8")


def wants_stream(accept: str | None) -> bool:
    """Whether a client asks for a stream."""
    return STREAM in (accept or "")


def streamed(frames: AsyncGenerator[str]) -> StreamingResponse:
    """A response that goes on as long as there is something to hear."""
    return StreamingResponse(frames, media_type=STREAM, headers={"X-Accel-Buffering": "no"})


async def of_session(turns: TurnService, session_id: SessionId, after: int) -> AsyncGenerator[str]:
    """Everything that happens in a session after a number, without end."""
    news = asyncio.Event()
    async for heard in _heard(turns.listen(session_id, after, news), news):
        yield _frame(heard)


def of_turn(turns: TurnService, turn: Turn) -> AsyncGenerator[str]:
    """Everything that happened and happens in a turn that was just begun, to its end."""
    # Now, not when the first frame is asked for: a quick answer would have been given by then.
    news = asyncio.Event()
    return _of_turn(turn, _heard(turns.listen(turn.session_id, turn.after, news), news))


async def _of_turn(turn: Turn, hearing: AsyncGenerator[Heard | None]) -> AsyncGenerator[str]:
    async for heard in hearing:
        if heard is not None and heard.turn_id != turn.id:
            continue
        yield _frame(heard)
        if isinstance(heard, EventEnvelope) and isinstance(heard.event, CLOSING):
            return


async def _heard(listener: Subscriber, news: asyncio.Event) -> AsyncGenerator[Heard | None]:
    """What is heard; None whenever nothing was for a while."""
    while True:
        news.clear()
        while (heard := await listener.taken()) is not None:
            yield heard
        try:
            async with asyncio.timeout(_KEEPALIVE):
                await news.wait()
        except TimeoutError:
            yield None


def _frame(heard: Heard | None) -> str:
    if heard is None:
        return ": nothing new\n\n"
    if isinstance(heard, EventEnvelope):
        return f"id: {heard.seq}\nevent: {heard.event.type}\ndata: {event_json(heard)}\n\n"
    return f"event: {heard.delta.type}\ndata: {event_json(heard)}\n\n"


LARGEST_BODY = 8 << 20
"""Bytes of the longest JSON body."""

_TOO_LARGE = 413
_OTHER_KIND = 415


async def read(request: Request, most: int) -> bytes:
    """The whole body; of one that is too long, the rest is not read."""
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise HTTPException(_TOO_LARGE, f"The body has more than {most} bytes.")
        pieces.append(piece)
    return b"".join(pieces)


def expect(request: Request, kind: str) -> None:
    """See that a body says it is of a kind that no form of another site can send."""
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if said != kind:
        raise HTTPException(_OTHER_KIND, f"The body has to be {kind!r}.")


class JsonRequest(Request):
    """A request whose body is JSON, and is taken as nothing else."""

    @override
    async def body(self) -> bytes:
        """All of it, up to the limit."""
        if not hasattr(self, "_body"):
            self._body = await read(self, LARGEST_BODY)
        return self._body

    @override
    async def json(self) -> Any:
        """The value of it, if it is JSON and says so."""
        if not hasattr(self, "_json"):
            expect(self, "application/json")
            self._json: Any = text.parse(await self.body())
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
            if isinstance(each.call, RequireScope)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerContext:
    """What the routes of an open home work with."""

    app: App
    clock: Clock
    authenticator: "Authenticator"
    metrics: "Metrics"
    switching: "ModelSwitch"
    file: ConfigFile


Handler = TypeVar("Handler", bound=Callable[..., Any])
_ROUTE = "route"


def route(asked: str, **options: Any) -> Callable[[Handler], Handler]:
    """Mark the method of `Routes` that answers a request, such as "GET /api/tasks"."""

    def marked(handler: Handler) -> Handler:
        setattr(handler, _ROUTE, (asked, options))
        return handler

    return marked


class Routes:
    """What can be asked about a noun: every method that is marked with `route`, in order.

    Fixed paths come before those with a name in them, or they would be taken for one.
    """

    _group: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, *, tag: str, **options: Any) -> None:
        """Group the routes under a tag, with what else is true of them all."""
        cls._group = {"tags": [tag], **options}

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._app = context.app
        self._clock = context.clock
        self._switching = context.switching

    def router(self) -> APIRouter:
        """What can be asked."""
        router = APIRouter(**self._group, route_class=JsonRoute)
        for name, each in vars(type(self)).items():
            if (marked := getattr(each, _ROUTE, None)) is not None:
                (method, _, path), options = marked[0].partition(" "), marked[1]
                router.add_api_route(path, getattr(self, name), methods=[method], **options)
        return router

    def _sessions(self, caller: Caller) -> SessionService:
        return self._app.sessions.of(caller.owner)

    def _turns(self, caller: Caller) -> TurnService:
        return self._app.turns.of(caller.owner)


SESSION_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""What a session may be called by programs."""
ID = r"^[A-Za-z0-9_-]{1,100}$"
"""What everything else is called that we name ourselves."""
PLAIN = r"^[^\x00-\x1f\x7f]*$"
"""Text in one line."""

_MOST = 2**53 - 1
"""The largest number that every reader of JSON understands."""
_FIRST_YEAR, _LAST_YEAR = 1970, 9000


def _sensible(moment: AwareDatetime) -> AwareDatetime:
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise ValueError(f"expected a year from {_FIRST_YEAR} to {_LAST_YEAR}")
    return moment


When = Annotated[AwareDatetime, AfterValidator(_sensible)]
"""A moment with its time zone."""
_Name = Annotated[
    str, Path(pattern=SESSION_ID, description="The session.", examples=["my-session"])
]
_MaybeName = Annotated[str | None, Query(pattern=SESSION_ID, description="Only of this session.")]


async def _key(connection: HTTPConnection, session_id: _Name) -> SessionId:
    return caller_of(connection).key(session_id)


async def _one(connection: HTTPConnection, session_id: _MaybeName = None) -> SessionId | None:
    return None if session_id is None else caller_of(connection).key(session_id)


SessionKey = Annotated[SessionId, Depends(_key)]
"""The session in the path, by what the caller calls it."""
OneSession = Annotated[SessionId | None, Depends(_one)]
"""The session in the query, by what the caller calls it."""
Key = Annotated[str, Path(pattern=ID, description="Its id.")]
Number = Annotated[int, Path(ge=1, le=_MOST, description="Its number.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
Offset = Annotated[int, Query(ge=0, le=_MOST, description="How many to leave out.")]
After = Annotated[int, Query(ge=0, le=_MOST, description="Only what comes after this number.")]
Search = Annotated[
    str, Query(max_length=1000, pattern=PLAIN, description="Only where this was said.")
]
Line = Annotated[str, Field(min_length=1, max_length=300, pattern=PLAIN)]
"""A title or a name."""


_MARK = "Attached files:\n- "
"""What stands before the list at the end of a message, a path on each line."""
_ENDINGS = tuple(f".{kind}" for kind in (*KINDS, "jpg"))


async def attached(app: App, owner: str, message: str) -> tuple[Picture, ...]:
    """The pictures that are attached to a message, as they are now."""
    _, mark, files = message.rpartition(_MARK)
    named = [path for path in files.split("\n- ") if path.lower().endswith(_ENDINGS)]
    found: list[Picture] = []
    for path in named[:MOST] if mark else ():
        read = app.hands.of(owner).workspace.read
        # One that was deleted since is not there for the agent either, who will say so.
        with suppress(NotFound):
            found.append(picture(await asyncio.to_thread(read, path, limit=LARGEST + 1)))
    return tuple(found)
