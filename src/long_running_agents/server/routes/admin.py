"""Administration over HTTP: tokens, login, doctor, status, metrics, usage and activity."""

import asyncio
from datetime import UTC, date, datetime
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, TypeVar, get_args

from fastapi import Query, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import AwareDatetime, BaseModel, Field

from long_running_agents import __version__
from long_running_agents.agent.budgets import BudgetService
from long_running_agents.agent.sessions import Spending, UsageService
from long_running_agents.doctor import Check, CheckState, examine_all
from long_running_agents.domain import events, ids
from long_running_agents.domain.auth import HOOK_SCOPE, Caller, Token, TokenScope
from long_running_agents.domain.budget import BudgetLine
from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.ids import DayRange, SessionId, TokenId, shown
from long_running_agents.errors import Unavailable, UsageError
from long_running_agents.server.auth import COOKIE, USUAL, Administering, Reading, TokenRequest
from long_running_agents.server.hosts import visit_of
from long_running_agents.server.http import (
    SESSION_ID,
    Documented,
    Limit,
    OneSession,
    Routes,
    ServerContext,
    route,
)
from long_running_agents.server.routes.chat import TurnList, TurnShape
from long_running_agents.server.wire import (
    ShownSession,
    WireRequest,
    WireResponse,
    built,
    derived,
    example,
)
from long_running_agents.store.events import Place
from long_running_agents.store.tables import microseconds, moment
from long_running_agents.store.usage import UsageTotal

HookScope = Annotated[str, Field(pattern=f"^{HOOK_SCOPE}$")]


class NewToken(BaseModel):
    """The token that is wanted."""

    model_config = example('{"name": "phone", "scopes": ["read", "chat"]}', extra="forbid")

    name: str = Field(min_length=1, max_length=100)
    owner: str | None = Field(default=None, min_length=1, max_length=100)
    """Whose things it opens; the owner of the home unless given."""
    scopes: list[TokenScope | HookScope] = Field(default=sorted(USUAL), min_length=1)
    expires_at: AwareDatetime | None = None


class KnownToken(derived(Token)):
    """What is known of a token."""

    owner: str


class IssuedToken(KnownToken):
    """A new token."""

    secret: str
    """The token itself. Nobody can show it again."""


class TokenList(BaseModel):
    """All tokens."""

    tokens: list[KnownToken]


class TokenRoutes(Routes, tag="tokens"):
    """List, create, rotate and revoke."""

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context)
        self._tokens = context.authenticator.tokens

    @route("GET /api/tokens")
    async def every(self, _: Administering) -> TokenList:
        """List the tokens of all owners; their secrets are known to their bearers alone."""
        return TokenList(tokens=[KnownToken.of(token) for token in await self._tokens.every()])

    @route("POST /api/tokens", status_code=HTTPStatus.CREATED)
    async def create(self, body: NewToken, caller: Administering) -> IssuedToken:
        """Make a token for anybody; its secret is shown this once."""
        wish = built(TokenRequest, body, owner=body.owner or self._app.settings.owner)
        new = await self._tokens.create(wish, by=_actor(caller))
        return IssuedToken.of(new.token, secret=new.secret)

    @route("POST /api/tokens/{token_id}/rotate")
    async def rotate(self, token_id: str, caller: Administering) -> IssuedToken:
        """Give a token another secret; sockets and streams of the old one are closed."""
        new = await self._tokens.rotate(TokenId(token_id), by=_actor(caller))
        return IssuedToken.of(new.token, secret=new.secret)

    @route("DELETE /api/tokens/{token_id}")
    async def revoke(self, token_id: str, caller: Administering) -> KnownToken:
        """Let a token be worth nothing; its sockets and streams are closed."""
        return KnownToken.of(await self._tokens.revoke(TokenId(token_id), by=_actor(caller)))


def _actor(caller: Caller) -> str:
    return caller.token_id or caller.owner


class Login(BaseModel):
    """The token to come in with."""

    model_config = example('{"token": "lra_…"}')

    token: Annotated[str, Field(max_length=200)]


class LoginRoutes(Routes, tag="login"):
    """Login and logout."""

    @route("POST /login", status_code=HTTPStatus.NO_CONTENT)
    async def login(self, body: Login, request: Request, response: Response) -> None:
        """Let a browser keep a token; the cookie lasts as long as the token does."""
        visit = visit_of(request.scope)
        # The control secret is for programs that can read the home, not for browsers.
        token = (await self._context.authenticator.admit(body.token, visit.address)).token
        lasts = None if token is None else token.expires_at
        # Behind a proxy that speaks TLS, only the page's own address tells that it does.
        secure = visit.scheme == "https" or (visit.origin or "").startswith("https://")
        response.set_cookie(
            COOKIE, body.token, expires=lasts, secure=secure, httponly=True, samesite="strict"
        )

    @route("POST /logout", status_code=HTTPStatus.NO_CONTENT)
    async def logout(self, response: Response) -> None:
        """Take the token out of the browser; it stays good for others who have it."""
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")


class CheckResponse(derived(Check)):
    """One finding."""

    model_config = example("""{"name": "disk", "state": "warning", "detail": "0.4 GB free",
      "fix": "Free some space soon."}""")


class Examination(WireResponse):
    """Everything that was looked at."""

    sound: bool
    """Whether there is no problem; warnings are none."""
    checks: list[CheckResponse]


class DoctorRoutes(Routes, tag="doctor"):
    """What `lra doctor` looks at."""

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context)
        self._turn = asyncio.Lock()

    @route("GET /api/doctor")
    async def examine(self, _: Administering) -> Examination:
        """Check that everything is in order; nothing is changed, and no model is asked."""
        loaded = self._switching.loaded
        hide = loaded.redact
        # One after another, and not in our way: some look at disks and start programs.
        async with self._turn:
            found = await asyncio.to_thread(examine_all, loaded, self._clock)
        return Examination(
            sound=all(check.state is not CheckState.PROBLEM for check in found),
            checks=[
                CheckResponse.of(check, detail=hide(check.detail), fix=hide(check.fix))
                for check in found
            ],
        )


class HealthResponse(BaseModel):
    """The process answers."""

    status: str = "ok"


class StatusResponse(BaseModel):
    """What the server is and does."""

    status: str = "ok"
    version: str
    agent: str
    model: str
    started_at: datetime
    uptime_seconds: float
    sessions: int
    busy: int
    """Turns at work or in line."""


class StatusRoutes(Routes, tag="status"):
    """Health and status."""

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context)
        self._started_at = self._clock.now()

    @route("GET /health")
    async def health(self) -> HealthResponse:
        """Say that the process answers; nobody has to be known for it."""
        return HealthResponse()

    @route("GET /ready")
    async def ready(self) -> HealthResponse:
        """Say whether turns can be taken; nobody has to be known for it."""
        if not self._app.driver.ready:
            raise Unavailable("The server is being stopped.", hint="Ask another, or later.")
        await self._app.sessions.count()
        await self._app.database.check_room()
        return HealthResponse()

    @route("GET /api/status")
    async def status(self, caller: Reading) -> StatusResponse:
        """Say what the server does."""
        return StatusResponse(
            version=__version__,
            agent=self._app.settings.agent.name,
            model=self._app.models.usual,
            started_at=self._started_at,
            uptime_seconds=(self._clock.now() - self._started_at).total_seconds(),
            sessions=await self._sessions(caller).count(),
            busy=self._app.driver.busy,
        )


_TEXT: Documented = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


class MetricsRoutes(Routes, tag="status"):
    """What the server has done, in numbers."""

    @route("GET /metrics", response_class=Response, responses=_TEXT)
    async def metrics(self, _: Administering) -> Response:
        """Count what was done for all owners, in Prometheus' text format."""
        return Response(await self._context.metrics.exposed(), media_type=CONTENT_TYPE_LATEST)


class TotalResponse(derived(UsageTotal)):
    """Requests, tokens and money."""

    total_tokens: int
    cost: float | None
    """US dollars, of the requests whose price is known; null when none is."""


class ModelUsage(TotalResponse):
    """What one model took."""

    model: str


class DayUsage(TotalResponse):
    """What one day took."""

    day: date


class SessionUsage(TotalResponse):
    """What one session took."""

    session_id: ShownSession
    title: str | None
    """Null when the session is deleted."""


class UsageResponse(WireResponse):
    """What was spent over some days."""

    model_config = example("""{"range": "7d", "since": "2026-11-10T00:00:00Z",
      "until": "2026-11-16T09:00:00Z", "total": {"requests": 4, "input_tokens": 5200,
      "output_tokens": 310, "total_tokens": 5510, "cost": 0.0019},
      "by_model": [{"model": "openai:gpt-5-mini", "requests": 4, "input_tokens": 5200,
      "output_tokens": 310, "total_tokens": 5510, "cost": 0.0019}], "by_day": [{"day": "2026-11-16",
      "requests": 4, "input_tokens": 5200, "output_tokens": 310, "total_tokens": 5510,
      "cost": 0.0019}], "by_session": [{"session_id": "my-session", "title": "Herons",
      "requests": 4, "input_tokens": 5200, "output_tokens": 310, "total_tokens": 5510,
      "cost": 0.0019}]}""")

    range: DayRange
    since: datetime | None
    """Null for all time."""
    until: datetime
    total: TotalResponse
    by_model: list[ModelUsage]
    by_day: list[DayUsage]
    by_session: list[SessionUsage]

    @classmethod
    def over(cls, wanted: DayRange, spent: Spending) -> "UsageResponse":
        """The books, told."""
        return cls(
            range=wanted,
            since=spent.since,
            until=spent.until,
            total=_row(TotalResponse, spent.total),
            by_model=[_row(ModelUsage, each, model=name) for name, each in spent.models.items()],
            by_day=[_row(DayUsage, each, day=day) for day, each in spent.days.items()],
            by_session=[
                _row(SessionUsage, each, session_id=key, title=spent.titles.get(key))
                for key, each in spent.sessions.items()
            ],
        )


Row = TypeVar("Row", bound=TotalResponse)


def _row(shape: type[Row], total: UsageTotal, **also: object) -> Row:
    return shape.of(total, total_tokens=total.input_tokens + total.output_tokens, **also)


class EventResponse(WireResponse):
    """An event: its own fields beside these, see the page about events."""

    model_config = example(
        """{"type": "text", "text": "Two herons, both grey.", "seq": 5, "session_id": "my-session",
        "turn_id": "turn_01k9x0000000abcdefgh", "at": "2026-11-16T09:00:00Z"}""",
        extra="allow",
    )

    type: str
    seq: int
    session_id: ShownSession
    turn_id: str | None
    at: datetime


class ActivityResponse(WireResponse):
    """The latest events, the newest first."""

    activity: list[EventResponse]
    next: str | None
    """What to ask for as ``before`` to read on; null at the end."""


_PLACE = r"^[0-9]{1,16}\.[0-9]{1,15}\.[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
_LAST = microseconds(datetime(9000, 1, 1, tzinfo=UTC))
_TYPES = frozenset(
    shape.model_fields["type"].default for shape in get_args(get_args(events.Event)[0])
)


class LineResponse(derived(BudgetLine)):
    """A limit, and what is used of it."""


class BudgetResponse(WireResponse):
    """The limits of a session and of today; what has no limit is not among them."""

    model_config = example("""{"budget": [{"scope": "day", "key": "2026-11-16",
      "resource": "tokens", "limit": 200000, "spent": 5510, "held": 0}]}""")

    budget: list[LineResponse]


class RaiseRequest(WireRequest):
    """How much more may be used; nothing means the same again as the settings say."""

    model_config = example('{"session_id": "my-session", "tokens": 100000}')

    session_id: SessionId | None = Field(default=None, pattern=SESSION_ID)
    """The session whose limits are raised; without one, those of today are."""
    tokens: int | None = Field(default=None, ge=1, le=10**12)
    cost: Decimal | None = Field(default=None, gt=0, le=10**6)
    """US dollars."""
    steps: int | None = Field(default=None, ge=1, le=10**9)
    seconds: float | None = Field(default=None, gt=0, le=10**9)


class BudgetRoutes(Routes, tag="usage"):
    """What may still be used."""

    @route("GET /api/budget")
    async def budget(self, caller: Reading, session_id: OneSession = None) -> BudgetResponse:
        """Show the limits of today, and of a session, and what is used of them."""
        return BudgetResponse.of({"budget": await self._of(caller).lines(session_id)})

    @route("POST /api/budget")
    async def more(self, caller: Administering, wanted: RaiseRequest) -> TurnList:
        """Raise limits; the turns that they stopped go on."""
        key = None if wanted.session_id is None else caller.key(wanted.session_id)
        given = wanted.model_copy(update={"session_id": key})
        found = await self._of(caller).more(**dict(given))
        return TurnList(turns=[TurnShape.of(turn) for turn in found], total=len(found))

    def _of(self, caller: Caller) -> BudgetService:
        return BudgetService(self._app.book, self._turns(caller), caller.owner)


class UsageRoutes(Routes, tag="usage"):
    """The books and the log of all sessions."""

    @route("GET /api/usage")
    async def usage(
        self,
        caller: Reading,
        wanted: Annotated[
            DayRange, Query(alias="range", description="Calendar days, today included.")
        ] = DayRange.TODAY,
        tz: Annotated[
            str | None,
            Query(
                max_length=64,
                description="Where days begin, such as Europe/Berlin; the server's zone if unset.",
            ),
        ] = None,
    ) -> UsageResponse:
        """Say what was spent: in all, by model, by day and by session."""
        zone = None if tz is None else ids.zone_of(tz)
        service = UsageService(self._app.database, self._clock, caller.owner)
        return UsageResponse.over(wanted, await service.spent(wanted, zone))

    @route("GET /api/activity")
    async def activity(
        self,
        caller: Reading,
        limit: Limit = 50,
        before: Annotated[
            str | None, Query(pattern=_PLACE, description="The 'next' of the page before.")
        ] = None,
        types: Annotated[
            list[str],
            Query(alias="type", max_length=50, description="Only events of these types."),
        ] = [],  # noqa: B006 - never changed
    ) -> ActivityResponse:
        """Show the latest events of all sessions, the newest first."""
        if unknown := set(types) - _TYPES:
            raise UsageError(
                f"There are no events of the type {min(unknown)!r}.",
                hint=f"There are {', '.join(sorted(_TYPES))}.",
            )
        found = await self._sessions(caller).activity(
            limit=limit + 1, types=types, before=None if before is None else _place(before, caller)
        )
        page = found[:limit]
        return ActivityResponse(
            activity=[EventResponse.of(each.wire()) for each in page],
            next=_cursor(page[-1]) if len(found) > limit else None,
        )


def _cursor(recorded: EventEnvelope) -> str:
    return f"{microseconds(recorded.at)}.{recorded.seq}.{shown(recorded.session_id)}"


def _place(cursor: str, caller: Caller) -> Place:
    at, seq, session_id = cursor.split(".", 2)
    # No event is later, and no calendar goes farther.
    return moment(min(int(at), _LAST)), caller.key(session_id), int(seq)
