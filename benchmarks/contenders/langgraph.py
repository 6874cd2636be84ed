"""LangGraph: an agent with a SQLite checkpoint before each next step (`durability="sync"`)."""

import uuid
from contextlib import AsyncExitStack
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.contenders import API_KEY, MODEL, Steps, prompt


class LangGraph:
    """`create_agent` with its checkpointer, read token by token."""

    def __init__(self) -> None:
        self.steps = Steps()
        self.stack = AsyncExitStack()

    async def open(self, url: str, folder: Path) -> None:
        async def step(i: int) -> str:
            """Do one step."""
            return self.steps.run(i)

        model = ChatOpenAI(
            model=MODEL, base_url=url, api_key=API_KEY, stream_usage=True, use_responses_api=False
        )
        file = str(folder / "langgraph.db")
        saver = await self.stack.enter_async_context(AsyncSqliteSaver.from_conn_string(file))
        self.agent = create_agent(model, [step], checkpointer=saver)

    async def prepare(self, kind: str) -> None:
        """Sessions start empty here."""

    async def turn(self, kind: str) -> None:
        answer = ""
        stream = self.agent.astream(
            {"messages": [{"role": "user", "content": prompt(kind)}]},
            {"configurable": {"thread_id": uuid.uuid4().hex}, "recursion_limit": 50},
            stream_mode="messages",
            durability="sync",
        )
        async for message, _ in stream:
            if isinstance(message, AIMessageChunk):
                answer += message.text
        self.steps.check(kind, answer)

    async def close(self) -> None:
        await self.stack.aclose()
