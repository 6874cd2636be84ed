import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from long_running_agents.config import load
from long_running_agents.errors import HomeBusy, StorageFailed
from long_running_agents.home import Home, workspace_of

OWNER = """
import sys
from pathlib import Path
from long_running_agents.home import Home

with Home(Path(sys.argv[1])).owned():
    print("owned", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that owns the home."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "owned\n"
    yield process
    process.kill()
    process.communicate()


def test_a_home_is_for_its_owner_alone(tmp_path):
    home = Home(tmp_path / "deep" / "home")

    with home.owned():
        assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
        assert stat.S_IMODE(home.lock.stat().st_mode) == 0o600
        assert home.owner() == os.getpid()

    assert home.owner() is None


def test_a_second_owner_is_refused_and_told_who_the_first_is(tmp_path, other):
    home = Home(tmp_path)

    assert home.owner() == other.pid
    with pytest.raises(HomeBusy, match=rf"Process {other.pid} is using .*--home"), home.owned():
        pass
    assert home.owner() == other.pid


def test_a_killed_owner_leaves_no_lock_behind(tmp_path, other):
    other.send_signal(signal.SIGKILL)
    other.wait()

    assert Home(tmp_path).owner() is None
    with Home(tmp_path).owned():
        assert Home(tmp_path).owner() == os.getpid()


def test_even_the_same_process_owns_a_home_only_once(tmp_path):
    home = Home(tmp_path)

    with home.owned(), pytest.raises(HomeBusy), home.owned():
        pass


def test_a_home_is_let_go_of_when_its_owner_fails(tmp_path):
    home = Home(tmp_path)
    with pytest.raises(RuntimeError), home.owned():
        raise RuntimeError

    with home.owned():
        pass


def test_looking_for_an_owner_makes_nothing(tmp_path):
    (tmp_path / "file").touch()

    assert Home(tmp_path / "none").owner() is None
    assert Home(tmp_path / "file").owner() is None
    assert not (tmp_path / "none").exists()


def test_a_home_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()

    for path in (tmp_path / "file", tmp_path / "file" / "home"):
        with (
            pytest.raises(StorageFailed, match=r"home .*file.* cannot be created.*LRA_HOME"),
            Home(path).owned(),
        ):
            pass


def test_a_home_whose_lock_cannot_be_written_is_named(tmp_path):
    Home(tmp_path).lock.mkdir()

    with pytest.raises(StorageFailed, match="cannot be written"), Home(tmp_path).owned():
        pass


def test_a_read_only_home_is_named(tmp_path):
    home = tmp_path / "home"
    home.mkdir(0o500)
    child = os.fork()
    if child == 0:
        # Root may write everywhere, so the story is played by nobody.
        if os.geteuid() == 0:
            home.chmod(0o555)
            for folder in (tmp_path, *tmp_path.parents[:3]):
                folder.chmod(0o755)
            os.setuid(65534)
        try:
            with Home(home).owned():
                os._exit(1)
        except StorageFailed as error:
            os._exit(0 if "cannot be written" in str(error) else 2)
        except BaseException:  # noqa: BLE001 - the child must not go on as a test run
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    home.chmod(0o700)


def test_everything_lives_inside_the_home(tmp_path):
    home = Home(tmp_path)
    places = [
        home.database, home.workspace, home.backups, home.logs, home.sessions, home.env_file,
        home.history, home.lock,
    ]  # fmt: skip

    assert {place.parent for place in places} == {tmp_path}
    assert len(set(places)) == len(places)


def test_a_relative_workspace_is_meant_from_where_it_is_written(tmp_path, monkeypatch):
    home, here = tmp_path / "home", tmp_path / "here"
    for folder in (home, here):
        folder.mkdir()
    monkeypatch.chdir(here)

    def workspace(environ=None, **flags):
        return workspace_of(load(home=home, environ=environ or {}, flags=flags))

    assert workspace() == home / "workspace"
    (home / "config.toml").write_text('[agent]\nworkspace = "work"\n')
    assert workspace() == home / "work"
    (home / ".env").write_text("LRA_AGENT__WORKSPACE=of/env\n")
    assert workspace() == home / "of/env"
    assert workspace({"LRA_AGENT__WORKSPACE": "mine"}) == here / "mine"
    assert workspace(**{"agent.workspace": "/abs"}) == Path("/abs")
