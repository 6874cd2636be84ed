"""When the disk or the clock misbehaves."""

from datetime import timedelta

import pytest
import sqlalchemy as sa
from tests.integration.stories import SESSION, ended

from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import StorageFailed
from long_running_agents.testing import FrozenClock, ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio


class Disk:
    """A disk that may have no room for one more page, on any connection."""

    def __init__(self):
        self.full = False

    def limit(self, connection):
        if self.full:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")


@pytest.fixture
def disk():
    """Listens before any database is open: listeners must not change while one is at work."""
    disk = Disk()
    sa.event.listen(sa.Engine, "begin", disk.limit)
    yield disk
    sa.event.remove(sa.Engine, "begin", disk.limit)


async def test_a_full_disk_is_reported_and_the_turn_goes_on_when_there_is_room(tmp_path, disk):
    words = "word " * 20_000
    model = ScriptedModel([say(words), say("There is room again.")])
    async with make_app(tmp_path, model=model) as app:
        turn = await app.turns.start(SESSION, "Write a lot")
        disk.full = True
        with pytest.raises(StorageFailed, match="No room left"):
            await app.turns.settled(turn.id)
    disk.full = False
    async with make_app(tmp_path, model=model) as app:
        turn = await app.turns.settled(turn.id)
        assert turn.status is TurnStatus.DONE
        assert turn.answer == "There is room again."


async def test_a_message_that_finds_no_room_is_refused_and_not_half_accepted(tmp_path, disk):
    async with make_app(tmp_path, model=ScriptedModel([say("ok"), say("ok")])) as app:
        await ended(app, "hello")
        disk.full = True
        with pytest.raises(StorageFailed):
            await app.turns.start(SESSION, "x" * 100_000)
        disk.full = False
        assert [turn.prompt for turn in await app.sessions.turns(SESSION)] == ["hello"]


async def test_a_clock_set_back_changes_no_order(tmp_path):
    clock = FrozenClock()
    model = ScriptedModel([say("one"), call("list_tasks"), say("two"), say("three")])
    async with make_app(tmp_path, model=model, clock=clock) as app:
        await ended(app, "first")
        clock.set(clock.now() - timedelta(days=400))
        await ended(app, "second")
        await ended(app, "third")
        turns = await app.sessions.turns(SESSION)
        assert [turn.answer for turn in turns] == ["one", "two", "three"]
        seen = [event.seq for event in await app.sessions.events(SESSION)]
        assert seen == sorted(seen)
        shown = [
            str(part.content)
            for m in model.requests[-1]
            for part in m.parts
            if m.kind == "request" and part.part_kind == "user-prompt"
        ]
        assert shown == ["first", "second", "third"]
