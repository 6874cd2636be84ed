"""deepagents: its todo list, files and commands in a real folder, and a SQLite checkpoint a step.

After a death, `None` is sent to the same thread, as LangGraph's documents on durable execution say.
Its opt-in rubric is left out: a model grades there, and a scripted one as it is scripted to.
"""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from langchain.agents.middleware import TodoListMiddleware
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.contenders import API_KEY, MODEL
from benchmarks.contenders.deep import Claim, claim, serve


class DeepAgents:
    """`create_deep_agent`, read token by token; since 0.7 its todo list is added by the caller."""

    def __init__(self) -> None:
        self.stack = AsyncExitStack()

    async def open(self, url: str, folder: Path) -> None:
        model = ChatOpenAI(
            model=MODEL, base_url=url, api_key=API_KEY, stream_usage=True, use_responses_api=False
        )
        file = str(folder / "deepagents.db")
        saver = await self.stack.enter_async_context(AsyncSqliteSaver.from_conn_string(file))
        self.agent = create_deep_agent(
            model,
            middleware=[TodoListMiddleware()],
            backend=LocalShellBackend(root_dir=folder / "files", inherit_env=True),
            checkpointer=saver,
        )

    async def work(self, run: str, goal: str) -> Claim:
        return await self.run(run, {"messages": [{"role": "user", "content": goal}]})

    async def resume(self, run: str) -> Claim:
        return await self.run(run, None)

    async def run(self, run: str, given: Any) -> Claim:
        config = {"configurable": {"thread_id": run}, "recursion_limit": 500}
        stream = self.agent.astream(given, config, stream_mode="messages", durability="sync")
        async for _ in stream:
            pass
        found = (await self.agent.aget_state(config)).values
        statuses = [each["status"] for each in found.get("todos", ())]
        return claim(statuses, found["messages"][-1].text)

    async def close(self) -> None:
        await self.stack.aclose()


if __name__ == "__main__":
    serve(DeepAgents())
