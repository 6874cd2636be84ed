"""Joining a server loads little: what answers is somewhere else."""

import subprocess
import sys

PROGRAM = """
import sys
import long_running_agents.cli.chat, long_running_agents.cli.conversation
import long_running_agents.cli.joined_desk, long_running_agents.cli.joining
import long_running_agents.server.presence
heavy = {"pydantic_ai", "sqlalchemy", "fastapi", "numpy", "rich"}
print(sorted(heavy & set(sys.modules)))
"""


def test_a_joined_chat_loads_neither_agent_nor_database_nor_server():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
