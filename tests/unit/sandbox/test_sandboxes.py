import pytest

from long_running_agents.errors import Busy, NotFound, SandboxUnavailable
from long_running_agents.sandbox.base import Probe, SandboxLimits, SandboxSpec
from long_running_agents.sandbox.factory import Pool
from long_running_agents.sandbox.manager import Sandboxes
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio

USUAL = SandboxSpec()
OTHER = SandboxSpec(limits=SandboxLimits(memory=1))


class FakeSandbox:
    backend = "fake"
    isolation = ()

    def __init__(self):
        self.alive = True

    async def destroy(self):
        self.alive = False


class FakeBackend:
    name = "fake"

    def __init__(self):
        self.made = []
        self.broken = False

    def probe(self):
        return Probe(backend=self.name, ok=not self.broken)

    async def create(self, spec):
        if self.broken:
            raise SandboxUnavailable("No.")
        self.made.append(FakeSandbox())
        return self.made[-1]


@pytest.fixture
def backend():
    return FakeBackend()


@pytest.fixture
def clock():
    return FrozenClock()


async def test_a_sandbox_is_found_by_its_id_until_it_is_destroyed(backend, clock):
    sandboxes = Sandboxes(backend, clock)
    held = await sandboxes.create(USUAL)

    assert sandboxes.find(held.id) is held
    await sandboxes.destroy(held.id)
    assert not held.sandbox.alive
    with pytest.raises(NotFound):
        sandboxes.find(held.id)


async def test_an_owner_has_so_many_and_no_more(backend, clock):
    sandboxes = Sandboxes(backend, clock, most=2)
    first = await sandboxes.create(USUAL, owner="ann")
    await sandboxes.create(USUAL, owner="ann")

    with pytest.raises(Busy):
        await sandboxes.create(USUAL, owner="ann")
    await sandboxes.create(USUAL, owner="bob")
    await sandboxes.destroy(first.id)
    await sandboxes.create(USUAL, owner="ann")
    assert len(sandboxes.every(owner="ann")) == 2
    assert len(sandboxes.every()) == 3


async def test_what_nobody_uses_goes_and_what_is_used_stays(backend, clock):
    sandboxes = Sandboxes(backend, clock, idle=60)
    idle, used, busy = [await sandboxes.create(USUAL) for _ in range(3)]
    async with sandboxes.using(busy.id):
        await clock.advance(59)
        async with sandboxes.using(used.id):
            pass
        await clock.advance(1)

        assert await sandboxes.sweep() == [idle.id]
    assert not idle.sandbox.alive
    assert used.sandbox.alive
    assert busy.sandbox.alive


async def test_closing_ends_them_all(backend, clock):
    sandboxes = Sandboxes(backend, clock)
    for _ in range(3):
        await sandboxes.create(USUAL)
    await sandboxes.close()

    assert not any(sandbox.alive for sandbox in backend.made)
    assert sandboxes.every() == []


async def test_a_warm_sandbox_is_handed_out_and_replaced(backend):
    pool = Pool(backend, USUAL, FrozenClock(), size=2)
    await pool.filled()
    ready = list(backend.made)

    taken = await pool.create(USUAL)
    await pool.filled()

    assert taken in ready
    assert pool.ready == 2
    assert len(backend.made) == 3
    await pool.close()
    assert taken.alive
    assert sum(sandbox.alive for sandbox in backend.made) == 1


async def test_another_kind_is_made_when_it_is_asked_for(backend):
    pool = Pool(backend, USUAL, FrozenClock(), size=1)
    await pool.filled()
    [warm] = backend.made

    assert await pool.create(OTHER) is not warm
    assert pool.ready == 1
    await pool.close()


async def test_what_died_while_it_waited_is_not_handed_out(backend):
    pool = Pool(backend, USUAL, FrozenClock(), size=1)
    await pool.filled()
    [dead] = backend.made
    dead.alive = False

    assert (await pool.create(USUAL)).alive
    await pool.close()


async def test_a_pool_that_cannot_be_filled_leaves_it_to_who_asks(backend):
    backend.broken = True
    pool = Pool(backend, USUAL, FrozenClock())
    await pool.filled()

    with pytest.raises(SandboxUnavailable):
        await pool.create(USUAL)
    await pool.close()
