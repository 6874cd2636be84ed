"""A server that believes who somebody says they are: what a guard has found out, made up."""

from contextlib import asynccontextmanager

import httpx2
from tests.integration.server.serving import listening_app

from long_running_agents.clock import SystemClock
from long_running_agents.domain.auth import EVERYTHING, Caller, TokenScope
from long_running_agents.server.asgi import api
from long_running_agents.server.auth import CALLER
from long_running_agents.testing import ScriptedModel, make_app


class Believing:
    """Takes owner and scopes from headers."""

    def __init__(self, app):
        self._app = app

    async def __call__(self, scope, receive, send):
        headers = dict(scope["headers"])
        scopes = headers.get(b"x-scopes")
        known = (
            EVERYTHING if scopes is None else frozenset(map(TokenScope, scopes.decode().split()))
        )
        caller = Caller(owner=headers.get(b"x-owner", b"me").decode(), scopes=known)
        scope.setdefault("state", {})[CALLER] = caller
        await self._app(scope, receive, send)


class Client:
    """Asks as somebody."""

    def __init__(self, http, owner, scopes):
        self._http = http
        self.who = {"x-owner": owner} | ({} if scopes is None else {"x-scopes": scopes})

    @property
    def address(self):
        """Where the server is."""
        return str(self._http.base_url).rstrip("/")

    async def __call__(self, method, path, *, headers=(), **options):
        headers = self.who | dict(headers)
        return await self._http.request(method, path, headers=headers, **options)

    async def ok(self, method, path, **options):
        """What a request that succeeds brings back."""
        answer = await self(method, path, **options)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    async def refused(self, method, path, **options):
        """Status and code of a request that does not; all of them have one shape."""
        answer = await self(method, path, **options)
        told = answer.json()
        assert set(told) >= {"type", "code", "message", "hint", "fields"}, told
        assert told["type"] == "error"
        assert told["message"]
        return answer.status_code, told["code"]


@asynccontextmanager
async def believing(home, *replies, clock=None, **options):
    """A served home; yields it, and a function that makes clients of owners and their scopes."""
    if "model" not in options:
        options["model"] = ScriptedModel(list(replies))
    async with (
        make_app(home, clock=clock, **options) as app,
        listening_app(Believing(api(app, clock or SystemClock()))) as address,
        httpx2.AsyncClient(base_url=address, timeout=300) as http,
    ):
        yield app, lambda owner="me", scopes=None: Client(http, owner, scopes)


async def told(app, text, session="s1", owner="me"):
    """A turn that has come to rest."""
    turns = app.turns.of(owner)
    turn = await turns.start(Caller(owner=owner).key(session), text)
    return await turns.settled(turn.id)
