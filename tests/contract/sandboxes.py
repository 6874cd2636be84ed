"""Which sandboxes can be had here, and how to have one for the length of a story."""

import asyncio
import contextlib
import os
from contextlib import asynccontextmanager

import uvicorn

from long_running_agents.clock import SystemClock
from long_running_agents.net.listen import listening
from long_running_agents.sandbox.base import SandboxSpec
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend
from long_running_agents.sandbox.docker import DockerBackend
from long_running_agents.sandbox.manager import Sandboxes
from long_running_agents.sandbox.remote import RemoteBackend
from long_running_agents.sandbox.server import create_app
from long_running_agents.sandbox.unsafe_local import UnsafeLocalBackend

KEY = "a key for tests"
DOCKER = os.environ.get("LRA_TEST_DOCKER", "")
"""The socket of a Docker API whose images include ours; `make test-docker` sets it."""


@asynccontextmanager
async def bubblewrap(_):
    yield BubblewrapBackend(SystemClock())


@asynccontextmanager
async def without_cgroup(_):
    yield BubblewrapBackend(SystemClock(), use_cgroup=False)


@asynccontextmanager
async def unsafe_local(_):
    yield UnsafeLocalBackend(SystemClock())


@asynccontextmanager
async def remote(spec):
    """A server on loopback, and a client of it."""
    sandboxes = Sandboxes(BubblewrapBackend(SystemClock()), SystemClock())
    async with served(create_app(sandboxes, spec, KEY)) as address:
        yield RemoteBackend(address, KEY)
    await sandboxes.close()


@asynccontextmanager
async def served(app):
    """An application at a free port of loopback."""
    config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    with listening("127.0.0.1", 0) as listener:
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await serving


@asynccontextmanager
async def docker(_):
    yield DockerBackend(SystemClock(), host=f"unix://{DOCKER}")


BACKENDS = {
    "bubblewrap": bubblewrap,
    "bubblewrap without cgroup": without_cgroup,
    "remote": remote,
    **({"docker": docker} if DOCKER else {}),
}
"""Those with walls."""


@asynccontextmanager
async def opened(backend, spec=None):
    """A sandbox that is gone afterwards."""
    spec = spec or SandboxSpec()
    make = unsafe_local if backend == "unsafe-local" else BACKENDS[backend]
    async with make(spec) as made:
        sandbox = await made.create(spec)
        try:
            yield sandbox
        finally:
            await sandbox.destroy()
