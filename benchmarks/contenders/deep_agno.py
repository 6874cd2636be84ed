"""Agno: coding tools in a real folder, tasks in its session state, stored after each tool batch.

After a death, the run is continued by its id, as the example on crash recovery in its documents is.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.openai import OpenAIChat
from agno.run.agent import RunContentEvent
from agno.tools.coding import CodingTools

from benchmarks.contenders import API_KEY, MODEL
from benchmarks.contenders.deep import Claim, claim, serve


class Agno:
    """`Agent` in its durable setting; its model keeps the list with `update_session_state`."""

    async def open(self, url: str, folder: Path) -> None:
        self.agent = Agent(
            model=OpenAIChat(id=MODEL, base_url=url, api_key=API_KEY),
            db=SqliteDb(db_file=str(folder / "agno.db")),
            tools=[CodingTools(base_dir=folder / "files", enable_run_shell=True)],
            session_state={"tasks": {}},
            enable_agentic_state=True,
            add_session_state_to_context=True,
            checkpoint="tool-batch",
            add_history_to_context=True,
            telemetry=False,
        )

    async def work(self, run: str, goal: str) -> Claim:
        return await self.read(run, self.agent.arun(goal, stream=True, session_id=run, run_id=run))

    async def resume(self, run: str) -> Claim:
        going = self.agent.acontinue_run(run_id=run, session_id=run, stream=True)
        return await self.read(run, going)

    async def read(self, run: str, events: AsyncIterator[Any]) -> Claim:
        answer = ""
        async for event in events:
            if isinstance(event, RunContentEvent):
                answer += event.content or ""
        tasks = self.agent.get_session_state(session_id=run)["tasks"]
        return claim(list(tasks.values()), answer)

    async def close(self) -> None:
        self.agent.db.close()


if __name__ == "__main__":
    serve(Agno())
