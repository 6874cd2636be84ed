"""A server in the same process, on a real socket of loopback."""

import asyncio
from contextlib import asynccontextmanager

import httpx2
import uvicorn
from tests.kept import keep_fields

from long_running_agents.clock import SystemClock
from long_running_agents.net import listen
from long_running_agents.server.asgi import create_app
from long_running_agents.testing import ScriptedModel, make_app

keep_fields()


@asynccontextmanager
async def listening_app(asgi):
    """Serve an application; yields its address."""
    config = uvicorn.Config(
        asgi, ws="websockets-sansio", lifespan="off", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    with listen.listening("127.0.0.1", 0) as socket:
        serving = asyncio.create_task(server.serve(sockets=[socket]))
        try:
            yield f"http://127.0.0.1:{socket.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


@asynccontextmanager
async def served(home, *replies, **options):
    """An open home with a scripted model, served; yields the home and a client."""
    model = options.pop("model", None) or ScriptedModel(list(replies))
    async with (
        make_app(home, model=model, **options) as app,
        listening_app(create_app(app, SystemClock())) as address,
        httpx2.AsyncClient(base_url=address, timeout=300) as client,
    ):
        yield app, client
