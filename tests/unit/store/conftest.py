import pytest
from tests.unit.store.house import add_session, add_turn, house


@pytest.fixture
async def database(tmp_path):
    """An open database that holds a session 's' with a queued turn 't1'."""
    async with house(tmp_path / "home") as opened:
        await opened.write(lambda tx: add_turn(tx, "t1", add_session(tx).id))
        yield opened
