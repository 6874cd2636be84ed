"""When the disk or the clock misbehaves."""

import asyncio
import sqlite3
from contextlib import suppress
from datetime import timedelta

import pytest
import sqlalchemy as sa
from tests.integration.server.serving import served
from tests.integration.stories import SESSION, ended

from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import StorageFailed
from long_running_agents.testing import FrozenClock, ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio


class Disk:
    """A disk that may have no room for one more page, on any connection."""

    def __init__(self):
        self._full = False
        self._connections = []

    @property
    def full(self):
        return self._full

    @full.setter
    def full(self, full):
        # A disk that stays full is not measured anew: a write that is just being refused
        # would count its own pages as room.
        if full == self._full:
            return
        self._full = full
        for connection in self._connections:
            # One that was closed meanwhile writes nothing anyway.
            with suppress(sqlite3.ProgrammingError):
                self._limit(connection)

    def connected(self, connection, _):
        self._connections.append(connection)
        self._limit(connection)

    def _limit(self, connection):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        top = pages if self._full else 1_000_000
        connection.execute(f"PRAGMA max_page_count = {top}")


@pytest.fixture
def disk():
    """Listens before any database is open: listeners must not change while one is at work."""
    disk = Disk()
    sa.event.listen(sa.Engine, "connect", disk.connected)
    yield disk
    sa.event.remove(sa.Engine, "connect", disk.connected)


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


async def test_a_turn_goes_on_by_itself_when_there_is_room_again(tmp_path, disk):
    clock = FrozenClock()
    model = ScriptedModel([say("word " * 20_000), say("There is room again.")])
    async with make_app(tmp_path, model=model, clock=clock) as app:
        turn = await app.turns.start(SESSION, "Write a lot")
        disk.full = True
        for left in reversed(range(15)):
            with pytest.raises(StorageFailed, match="No room left"):
                await app.turns.settled(turn.id)
            disk.full = left > 0
            await patient(app, clock)
            await clock.advance(5)
        turn = await app.turns.settled(turn.id)
        # No model is asked as long as its answer could not be written down.
        assert len(model.requests) == 2
        assert (turn.status, turn.answer) == (TurnStatus.DONE, "There is room again.")
        assert [each.answer for each in await app.sessions.turns(SESSION)] == [turn.answer]


async def test_a_small_write_that_still_fits_is_no_sign_of_room(tmp_path, disk):
    async with make_app(tmp_path, model=ScriptedModel([say("ok")])) as app:
        await ended(app, "hello")
        disk.full = True
        with pytest.raises(StorageFailed):
            await app.turns.start(SESSION, "x" * 100_000)
        await app.sessions.rename(SESSION, "Fits")
        with pytest.raises(StorageFailed, match="No room left"):
            await app.database.check_room()
        disk.full = False
        await app.database.check_room()


async def patient(app, clock):
    """Wait until the turn waits for nothing but the time to pass."""
    while not (app.driver.busy and clock.sleepers):  # noqa: ASYNC110 - the clock has no bell
        await asyncio.sleep(0)


async def test_a_server_without_room_is_not_ready_and_says_why(tmp_path, disk):
    replies = [say("hello"), say("word " * 20_000), say("There is room again.")]
    async with served(tmp_path, *replies) as (app, client):
        await ended(app, "hello")
        assert (await client.get("/ready")).status_code == 200
        disk.full = True
        refused = await client.post("/api/chat/talk", json={"message": "x" * 100_000})
        unready = await client.get("/ready")
        disk.full = False
        ready = await client.get("/ready")

    assert (refused.status_code, unready.status_code, ready.status_code) == (503, 503, 200)
    assert "No room left" in unready.json()["message"]
    assert str(tmp_path) in unready.json()["message"]
    assert "disk space" in unready.json()["hint"]


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
