"""Agno: an agent with its SQLite database, stored after each batch of tool calls."""

import uuid
from pathlib import Path

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.openai import OpenAIChat
from agno.run.agent import RunContentEvent

from benchmarks.contenders import API_KEY, MODEL, Steps, prompt


class Agno:
    """`Agent` in its durable setting; the default stores nothing until the run ends."""

    def __init__(self) -> None:
        self.steps = Steps()

    async def open(self, url: str, folder: Path) -> None:
        async def step(i: int) -> str:
            """Do one step."""
            return self.steps.run(i)

        self.agent = Agent(
            model=OpenAIChat(id=MODEL, base_url=url, api_key=API_KEY),
            db=SqliteDb(db_file=str(folder / "agno.db")),
            tools=[step],
            checkpoint="tool-batch",
            add_history_to_context=True,
            telemetry=False,
        )

    async def prepare(self, kind: str) -> None:
        """Sessions start empty here."""

    async def turn(self, kind: str) -> None:
        answer = ""
        async for event in self.agent.arun(prompt(kind), stream=True, session_id=uuid.uuid4().hex):
            if isinstance(event, RunContentEvent):
                answer += event.content or ""
        self.steps.check(kind, answer)

    async def close(self) -> None:
        self.agent.db.close()
