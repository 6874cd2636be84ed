import asyncio
from contextvars import ContextVar

import pytest

from long_running_agents.engine.local import LocalEngine
from long_running_agents.testing import FrozenClock

pytestmark = pytest.mark.anyio

WORK = "work"


class Bench:
    """Pieces of work that begin, and end when the test lets them."""

    def __init__(self):
        self.log = []
        self.gates = {}
        self.clock = FrozenClock()
        self.engine = LocalEngine({WORK: self.handle}, self.clock)

    def gate(self, work_id):
        return self.gates.setdefault(work_id, asyncio.Event())

    async def handle(self, work_id):
        self.log.append(f"{work_id} began")
        try:
            await self.gate(work_id).wait()
        except asyncio.CancelledError:
            self.log.append(f"{work_id} interrupted")
            raise
        if work_id.startswith("bug"):
            raise RuntimeError(work_id)
        self.log.append(f"{work_id} ended")

    async def submit(self, work_id, partition="p", **options):
        await self.engine.submit(WORK, work_id, partition=partition, **options)

    async def settle(self):
        await self.clock.advance(0)


@pytest.fixture
async def bench():
    made = Bench()
    yield made
    await made.engine.close()


async def test_work_of_a_partition_runs_one_by_one_and_in_order(bench):
    for name in ("a", "b", "c"):
        await bench.submit(name)
    await bench.settle()
    assert bench.log == ["a began"]

    for name in ("c", "b", "a"):
        bench.gate(name).set()
        await bench.settle()

    assert bench.log == ["a began", "a ended", "b began", "b ended", "c began", "c ended"]


async def test_partitions_do_not_wait_for_each_other(bench):
    await bench.submit("a", "one")
    await bench.submit("b", "two")
    await bench.settle()

    assert bench.log == ["a began", "b began"]


async def test_asking_twice_is_asking_once(bench):
    await bench.submit("first")
    await bench.submit("a")
    await bench.submit("a")
    for name in ("first", "a"):
        bench.gate(name).set()
    await bench.settle()

    assert bench.log.count("a began") == 1


async def test_work_asked_for_while_it_runs_runs_again_afterwards(bench):
    await bench.submit("a")
    await bench.settle()
    await bench.submit("a")
    await bench.settle()
    assert bench.log == ["a began"]

    bench.gate("a").set()
    await bench.settle()

    assert bench.log == ["a began", "a ended"] * 2


async def test_a_partition_can_be_used_again_when_it_has_run_empty(bench):
    bench.gate("a").set()
    bench.gate("b").set()
    await bench.submit("a")
    await bench.settle()
    await bench.submit("b")
    await bench.settle()

    assert bench.log == ["a began", "a ended", "b began", "b ended"]


async def test_cancel_interrupts_waits_and_lets_the_next_begin(bench):
    await bench.submit("a")
    await bench.submit("b")
    await bench.settle()

    assert await bench.engine.cancel("a") is True
    assert bench.log == ["a began", "a interrupted"]
    await bench.settle()
    assert bench.log[2:] == ["b began"]


async def test_cancel_waits_for_work_that_takes_its_time_to_let_go():
    letting_go = asyncio.Event()
    done = []

    async def slow(work_id):
        try:
            await asyncio.Event().wait()
        finally:
            await letting_go.wait()
            done.append(work_id)

    clock = FrozenClock()
    engine = LocalEngine({WORK: slow}, clock)
    await engine.submit(WORK, "a", partition="p")
    await clock.advance(0)
    cancelling = asyncio.create_task(engine.cancel("a"))
    await clock.advance(0)
    assert not cancelling.done()

    letting_go.set()

    assert await cancelling is True
    assert done == ["a"]
    await engine.close()


async def test_what_does_not_run_cannot_be_cancelled(bench):
    await bench.submit("a")
    await bench.submit("b")
    await bench.settle()

    assert await bench.engine.cancel("b") is False
    assert await bench.engine.cancel("nothing") is False


async def test_close_interrupts_what_runs_and_begins_nothing_more(bench):
    for name, partition in (("a", "one"), ("b", "one"), ("c", "two")):
        await bench.submit(name, partition)
    await bench.submit("d", "three", delay=60)
    await bench.settle()

    await bench.engine.close()
    await bench.clock.advance(120)

    assert sorted(bench.log) == ["a began", "a interrupted", "c began", "c interrupted"]


async def test_close_before_anything_began_is_quiet(bench):
    await bench.submit("a")

    await bench.engine.close()
    await bench.settle()

    assert bench.log == []


async def test_work_that_asks_for_more_while_it_is_let_go_of_gets_none():
    began = []

    async def greedy(work_id):
        began.append(work_id)
        try:
            await asyncio.Event().wait()
        finally:
            await engine.submit(WORK, "more", partition="elsewhere")

    clock = FrozenClock()
    engine = LocalEngine({WORK: greedy}, clock)
    await engine.submit(WORK, "a", partition="p")
    await clock.advance(0)

    await engine.close()
    await clock.advance(0)

    assert began == ["a"]


async def test_a_bug_is_reported_and_does_not_stop_the_queue(bench):
    heard = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))
    for name in ("bug", "b"):
        bench.gate(name).set()
        await bench.submit(name)
    await bench.settle()

    assert bench.log == ["bug began", "b began", "b ended"]
    [context] = heard
    assert context["message"] == "work bug ended with a bug"
    assert isinstance(context["exception"], RuntimeError)


async def test_delayed_work_begins_when_its_time_has_come(bench):
    await bench.submit("later", delay=60)
    await bench.submit("now")
    bench.gate("now").set()
    await bench.clock.advance(59)
    assert bench.log == ["now began", "now ended"]

    await bench.clock.advance(1)

    assert bench.log[2:] == ["later began"]


async def test_delayed_work_asked_for_twice_runs_once(bench):
    bench.gate("a").set()
    await bench.submit("a", delay=60)
    await bench.submit("a", delay=60)
    await bench.clock.advance(200)

    assert bench.log == ["a began", "a ended"]


async def test_work_runs_in_the_context_of_whoever_asked_for_it():
    asked_by = ContextVar("asked_by", default="nobody")
    seen = []

    async def handle(work_id):
        seen.append((work_id, asked_by.get()))
        asked_by.set("the work itself")

    engine = LocalEngine({WORK: handle}, clock := FrozenClock())
    for name in ("one", "two", "three"):
        asked_by.set(name)
        await engine.submit(WORK, name, partition="p")
    await clock.advance(0)
    assert seen == [("one", "one"), ("two", "two"), ("three", "three")]
    await engine.close()
