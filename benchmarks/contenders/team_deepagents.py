"""deepagents: a subagent called by its `task` tool, four calls at once, and a SQLite checkpoint.

After a death, `None` is sent to the same thread, as LangGraph's documents on durable execution say.
"""

from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.contenders import API_KEY, MODEL
from benchmarks.contenders.deep import Claim, serve
from benchmarks.contenders.deep_deepagents import DeepAgents


class SubAgents(DeepAgents):
    """`create_deep_agent` with one subagent."""

    async def open(self, url: str, folder: Path) -> None:
        model = ChatOpenAI(
            model=MODEL, base_url=url, api_key=API_KEY, stream_usage=True, use_responses_api=False
        )
        file = str(folder / "deepagents.db")
        saver = await self.stack.enter_async_context(AsyncSqliteSaver.from_conn_string(file))
        coder = {"name": "coder", "description": "Writes files.", "system_prompt": "Write files."}
        self.agent = create_deep_agent(
            model,
            subagents=[coder],
            backend=LocalShellBackend(root_dir=folder / "files", inherit_env=True),
            checkpointer=saver,
        )

    async def run(self, run: str, given: Any) -> Claim:
        found = await super().run(run, given)
        return Claim(listed=bool(found["answer"]), answer=found["answer"], state="ended")


if __name__ == "__main__":
    serve(SubAgents())
