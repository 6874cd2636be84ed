"""Real packages in a real sandbox: tables, plots, and a download over the wire of the index."""

import asyncio
import base64
import fcntl
import json
import os
from pathlib import Path

import platformdirs
import pytest
from tests.integration.stories import ended

from long_running_agents.cli.main import run
from long_running_agents.clock import SystemClock
from long_running_agents.errors import Unavailable
from long_running_agents.sandbox import bubblewrap_command, packages
from long_running_agents.sandbox.base import SandboxSpec
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend
from long_running_agents.store import ledger
from long_running_agents.testing import ScriptedModel, call, make_app, say

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

CELL = """
import pandas as pd
import matplotlib.pyplot as plt
table = pd.DataFrame({"n": [1, 2, 3]})
table.plot()
table
"""


@pytest.fixture(scope="session")
def layer():
    """Built once per machine from the package index."""
    chosen = os.environ.get("LRA_TEST_PACKAGES")
    folder = Path(chosen or platformdirs.user_cache_dir("long-running-agents")) / "test-packages"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return packages.build(packages.USUAL, folder, bubblewrap_command.find())


@pytest.fixture
async def sandbox(layer):
    sandbox = await BubblewrapBackend(SystemClock()).create(SandboxSpec(packages=layer))
    yield sandbox
    await sandbox.destroy()


async def test_a_table_comes_as_html_and_a_plot_as_a_picture(sandbox):
    result = await sandbox.execute(CELL, 120)
    [table, plot] = result.display

    assert result.success, result.error
    assert "<table" in table["text/html"]
    assert "n" in table["text/plain"]
    assert base64.b64decode(plot["image/png"]).startswith(b"\x89PNG")
    again = await sandbox.execute("int(table.n.sum())")
    assert again.display[0]["text/plain"] == "6"


async def test_the_packages_are_there_for_calls_and_commands_too(sandbox):
    called = await sandbox.call(
        "import numpy\ndef f(n): return numpy.arange(n).tolist()", "f", {"n": 3}, 60
    )
    shell = await sandbox.shell("python3 -c 'import requests, httpx; print(requests.__name__)'", 60)

    assert called.value == [0, 1, 2]
    assert shell.stdout == "requests\n"


async def test_nobody_changes_them_from_inside(sandbox):
    result = await sandbox.shell(
        "touch /opt/packages/x; rm -rf /opt/packages/numpy; ls /opt/packages"
    )

    assert "numpy" in result.stdout.split()
    assert "x" not in result.stdout.split()


async def test_what_has_no_wheel_is_not_built(tmp_path):
    with pytest.raises(Unavailable):
        packages.build(["no-such-package-as-this-one"], tmp_path, bubblewrap_command.find())
    assert list(tmp_path.iterdir()) == []


async def test_the_usual_ones_are_fetched_when_code_first_misses_one(tmp_path):
    cell = call("execute_code", code="import httpx; httpx.__name__")
    model = ScriptedModel([cell, cell, say("done")])
    async with make_app(tmp_path, model=model, sandbox__packages=("httpx",)) as app:
        turn = await ended(app, "go")
        calls = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
    missed, there = (json.loads(each.result) for each in calls)

    assert "The usual packages are there now" in missed
    assert there == "'httpx'"


async def test_what_is_prepared_by_hand_is_there(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("[sandbox]\npackages = []\n")
    code = await asyncio.to_thread(run, ["sandbox", "prepare", "httpx"])
    model = ScriptedModel([call("execute_code", code="import httpx; httpx.__name__"), say("done")])
    async with make_app(tmp_path / "home", model=model, sandbox__packages=()) as app:
        turn = await ended(app, "go")
        [made] = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))

    assert code == 0
    assert json.loads(made.result) == "'httpx'"
