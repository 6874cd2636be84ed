"""Agno: a team whose leader delegates to a member, four calls at once, stored after a tool batch.

After a death, the run is continued by its id, as the example on crash recovery in its documents is.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.exceptions import RunNotFoundError
from agno.models.openai import OpenAIChat
from agno.run.team import RunContentEvent
from agno.team import Team
from agno.tools.coding import CodingTools

from benchmarks.contenders import API_KEY, MODEL
from benchmarks.contenders.deep import Claim, serve


class Teams:
    """`Team` in its durable setting, with one member."""

    async def open(self, url: str, folder: Path) -> None:
        model = OpenAIChat(id=MODEL, base_url=url, api_key=API_KEY)
        database = SqliteDb(db_file=str(folder / "agno.db"))
        coder = Agent(
            id="coder",
            name="coder",
            role="Writes files.",
            model=model,
            db=database,
            tools=[CodingTools(base_dir=folder / "files")],
            checkpoint="tool-batch",
            telemetry=False,
        )
        self.team = Team(
            members=[coder], model=model, db=database, checkpoint="tool-batch", telemetry=False
        )

    async def work(self, run: str, goal: str) -> Claim:
        return await self.read(self.team.arun(goal, stream=True, session_id=run, run_id=run))

    async def resume(self, run: str) -> Claim:
        going = self.team.acontinue_run(run_id=run, session_id=run, stream=True)
        try:
            return await self.read(going)
        except RunNotFoundError as error:
            # A run is stored with its first tool batch, and that has not come back.
            return Claim(listed=False, answer="", state=str(error))

    async def read(self, events: AsyncIterator[Any]) -> Claim:
        answer = ""
        async for event in events:
            if isinstance(event, RunContentEvent):
                answer += event.content or ""
        return Claim(listed=bool(answer), answer=answer, state="ended")

    async def close(self) -> None:
        self.team.db.close()


if __name__ == "__main__":
    serve(Teams())
