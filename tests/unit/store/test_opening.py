import pytest
from tests.unit.store.house import NOON, add_session, house

from long_running_agents.config import load
from long_running_agents.errors import ConfigError, HomeBusy, NotFound, StorageFailed
from long_running_agents.store import sessions
from long_running_agents.store.schema import database_path, open_database
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "name", ["with space", "100%", "a?b", "a#b", "ünïcode", "a&mode=ro", "%41"]
)
async def test_a_home_may_have_any_name(tmp_path, name):
    home = tmp_path / name
    async with house(home) as database:
        await database.write(add_session)
    async with house(home, read_only=True) as database:
        assert (await database.read(sessions.newest)).id == "s"

    assert (home / "lra.db").is_file()


async def test_a_reader_looks_beside_the_owner(tmp_path):
    async with house(tmp_path) as owner, house(tmp_path, read_only=True) as reader:
        assert await reader.read(sessions.newest) is None
        await owner.write(add_session)

        assert (await reader.read(sessions.newest)).id == "s"


async def test_a_second_owner_is_refused(tmp_path):
    async with house(tmp_path):
        with pytest.raises(HomeBusy, match="is using"):
            async with house(tmp_path):
                pass


async def test_a_reader_cannot_write(tmp_path):
    async with house(tmp_path) as owner:
        await owner.write(add_session)
    async with house(tmp_path, read_only=True) as reader:
        with pytest.raises(StorageFailed, match=r"cannot be written. Check its permissions"):
            await reader.write(lambda tx: sessions.rename(tx, "s", "changed"))

        assert (await reader.read(sessions.newest)).title == "A title"


async def test_reading_a_home_that_is_not_there_makes_none(tmp_path):
    with pytest.raises(NotFound, match=r"nothing in .* yet. Begin with 'lra chat'"):
        async with house(tmp_path / "home", read_only=True):
            pass

    assert not (tmp_path / "home").exists()


async def test_an_older_database_is_not_upgraded_by_a_reader(tmp_path):
    (tmp_path / "lra.db").touch()

    with pytest.raises(StorageFailed, match="has schema None, this version uses"):
        async with house(tmp_path, read_only=True):
            pass


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "home/lra.db"),
        ("sqlite:///data/x.db", "data/x.db"),
        ("sqlite+aiosqlite:///./data/agent_memory.db", "data/agent_memory.db"),
        ("sqlite:///{tmp}/x.db", "x.db"),
    ],
)
def test_a_database_url_names_a_file(tmp_path, monkeypatch, url, path):
    monkeypatch.chdir(tmp_path)
    environ = {"DATABASE_URL": url.format(tmp=tmp_path)}

    assert database_path(load(home=tmp_path / "home", environ=environ)) == tmp_path / path


def test_a_database_url_may_begin_in_the_persons_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    loaded = load(home=tmp_path, environ={"DATABASE_URL": "sqlite:///~/x.db"})

    assert database_path(loaded) == tmp_path / "x.db"


@pytest.mark.parametrize(
    "url",
    ["postgresql://me:hunter22@host/db", "sqlite://", "sqlite:///", "sqlite:///:memory:", "x.db",
     "sqlite://host/x.db", "mysql:///x.db"],
)  # fmt: skip
def test_other_databases_are_refused_without_their_password(tmp_path, url):
    loaded = load(home=tmp_path, environ={"DATABASE_URL": url})

    with pytest.raises(ConfigError, match=r"environment \(DATABASE_URL\).*sqlite:///") as refused:
        database_path(loaded)
    assert "hunter22" not in str(refused.value)


async def test_the_database_may_live_outside_the_home(tmp_path):
    loaded = load(
        home=tmp_path / "home", environ={"DATABASE_URL": f"sqlite:///{tmp_path}/deep/er/x.db"}
    )
    async with open_database(loaded, FrozenClock(NOON)) as database:
        await database.write(add_session)

    assert (tmp_path / "deep/er/x.db").is_file()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    loaded = load(
        home=tmp_path / "home", environ={"DATABASE_URL": f"sqlite:///{tmp_path}/file/sub/x.db"}
    )

    with pytest.raises(StorageFailed, match=r"The database .*file/sub/x.db cannot be written"):
        async with open_database(loaded, FrozenClock(NOON)):
            pass
