"""Our own turns: each step in the log, each tool call in the ledger."""

import os
import uuid
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.contenders import API_KEY, MODEL, LeftOutError, Steps, prompt, stored_messages


class LongRunningAgents:
    """`open_app` as a product opens it, with one tool more."""

    def __init__(self) -> None:
        self.steps = Steps()
        self.stack = AsyncExitStack()
        self.sessions: dict[str, str] = {}

    async def open(self, url: str, folder: Path) -> None:
        os.environ |= {
            "LRA_HOME": str(folder / "home"),
            "AGENT_MODEL": MODEL,
            "AGENT_MODEL_URL": url,
            "OPENAI_API_KEY": API_KEY,
        }
        try:
            from long_running_agents.app import open_app  # noqa: PLC0415
            from long_running_agents.config import Settings  # noqa: PLC0415
        except ImportError as error:
            raise LeftOutError(f"long_running_agents.app cannot be imported: {error}.") from error
        from pydantic_ai import FunctionToolset  # noqa: PLC0415

        toolset: FunctionToolset[None] = FunctionToolset()

        @toolset.tool_plain
        async def step(i: int) -> str:
            """Do one step."""
            return self.steps.run(i)

        self.app = await self.stack.enter_async_context(open_app(Settings(), toolsets=[toolset]))

    async def prepare(self, kind: str) -> None:
        """Store an older talk once per kind; its session is then used for every such turn."""
        count = stored_messages(kind)
        if count and kind not in self.sessions:
            self.sessions[kind] = await self.session_with(count)

    async def session_with(self, count: int) -> str:
        """Return a session that already holds `count` messages of `old_text(number)`."""
        raise LeftOutError(f"no way yet to store {count} messages at once.")

    async def turn(self, kind: str) -> None:
        session_id = self.sessions.get(kind) or uuid.uuid4().hex
        turn = await self.app.turns.start(session_id, prompt(kind))
        settled = await self.app.turns.settled(turn.id)
        self.steps.check(kind, settled.answer)

    async def close(self) -> None:
        await self.stack.aclose()
