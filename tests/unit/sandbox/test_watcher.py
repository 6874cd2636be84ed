import os

import pytest

from long_running_agents.sandbox.base import MEGABYTE, SandboxLimits
from long_running_agents.sandbox.limits import SandboxWatcher, nameless, usage

pytestmark = pytest.mark.anyio

LIMITS = SandboxLimits(workspace_bytes=MEGABYTE, workspace_files=10)


class Sandbox:
    """The time that passes for it, and when it was killed."""

    def __init__(self):
        self.time = 0.0
        self.killed_at = None

    def monotonic(self):
        return self.time

    def kill(self):
        self.killed_at = self.time


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


async def watched(workspace, seconds):
    """When the watcher ended a call of so many seconds; None if it did not."""
    sandbox = Sandbox()
    look = SandboxWatcher(
        process=os.getpid(),
        limits=LIMITS,
        workspace=workspace,
        counted=True,
        kill=sandbox.kill,
        clock=sandbox,
    ).watch()
    while sandbox.time < seconds and sandbox.killed_at is None:
        sandbox.time += 0.25
        await look()
    return sandbox.killed_at


def fill(file, size):
    file.write_bytes(os.urandom(size))


async def test_a_workspace_that_stays_too_full_ends_the_sandbox(workspace):
    fill(workspace / "big", 3 * MEGABYTE)

    assert 1 < await watched(workspace, 60) < 5


async def test_the_watch_inside_has_its_time_to_act_first(workspace):
    fill(workspace / "big", 3 * MEGABYTE)

    assert await watched(workspace, 2) is None


async def test_nobody_is_ended_for_what_others_do_to_the_disk(workspace, tmp_path):
    fill(tmp_path / "of somebody else", 24 * MEGABYTE)

    assert await watched(workspace, 60) is None


async def test_too_many_files_are_too_much_as_well(workspace):
    for number in range(30):
        (workspace / str(number)).touch()

    assert await watched(workspace, 60)


def test_links_are_not_followed_when_a_workspace_is_measured(workspace, tmp_path):
    fill(tmp_path / "big", MEGABYTE)
    (workspace / "file").symlink_to(tmp_path / "big")
    (workspace / "folder").symlink_to(tmp_path)

    assert usage(workspace, 100)[0] < MEGABYTE


def test_a_nest_that_is_too_deep_to_look_into_counts_as_endless(workspace):
    here = os.open(workspace, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=here)
        above, here = here, os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(here)

    assert usage(workspace, 100)[0] == float("inf")


def test_a_deleted_file_counts_as_long_as_it_is_held(tmp_path):
    before = nameless(os.getpid())
    with (tmp_path / "file").open("wb") as file:
        file.write(os.urandom(MEGABYTE))
        file.flush()
        (tmp_path / "file").unlink()

        assert nameless(os.getpid()) - before >= MEGABYTE
