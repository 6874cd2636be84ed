"""Our own turns: each step in the log, each tool call in the ledger."""

import os
import uuid
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.contenders import (
    API_KEY,
    MODEL,
    LeftOutError,
    Steps,
    old_text,
    prompt,
    stored_messages,
)


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
            "AGENT_MODEL_KEY": API_KEY,
        }
        try:
            from long_running_agents.app import open_app  # noqa: PLC0415
        except ImportError as error:
            raise LeftOutError(f"long_running_agents.app cannot be imported: {error}.") from error
        from pydantic_ai import FunctionToolset  # noqa: PLC0415

        from long_running_agents.domain.tool import Effect  # noqa: PLC0415
        from long_running_agents.tools.deps import effect  # noqa: PLC0415

        toolset: FunctionToolset[None] = FunctionToolset()

        @toolset.tool_plain(metadata=effect(Effect.ONCE))
        async def step(i: int) -> str:
            """Do one step."""
            return self.steps.run(i)

        self.app = await self.stack.enter_async_context(open_app(toolsets=[toolset]))

    async def prepare(self, kind: str) -> None:
        """Store an older talk once per kind; its session is then used for every such turn."""
        count = stored_messages(kind)
        if count and kind not in self.sessions:
            self.sessions[kind] = await self.session_with(count)

    async def session_with(self, count: int) -> str:
        """Return a session that already holds `count` messages, as turns would have left them."""
        from pydantic_ai.messages import (  # noqa: PLC0415
            ModelRequest,
            ModelResponse,
            TextPart,
            UserPromptPart,
        )

        from long_running_agents.agent.transcript import stored  # noqa: PLC0415
        from long_running_agents.store import messages, turns  # noqa: PLC0415

        turn = await self.app.turns.start(uuid.uuid4().hex, prompt(""))
        await self.app.turns.settled(turn.id)
        pairs = [
            (
                ModelRequest(parts=[UserPromptPart(old_text(number))]),
                ModelResponse(parts=[TextPart(old_text(number + 1))]),
            )
            for number in range(0, count, 2)
        ]
        log = [stored(message, 1) for pair in pairs for message in pair]
        await self.app.database.write(
            lambda tx: messages.append(
                tx, turn.session_id, turn.id, log, turns.get(tx, turn.id).created_at
            )
        )
        return turn.session_id

    async def turn(self, kind: str) -> None:
        session_id = self.sessions.get(kind) or uuid.uuid4().hex
        turn = await self.app.turns.start(session_id, prompt(kind))
        settled = await self.app.turns.settled(turn.id)
        self.steps.check(kind, settled.answer)

    async def close(self) -> None:
        await self.stack.aclose()
