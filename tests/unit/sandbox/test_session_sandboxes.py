from contextlib import asynccontextmanager

import pytest
from tests.unit.sandbox.test_sandboxes import FakeBackend

from long_running_agents.errors import NotFound, SandboxUnavailable, Unavailable
from long_running_agents.sandbox.base import SandboxSpec
from long_running_agents.sandbox.manager import Sandboxes, SessionSandboxes
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio


class House:
    """Sandboxes of sessions over a backend that makes nothing real."""

    def __init__(self):
        self.backend = FakeBackend()
        self.opened = 0
        self.installed = []
        self.offline = False
        self.lacking = {"requests"}
        self.sessions = SessionSandboxes(
            self._open, SandboxSpec, self._install, self.lacking.__contains__
        )

    def _install(self, packages):
        if self.offline:
            raise Unavailable("No network.")
        self.lacking.clear()
        self.installed.extend(packages or ["the usual ones"])

    @asynccontextmanager
    async def _open(self, _):
        if self.backend.broken:
            raise SandboxUnavailable("No.")
        self.opened += 1
        sandboxes = Sandboxes(self.backend, FrozenClock())
        yield sandboxes
        await sandboxes.close()

    async def enter(self, session, sandbox_id=None, **options):
        async with self.sessions.entered(session, sandbox_id, **options) as entered:
            return entered


@pytest.fixture
def house():
    return House()


async def test_nothing_is_started_before_it_is_used(house):
    await house.sessions.close()
    assert house.opened == 0


async def test_a_session_has_one_sandbox_until_that_dies(house):
    first, again = await house.enter("a"), await house.enter("a")
    assert (first.fresh, again.fresh) == (True, False)
    assert first.id == again.id

    first.sandbox.alive = False
    third = await house.enter("a")
    assert third.fresh
    assert third.id != first.id
    assert len(house.backend.made) == 2


async def test_sessions_never_share_a_sandbox(house):
    mine, yours = await house.enter("a"), await house.enter("b")
    extra = await house.sessions.create("a")

    assert len({mine.id, yours.id, extra.id}) == 3
    assert (await house.enter("a", extra.id)).sandbox is extra.sandbox
    for stranger in (mine.id, extra.id, "", "unknown"):
        with pytest.raises(NotFound):
            await house.enter("b", stranger)


async def test_what_could_not_be_opened_is_tried_again(house):
    house.backend.broken = True
    with pytest.raises(SandboxUnavailable):
        await house.enter("a")

    house.backend.broken = False
    assert (await house.enter("a")).fresh


async def test_where_there_are_no_walls_nothing_runs_unless_somebody_watches(house):
    with pytest.raises(SandboxUnavailable, match="nobody is there to watch"):
        await house.enter("a", attended=False)

    assert (await house.enter("a", attended=True)).sandbox.isolation == ()
    house.backend.made[-1].isolation = ("namespaces",)
    assert (await house.enter("a", attended=False)).sandbox.isolation


async def test_new_packages_come_with_a_new_sandbox(house):
    before = await house.enter("a")
    await house.sessions.install("a", ["scipy"])
    after = await house.enter("a")

    assert house.installed == ["scipy"]
    assert after.fresh
    assert not before.sandbox.alive


async def test_in_the_end_all_are_gone(house):
    entered = [await house.enter("a"), await house.enter("b")]
    await house.sessions.close()
    assert not any(each.sandbox.alive for each in entered)


async def test_the_usual_packages_are_fetched_when_code_first_misses_one(house):
    await house.enter("a")

    assert await house.sessions.supply("a", "no_such_module") == ""
    assert "try again" in await house.sessions.supply("a", "requests")
    assert house.installed == ["the usual ones"]
    assert (await house.enter("a")).fresh
    assert await house.sessions.supply("a", "requests") == ""


async def test_without_a_network_it_is_tried_once_and_said_how(house):
    house.offline = True
    first = await house.sessions.supply("a", "requests")
    house.offline = False

    assert "No network." in first
    assert "lra sandbox prepare" in first
    assert await house.sessions.supply("a", "requests") == first
    assert house.installed == []
