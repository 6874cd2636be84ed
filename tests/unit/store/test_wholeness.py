"""A database of which something is missing is not taken for all of it."""

import os
import shutil

import pytest
from tests.unit.store.house import add_session, house

from long_running_agents import doctor
from long_running_agents.config import load
from long_running_agents.errors import CorruptData
from long_running_agents.store import sessions

pytestmark = pytest.mark.anyio


@pytest.fixture
async def killed(tmp_path):
    """A home as kill -9 leaves it: the newest session is only in the log."""
    source, home = tmp_path / "source", tmp_path / "home"
    async with house(source) as database:
        await database.write(add_session)
        shutil.copytree(source, home)
    return home


def cut(home, part):
    log = home / "lra.db-wal"
    os.truncate(log, int(log.stat().st_size * part))


async def test_what_kill_leaves_is_whole(killed):
    assert doctor.database(load(home=killed, environ={})).state is doctor.CheckState.OK
    async with house(killed) as database:
        assert (await database.read(sessions.newest)).id == "s"


@pytest.mark.parametrize("part", [0.5, 0.99, 0])
@pytest.mark.parametrize("read_only", [False, True])
async def test_half_a_log_is_said_until_somebody_decides(killed, part, read_only):
    cut(killed, part)
    for _ in range(2):
        found = doctor.database(load(home=killed, environ={}))
        assert found.state is doctor.CheckState.PROBLEM
        assert "lra.db-wal was cut off" in found.detail
        assert "'lra doctor --fix'" in found.fix
        with pytest.raises(CorruptData, match="cut off"):
            async with house(killed, read_only=read_only):
                pass

    (killed / "lra.db-shm").unlink()
    async with house(killed):
        pass
    assert doctor.database(load(home=killed, environ={})).state is doctor.CheckState.OK


async def test_a_log_that_is_gone_is_said_too(killed):
    (killed / "lra.db-wal").unlink()
    with pytest.raises(CorruptData, match="cut off"):
        async with house(killed):
            pass


async def test_a_running_owners_log_is_whole(tmp_path):
    async with house(tmp_path) as database:
        for number in range(50):
            await database.write(lambda tx, key=f"s{number}": add_session(tx, key))
            async with house(tmp_path, read_only=True) as beside:
                assert (await beside.read(sessions.newest)) is not None


async def test_an_empty_file_in_a_home_that_was_in_use_is_no_new_home(tmp_path):
    async with house(tmp_path):
        pass
    (tmp_path / "logs").mkdir()
    os.truncate(tmp_path / "lra.db", 0)

    found = doctor.database(load(home=tmp_path, environ={}))
    assert (found.state, "is empty" in found.detail) == (doctor.CheckState.PROBLEM, True)
    assert "delete lra.db to begin anew" in found.fix
    with pytest.raises(CorruptData, match="is empty"):
        async with house(tmp_path):
            pass
    (tmp_path / "lra.db").unlink()
    async with house(tmp_path):
        pass


async def test_a_first_start_that_was_cut_short_begins_again(tmp_path):
    (tmp_path / "lra.db").touch()
    async with house(tmp_path) as database:
        assert await database.read(sessions.newest) is None


@pytest.mark.parametrize("place", [10, 20, 40, 2000, -2000])
async def test_a_log_that_was_altered_is_said_and_saved_as_far_as_it_goes(killed, place):
    log = killed / "lra.db-wal"
    data = bytearray(log.read_bytes())
    data[place] ^= 0x11
    log.write_bytes(data)

    with pytest.raises(CorruptData, match=r"lra.db-wal was altered.*'lra doctor --fix'"):
        async with house(killed):
            pass
    assert log.read_bytes() == bytes(data)


@pytest.mark.parametrize(("place", "said"), [(2000, True), (-2000, False)])
async def test_without_its_index_a_log_is_believed_unless_more_than_its_end_is_bad(
    killed, place, said
):
    """The last transaction may have been cut short by a power cut, and was never acknowledged."""
    (killed / "lra.db-shm").unlink()
    log = killed / "lra.db-wal"
    data = bytearray(log.read_bytes())
    data[place] ^= 0x11
    log.write_bytes(data)

    found = doctor.database(load(home=killed, environ={}))

    assert ("was altered" in found.detail) == said
