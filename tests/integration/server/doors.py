"""A door with a small application behind it: echoing sockets, streams without end, bodies."""

import asyncio
from contextlib import asynccontextmanager

import httpx2
from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
from starlette.responses import StreamingResponse
from tests.integration.server.serving import listening_app

from long_running_agents.clock import SystemClock
from long_running_agents.domain.auth import EVERYTHING
from long_running_agents.server.asgi import api
from long_running_agents.server.auth import TokenRequest
from long_running_agents.server.guard import Authenticator, Guard
from long_running_agents.testing import make_app

OWN = "http://127.0.0.1"


def furnished(app, clock, door):
    """Everything that is served, with an echo and a stream beside it."""
    served = api(app, clock, door)
    add_rooms(served)
    return Guard(served, door)


def add_rooms(served: FastAPI):
    @served.websocket("/echo")
    async def echo(socket: WebSocket):
        await socket.accept()
        try:
            while True:
                await socket.send_text(await socket.receive_text())
        except WebSocketDisconnect:
            return

    @served.get("/api/stream")
    async def stream():
        async def words():
            yield b"data: hello\n\n"
            await asyncio.Event().wait()

        return StreamingResponse(words(), media_type="text/event-stream")

    @served.post("/api/size")
    @served.post("/api/files/size")
    async def size(request: Request):
        return {"size": len(await request.body())}


class House:
    """An open home behind a door, at an address."""

    def __init__(self, app, door, asgi, address, client):
        self.app = app
        self.door = door
        self.asgi = asgi
        self.address = address
        self.client = client

    @property
    def socket_address(self):
        return f"{self.address.replace('http', 'ws')}/echo"

    async def token(self, *scopes, **wish):
        """A new token: (id, secret)."""
        asked = TokenRequest(name="t", **{"owner": "me", "scopes": scopes or EVERYTHING, **wish})
        issued = await self.door.tokens.create(asked, by="test")
        return issued.token.id, issued.secret


@asynccontextmanager
async def house(home, clock=None, **gateway):
    """Serve a home over a real socket, with these settings of the gateway."""
    settings = {f"gateway__{key}": value for key, value in gateway.items()}
    async with make_app(home, **settings) as app:
        clock = clock or SystemClock()
        door = Authenticator(app.database, clock, app.settings.gateway, "me")
        asgi = furnished(app, clock, door)
        async with (
            listening_app(asgi) as address,
            httpx2.AsyncClient(base_url=address, timeout=300, trust_env=False) as client,
        ):
            yield House(app, door, asgi, address, client)


def bearer(secret):
    return {"Authorization": f"Bearer {secret}".rstrip()}


async def knock(asgi, *, client="203.0.113.9", path="/api/status", headers=(), kind="http"):
    """Ask as if from another machine; what is answered first."""
    heard = asyncio.get_running_loop().create_future()
    named = {"host": "127.0.0.1", **dict(headers)}
    scope = {
        "type": kind, "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
        "scheme": "http", "root_path": "", "http_version": "1.1", "client": (client, 5),
        "server": ("127.0.0.1", 80), "subprotocols": [], "state": {},
        "headers": [(name.encode(), text.encode()) for name, text in named.items()],
        "extensions": {"websocket.http.response": {}},
    }  # fmt: skip

    async def receive():
        return {"type": f"{kind}.connect" if kind == "websocket" else "http.request", "body": b""}

    async def send(message):
        if not heard.done():
            heard.set_result(message)

    await asgi(scope, receive, send)
    return heard.result()
