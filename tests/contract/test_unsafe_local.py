"""Without walls the calls are the same, and every result says that nothing stood around them."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from tests.contract.sandboxes import opened

from long_running_agents.clock import SystemClock
from long_running_agents.config.settings import SandboxSettings
from long_running_agents.sandbox import factory
from long_running_agents.sandbox.base import MEGABYTE, FailureName, SandboxLimits, SandboxSpec
from long_running_agents.sandbox.limits import living
from long_running_agents.sandbox.unsafe_local import UnsafeLocalBackend

pytestmark = pytest.mark.anyio

SMALL = SandboxLimits(timeout=20, memory=256 * MEGABYTE, workspace_bytes=32 * MEGABYTE)


@pytest.fixture
async def sandbox():
    async with opened("unsafe-local", SandboxSpec(limits=SMALL)) as sandbox:
        yield sandbox


async def test_it_says_so_in_every_result(sandbox):
    results = [
        await sandbox.execute("1"),
        await sandbox.shell("true"),
        await sandbox.call("def f(): return 1", "f", {}),
        await sandbox.execute("import os; os._exit(1)"),
    ]
    await sandbox.destroy()
    results.append(await sandbox.execute("1"))

    assert sandbox.backend == "unsafe-local"
    assert sandbox.isolation == ()
    for result in results:
        assert result.isolation == ()
        assert result.warning.startswith("UNSANDBOXED")


def kernels():
    """Processes below this one that lead a session of their own, as a kernel does."""
    found = set()
    for child in living(os.getpid())[1:]:
        # It may have ended since.
        with suppress(ProcessLookupError):
            found |= {child} if os.getsid(child) == child else set()
    return found


async def test_nothing_is_left_of_a_kernel_that_is_given_up_while_it_starts():
    backend = UnsafeLocalBackend(SystemClock())
    before = kernels()
    creating = asyncio.ensure_future(backend.create(SandboxSpec(limits=SMALL)))
    while kernels() <= before:  # noqa: ASYNC110 - the very moment at which it has been started
        await asyncio.sleep(0)
    creating.cancel()
    await asyncio.wait([creating])

    assert creating.cancelled()
    assert kernels() <= before


async def test_a_result_with_walls_warns_of_nothing():
    async with opened("bubblewrap") as walled:
        assert (await walled.execute("1")).warning == ""


async def test_there_really_are_no_walls(sandbox, tmp_path):
    await sandbox.shell(f"echo seen > {tmp_path}/outside")
    found = await sandbox.execute("import os; os.getuid()")

    assert (tmp_path / "outside").read_text() == "seen\n"
    assert found.display[0]["text/plain"] == str(os.getuid())


async def test_cells_keep_their_names_and_are_undone_all_the_same(sandbox):
    await sandbox.execute("x = 1")
    hung = await sandbox.execute("x = 2\nwhile True: pass", 0.5)

    assert hung.error.name == FailureName.TIMEOUT
    assert hung.rolled_back
    assert (await sandbox.execute("x")).display[0]["text/plain"] == "1"
    assert (await sandbox.shell("pwd")).stdout.strip() == str(sandbox.room.workspace.root)


async def test_no_secret_of_ours_is_in_its_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-7f91")
    async with opened("unsafe-local") as sandbox:
        found = await sandbox.shell("env")

    assert "PATH=" in found.stdout
    assert "canary" not in found.stdout


async def test_a_full_workspace_ends_the_call(sandbox):
    full = await sandbox.shell("for i in $(seq 20); do head -c 8M /dev/zero > f$i; done; sleep 9")

    assert full.error.name == FailureName.DISK


def running(processes):
    return [process for process in processes if Path(f"/proc/{process}/root").exists()]


async def test_a_destroyed_one_leaves_no_process_behind(sandbox):
    code = "open('begun', 'w').close()\nimport os\nos.fork()\nwhile True: pass"
    call = asyncio.ensure_future(sandbox.execute(code))
    while not await sandbox.list_files():
        pass
    processes = living(sandbox.watcher.process)
    await sandbox.destroy()
    result = await call

    assert not result.alive
    assert len(processes) > 2
    # Killed, and gone as soon as the machine gets to it: a time limit is what fails here.
    while running(processes):
        pass


def names(**settings):
    found = factory.backends(SandboxSettings(**settings), {}, SystemClock())
    return [backend.name for backend in found]


def test_nobody_gets_it_without_asking_for_it():
    assert "unsafe-local" not in names()
    assert names(unsafe_local=True) == ["unsafe-local"]
    assert names(unsafe_local=True, url="http://127.0.0.1:1") == ["unsafe-local"]


def test_a_server_never_offers_it():
    served = factory.served(SandboxSettings(unsafe_local=True))

    assert "unsafe-local" not in [
        backend.name for backend in factory.backends(served, {}, SystemClock())
    ]
