import fcntl
import os

import pytest

from long_running_agents.sandbox import limits
from long_running_agents.sandbox.base import SandboxLimits
from long_running_agents.testing import FrozenClock

LIMITS = SandboxLimits(memory=1000, processes=7, cpus=0.5)


@pytest.fixture
def version_1(tmp_path):
    root = tmp_path / "cgroup"
    for kind in ("memory", "pids", "cpu"):
        (root / kind / "box").mkdir(parents=True)
    own = tmp_path / "own"
    own.write_text("4:memory:/box\n3:pids:/box\n2:cpu,cpuacct:/box\n0::/\n")
    return root, own


@pytest.fixture
def version_2(tmp_path):
    root = tmp_path / "cgroup"
    (root / "user.slice/app.scope").mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu memory pids")
    own = tmp_path / "own"
    own.write_text("0::/user.slice/app.scope\n")
    return root, own


def test_version_1_has_a_folder_for_each_kind(version_1):
    root, own = version_1
    group = limits.make(LIMITS, root, own)

    memory, pids, cpu = group.folders

    assert [folder.parent for folder in group.folders] == [
        root / kind / "box" for kind in ("memory", "pids", "cpu")
    ]
    assert (memory / "memory.limit_in_bytes").read_text() == "1000"
    assert (pids / "pids.max").read_text() == "7"
    assert (cpu / "cpu.cfs_quota_us").read_text() == "50000"


def test_version_2_has_one_beside_our_own(version_2):
    root, own = version_2
    group = limits.make(LIMITS, root, own)
    [folder] = group.folders

    assert folder.parent == root / "user.slice"
    assert (folder / "memory.max").read_text() == "1000"
    assert (folder / "pids.max").read_text() == "7"
    assert (folder / "cpu.max").read_text() == "50000 100000"


def test_processes_are_put_into_every_folder(version_1):
    group = limits.make(LIMITS, *version_1)
    group.add(4711)

    assert {(f / "cgroup.procs").read_text() for f in group.folders} == {"4711"}


@pytest.mark.parametrize("name", ["memory.events", "memory.oom_control"])
def test_kills_for_memory_are_counted(version_2, name):
    group = limits.make(LIMITS, *version_2)
    assert group.kills() == 0
    (group.folders[0] / name).write_text("low 0\nunder_oom 0\noom_kill 3\n")

    assert group.kills() == 3


def test_where_none_can_be_made_there_is_none(tmp_path, version_2):
    root, own = version_2

    assert limits.make(LIMITS, tmp_path / "none", own) is None
    assert limits.make(LIMITS, root, tmp_path / "none") is None


@pytest.mark.anyio
async def test_an_empty_group_is_taken_away(tmp_path):
    folder = tmp_path / "group"
    folder.mkdir()

    await limits.Cgroup((folder,)).remove(FrozenClock())

    assert not folder.exists()


def test_what_the_killed_left_behind_is_swept_away(version_2):
    root, own = version_2
    left = root / f"user.slice/lra-{os.getpid()}-abc"
    young = root / "user.slice/lra-999999999-abc"
    left.mkdir()
    os.utime(left, (0, 0))
    young.mkdir()
    limits.make(LIMITS, root, own)

    assert not left.exists()
    assert young.exists()


def test_a_group_whose_maker_lives_is_kept_whatever_its_number_is(version_2):
    """In another pid namespace, the number of a live process may belong to nobody."""
    root, own = version_2
    held = root / "user.slice/lra-999999999-abc"
    held.mkdir()
    os.utime(held, (0, 0))
    lock = os.open(held, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    limits.make(LIMITS, root, own)

    assert held.exists()

    os.close(lock)
    limits.make(LIMITS, root, own)

    assert not held.exists()
