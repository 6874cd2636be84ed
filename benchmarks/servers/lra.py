"""Our server, as `lra serve` starts it, with one tool more."""

import asyncio
import gc
import sys

from pydantic_ai import FunctionToolset

from long_running_agents.app import open_app
from long_running_agents.clock import SystemClock
from long_running_agents.config import load
from long_running_agents.domain.tool import Effect
from long_running_agents.net import listen
from long_running_agents.server import serve
from long_running_agents.server.serve import interrupts
from long_running_agents.tools.deps import effect


async def main(url: str, folder: str, alike: str = "") -> None:
    tools: FunctionToolset[None] = FunctionToolset()

    @tools.tool_plain(metadata=effect(Effect.ONCE))
    async def step(i: int) -> str:
        """Do one step."""
        return f"step {i} finished"

    flags = {
        "agent.model.model_id": "scripted",
        "agent.model.base_url": url,
    }
    if alike:
        # No more than the other has: one tool, and no memory beyond the session.
        flags |= {"agent.tools.allow": ["step"], "memory.enabled": False}
    loaded = load(home=folder, environ={"AGENT_MODEL_KEY": "none"}, flags=flags)
    clock = SystemClock()
    with interrupts() as stop, listen.listening("127.0.0.1", 0) as listener:
        async with open_app(loaded, toolsets=[tools]) as app:
            await serve.serve(app, clock, listener, stop, told)


def told(address: str) -> None:
    # As `lra serve` does.
    gc.freeze()
    gc.enable()
    print(address, flush=True)


if __name__ == "__main__":
    gc.disable()
    asyncio.run(main(*sys.argv[1:]))
