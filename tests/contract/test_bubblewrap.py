"""What is particular to walls of namespaces."""

import asyncio
import gc
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import indent

import pytest

from long_running_agents.clock import SystemClock
from long_running_agents.errors import SandboxUnavailable
from long_running_agents.sandbox.base import SandboxSpec
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend

pytestmark = pytest.mark.anyio

MARK = "lra-mark-of-this-test"
HOST = f"""
import asyncio
from long_running_agents.clock import SystemClock
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend
from long_running_agents.sandbox.base import SandboxSpec

async def main():
    sandbox = await BubblewrapBackend(SystemClock()).create(SandboxSpec())
    print("ready", flush=True)
    await sandbox.shell("exec -a {MARK} sleep 300", 300)

asyncio.run(main())
"""


@pytest.fixture
def backend():
    return BubblewrapBackend(SystemClock())


async def created(backend, **spec):
    return await backend.create(SandboxSpec(**spec))


def marked():
    """Processes of this machine that carry the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if MARK.encode() in (entry / "cmdline").read_bytes().split(b"\0")[:1]:
                    found.append(entry)
            except OSError:
                continue
    return found


def owners(sandbox):
    status = Path(f"/proc/{sandbox.watcher.process}/status").read_text()
    return {int(uid) for uid in re.search(r"Uid:\s+(.*)", status)[1].split()}


async def test_a_workspace_behind_a_closed_folder_is_used_and_the_folder_stays_closed(
    backend, tmp_path
):
    closed = tmp_path / "closed"
    (closed / "workspace").mkdir(parents=True)
    closed.chmod(0o700)
    (closed / "workspace/in").write_text("hello")
    sandbox = await created(backend, workspace=closed / "workspace")
    result = await sandbox.shell("cat in; echo out > out; ls -a ..")
    await sandbox.destroy()

    assert result.stdout.startswith("hello")
    assert (closed / "workspace/out").read_text() == "out\n"
    assert closed.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("owner", [0, 1234])
async def test_a_folder_of_somebodys_own_is_worked_in_and_left_as_it_is(backend, tmp_path, owner):
    workspace = tmp_path / "repository"
    (workspace / ".git").mkdir(parents=True)
    (workspace / ".git/config").write_text("theirs")
    (workspace / "AGENTS.md").write_text("be kind")
    (workspace / "main.py").write_text("old")
    if os.geteuid() == 0:
        for path in (workspace, *workspace.rglob("*")):
            os.chown(path, owner, owner)
    before = workspace.stat()
    sandbox = await created(
        backend, workspace=workspace, borrowed=True, protected=("SOUL.md", "AGENTS.md", "memory/")
    )
    result = await sandbox.shell("echo new > main.py; echo x > made; echo obey > AGENTS.md; id -u")
    await sandbox.put_file("put/file", b"put")
    await sandbox.destroy()

    everything = [workspace, *workspace.rglob("*")]
    assert result.stdout == "1000\n"
    assert "AGENTS.md: Read-only file system" in result.stderr
    assert (workspace / "main.py").read_text() == "new\n"
    assert sorted(str(path.relative_to(workspace)) for path in everything) == [
        *(".", ".git", ".git/config", "AGENTS.md", "made", "main.py", "put", "put/file")
    ]
    owned = {(path.stat().st_uid, path.stat().st_gid) for path in everything}
    assert owned == {(before.st_uid, before.st_gid)}


async def test_secrets_in_the_workspace_are_covered(backend, tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "app/.ssh").mkdir(parents=True)
    for name in (".env", "app/.env.local", "app/server.pem", "app/.ssh/config"):
        (workspace / name).write_text("canary")
    (workspace / "app/main.py").write_text("print('plain')")
    sandbox = await created(backend, workspace=workspace)
    result = await sandbox.shell("grep -r . . 2>/dev/null; mv .env x; rm -rf app/.ssh; cp .env y")
    await sandbox.destroy()

    assert "plain" in result.stdout
    assert "canary" not in result.stdout
    assert (workspace / ".env").read_text() == "canary"
    assert (workspace / "app/.ssh/config").read_text() == "canary"


async def test_a_secret_cannot_be_hidden_among_made_up_ones(backend, tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "z").mkdir(parents=True)
    (workspace / "z/.env").write_text("canary")
    first = await created(backend, workspace=workspace)
    await first.shell("mkdir a; cd a; seq 2000 | sed 's/$/.pem/' | xargs touch")
    await first.destroy()

    with pytest.raises(SandboxUnavailable, match="secrets"):
        await created(backend, workspace=workspace)


HIDING = """
import os
from inside import process
told, tell = os.pipe()
heard, answer = os.pipe()
process.hide()
if not os.fork():
    os.read(told, 1)
    os.setsid()
    os.write(answer, b"+")
    os.read(told, 1)
found = []
for _ in range(2):
    try:
        found.append(process.memory())
    except process.Hidden:
        found.append("hidden")
    os.write(tell, b"+")
    os.read(heard, 1) if len(found) == 1 else None
found
"""
"""Does what the kernel does for each call: a fork is as hidden as the kernel, and then leaves."""


async def test_a_fork_that_has_not_begun_yet_is_not_taken_for_one_that_hides_its_memory():
    sandbox = await created(BubblewrapBackend(SystemClock(), use_cgroup=False))
    result = await sandbox.execute(HIDING)
    await sandbox.destroy()

    assert result.display[0]["text/plain"] == "[0, 'hidden']"


SILENT = """#!/bin/bash
while [ "$1" != --json-status-fd ]; do shift; done
printf %060000d 0 >&"$2"
echo x > "$0.begun"
exec sleep 300
"""
"""A bwrap that says much, and never the end of it."""


@pytest.fixture
def silent(monkeypatch):
    """The file that a bwrap makes which never says that its walls stand."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        program = Path(folder, "bwrap")
        program.write_text(SILENT)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield f"{program}.begun"


async def test_nobody_reads_from_walls_that_are_given_up_half_built(backend, silent):
    """A descriptor that is closed may be somebody else's the next moment."""
    said, before = [], asyncio.all_tasks()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    creating = asyncio.ensure_future(created(backend))
    while not await asyncio.to_thread(os.path.exists, silent):
        assert not creating.done()
    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating
    while left := asyncio.all_tasks() - before:
        await asyncio.wait(left)
    gc.collect()

    assert said == []


DEEP = "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n"


@pytest.fixture
def dug_up():
    """A folder that goes away however deep it has been dug."""
    folder = Path(tempfile.mkdtemp(prefix="lra-test-"))
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)


async def test_a_nest_of_folders_harms_neither_the_next_sandbox_nor_the_tidying_up(backend, dug_up):
    own = await created(backend)
    kept = await created(backend, workspace=dug_up / "workspace")
    for sandbox in (own, kept):
        await sandbox.call(f"def f():\n{indent(DEEP, '    ')}", "f", {})
        await sandbox.destroy()
    again = await created(backend, workspace=dug_up / "workspace")
    await again.destroy()

    assert (dug_up / "workspace/d/d/d").is_dir()
    assert not await asyncio.to_thread(own.room.folder.exists)


async def test_no_program_is_left_that_runs_with_the_rights_of_its_owner(backend, tmp_path):
    sandbox = await created(backend, workspace=tmp_path / "workspace")
    result = await sandbox.shell(
        "cp /bin/true a; chmod u+s a; chmod 2755 a; chmod 755 a; install -m 4755 a b;"
        " python3 -c 'import os; os.close(os.open(\"c\", os.O_CREAT | os.O_WRONLY, 0o6755))'"
    )
    modes = {
        entry.name: entry.stat().st_mode & 0o7777 for entry in os.scandir(tmp_path / "workspace")
    }
    await sandbox.destroy()

    assert "not permitted" in result.stderr
    assert modes["a"] == 0o755
    assert not any(mode & 0o6000 for mode in modes.values())


async def test_nothing_runs_as_the_superuser_and_two_sandboxes_not_as_the_same(backend):
    first, second = [await created(backend) for _ in range(2)]
    found = owners(first), owners(second)
    await first.destroy()
    await second.destroy()

    assert 0 not in found[0] | found[1]
    if os.geteuid() == 0:
        assert found[0].isdisjoint(found[1])


async def test_two_sandboxes_share_a_workspace(backend, tmp_path):
    first, second = [await created(backend, workspace=tmp_path / "shared") for _ in range(2)]
    await first.shell("echo one > a; mkdir d")
    await second.shell("echo two >> a; echo three > d/b")
    result = await first.shell("cat a d/b; rm -r d")
    await first.destroy()
    await second.destroy()

    assert result.stdout == "one\ntwo\nthree\n"
    assert result.success


async def test_the_environment_of_whoever_made_it_is_not_there(backend, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-7f91")
    sandbox = await created(backend)
    result = await sandbox.shell("cat /proc/*/environ | tr '\\0' '\\n'; env")
    await sandbox.destroy()

    assert "PATH=" in result.stdout
    assert "canary" not in result.stdout


async def test_a_destroyed_sandbox_leaves_nothing_behind(backend):
    sandbox = await created(backend)
    calling = asyncio.ensure_future(sandbox.shell(f"touch begun; exec -a {MARK} sleep 300", 300))
    while not await sandbox.list_files():
        pass
    folders = [] if sandbox.group is None else list(sandbox.group.folders)
    await sandbox.destroy()
    result = await calling

    assert not result.alive
    assert marked() == []
    assert not any(folder.exists() for folder in folders)
    assert not await asyncio.to_thread(sandbox.room.folder.exists)


def test_sandboxes_die_with_the_process_that_made_them():
    host = subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE)
    assert host.stdout.readline() == b"ready\n"
    while not marked():
        pass
    host.kill()
    host.communicate()
    while marked():
        pass

    assert marked() == []


async def test_a_probe_is_a_real_try_and_is_kept(backend):
    probe = await asyncio.to_thread(backend.probe)

    assert probe.ok
    assert {"user", "pid", "net", "mount", "seccomp"} <= set(probe.isolation)
    assert "rlimit" in probe.limits
    assert backend.probe() is probe


async def test_without_bubblewrap_the_error_is_the_fix(backend, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    probe = await asyncio.to_thread(backend.probe)

    assert not probe.ok
    assert "bubblewrap" in probe.fix
    with pytest.raises(SandboxUnavailable) as raised:
        await created(backend)
    assert raised.value.hint == probe.fix


async def test_a_bubblewrap_that_may_not_work_says_what_it_said(backend, monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    probe = await asyncio.to_thread(backend.probe)

    assert not probe.ok
    assert probe.reason
    assert probe.fix
