"""Which sandboxes can be had here, and how to have one for the length of a story."""

from contextlib import asynccontextmanager

from long_running_agents.clock import SystemClock
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend
from long_running_agents.sandbox.spec import SandboxSpec

BACKENDS = {
    "bubblewrap": lambda: BubblewrapBackend(SystemClock()),
    "bubblewrap without cgroup": lambda: BubblewrapBackend(SystemClock(), use_cgroup=False),
}


@asynccontextmanager
async def opened(backend, spec=None):
    """A sandbox that is gone afterwards."""
    sandbox = await BACKENDS[backend]().create(spec or SandboxSpec())
    try:
        yield sandbox
    finally:
        await sandbox.destroy()
