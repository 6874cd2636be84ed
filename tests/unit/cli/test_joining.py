"""What a command loads: as little as it needs, and no collector looks through it meanwhile."""

import gc
import importlib
import subprocess
import sys

import pytest

from long_running_agents.cli.main import loading

PROGRAM = """
import sys
import long_running_agents.cli.chat, long_running_agents.cli.conversation
import long_running_agents.cli.access
import long_running_agents.server.server_file
heavy = {"pydantic_ai", "sqlalchemy", "fastapi", "numpy", "rich"}
print(sorted(heavy & set(sys.modules)))
"""


def test_a_joined_chat_loads_neither_agent_nor_database_nor_server():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


QUESTION = """
import asyncio, sys
from long_running_agents.app import open_app
from long_running_agents.config import load
from long_running_agents.testing import ScriptedModel, say

async def ask(home):
    async with open_app(load(home=home, environ={}), model=ScriptedModel([say("Hi.")])) as app:
        await app.turns.settled((await app.turns.start("s", "Hello")).id)
        await app.remembered()

asyncio.run(ask(sys.argv[1]))
rooms = "long_running_agents."
heavy = {"numpy.ma", "fastapi", "uvicorn", "mcp", "prompt_toolkit"} | {
    rooms + name
    for name in ("web.web", "web.browser", "sandbox.bubblewrap", "sandbox.kernel_sandbox")
    + ("skills.proposals", "skills.export")
}
print(sorted(heavy & set(sys.modules)))
"""


def test_a_question_loads_no_web_no_sandbox_and_no_making_of_skills(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", QUESTION, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_the_collector_is_back_when_modules_are_loaded_and_when_one_is_missing():
    frozen = gc.get_freeze_count()
    with loading():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ModuleNotFoundError), loading():
        importlib.import_module("long_running_agents.nowhere")
    assert gc.isenabled()
    # What is in this process is not ours to set aside.
    assert gc.get_freeze_count() <= frozen
