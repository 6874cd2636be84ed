"""Agno's AgentOS with its SQLite database, stored after each batch of tool calls."""

import socket
import sys
from pathlib import Path

import uvicorn
from agno.agent import Agent
from agno.db.sqlite import SqliteDb
from agno.models.openai import OpenAIChat
from agno.os import AgentOS


async def step(i: int) -> str:
    """Do one step."""
    return f"step {i} finished"


def main(url: str, folder: str) -> None:
    agent = Agent(
        id="bench",
        model=OpenAIChat(id="scripted", base_url=url, api_key="none"),
        db=SqliteDb(db_file=str(Path(folder) / "agno.db")),
        tools=[step],
        checkpoint="tool-batch",
        add_history_to_context=True,
        telemetry=False,
    )
    app = AgentOS(agents=[agent], telemetry=False).get_app()
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(app, log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
