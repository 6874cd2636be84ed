import pytest

from long_running_agents.sandbox import cgroup
from long_running_agents.sandbox.spec import Limits
from long_running_agents.testing import FrozenClock

LIMITS = Limits(memory=1000, processes=7, cpus=0.5)


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
    group = cgroup.make("x", LIMITS, root, own)

    assert group.folders == tuple(root / kind / "box/x" for kind in ("memory", "pids", "cpu"))
    assert (root / "memory/box/x/memory.limit_in_bytes").read_text() == "1000"
    assert (root / "pids/box/x/pids.max").read_text() == "7"
    assert (root / "cpu/box/x/cpu.cfs_quota_us").read_text() == "50000"


def test_version_2_has_one_beside_our_own(version_2):
    root, own = version_2
    group = cgroup.make("x", LIMITS, root, own)
    [folder] = group.folders

    assert folder == root / "user.slice/x"
    assert (folder / "memory.max").read_text() == "1000"
    assert (folder / "pids.max").read_text() == "7"
    assert (folder / "cpu.max").read_text() == "50000 100000"


def test_processes_are_put_into_every_folder(version_1):
    group = cgroup.make("x", LIMITS, *version_1)
    group.add(4711)

    assert {(f / "cgroup.procs").read_text() for f in group.folders} == {"4711"}


@pytest.mark.parametrize("name", ["memory.events", "memory.oom_control"])
def test_kills_for_memory_are_counted(version_2, name):
    group = cgroup.make("x", LIMITS, *version_2)
    assert group.kills() == 0
    (group.folders[0] / name).write_text("low 0\nunder_oom 0\noom_kill 3\n")

    assert group.kills() == 3


def test_without_the_right_to_make_one_there_is_none(tmp_path, version_2):
    root, own = version_2
    (root / "user.slice/x").write_text("in the way")
    (root / "x").write_text("in the way")

    assert cgroup.make("x", LIMITS, root, own) is None
    assert cgroup.make("x", LIMITS, tmp_path / "none", own) is None
    assert cgroup.make("x", LIMITS, root, tmp_path / "none") is None


@pytest.mark.anyio
async def test_an_empty_group_is_taken_away(tmp_path):
    folder = tmp_path / "group"
    folder.mkdir()

    await cgroup.Cgroup((folder,)).remove(FrozenClock())

    assert not folder.exists()
