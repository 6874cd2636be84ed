import asyncio
import threading

import pytest

from long_running_agents.store.database import DatabaseThreads

pytestmark = pytest.mark.anyio


@pytest.fixture
def worker():
    made = DatabaseThreads("test")
    yield made
    made.close()


async def test_a_job_is_done_in_another_thread(worker):
    assert await worker.do(threading.get_ident) != threading.get_ident()


async def test_an_exception_belongs_to_the_caller_and_the_thread_goes_on(worker):
    def broken():
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await worker.do(broken)
    assert await worker.do(lambda: "next") == "next"


async def test_jobs_of_one_thread_are_done_in_their_order(worker):
    done = []

    await asyncio.gather(*(worker.do(lambda n=n: done.append(n)) for n in range(50)))

    assert done == list(range(50))


async def test_a_cancelled_callers_job_is_done_all_the_same(worker):
    going, done = threading.Event(), []
    blocked = asyncio.create_task(worker.do(lambda: going.wait(10)))
    cancelled = asyncio.create_task(worker.do(lambda: done.append("done")))
    await asyncio.sleep(0)
    cancelled.cancel()
    going.set()

    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await worker.drain()
    assert (await blocked, done) == (True, ["done"])


async def test_draining_waits_however_often_it_is_cancelled(worker):
    going, done = threading.Event(), []
    blocked = asyncio.create_task(worker.do(lambda: (going.wait(10), done.append("done"))))
    draining = asyncio.create_task(worker.drain())
    for _ in range(3):
        await asyncio.sleep(0)
        draining.cancel()
    await asyncio.sleep(0)
    assert not draining.done()
    going.set()

    await asyncio.wait([draining])
    assert done == ["done"]
    await blocked


async def test_closing_finishes_what_was_begun():
    worker, done = DatabaseThreads("test"), []
    jobs = [asyncio.create_task(worker.do(lambda n=n: done.append(n))) for n in range(20)]
    await asyncio.sleep(0)

    worker.close()

    assert done == list(range(20))
    await asyncio.gather(*jobs)


async def test_a_closed_worker_says_so_instead_of_never_answering():
    worker = DatabaseThreads("test")
    await worker.do(lambda: None)
    worker.close()

    with pytest.raises(RuntimeError, match="closed"):
        async with asyncio.timeout(100):
            await worker.do(lambda: None)


async def test_several_threads_work_side_by_side():
    worker = DatabaseThreads("test", 2)
    both = threading.Barrier(2)

    async with asyncio.timeout(200):
        await asyncio.gather(*(worker.do(lambda: both.wait(100)) for _ in range(2)))
    worker.close()


async def test_threads_begin_with_the_first_job():
    before = threading.active_count()
    worker = DatabaseThreads("test", 3)

    assert threading.active_count() == before
    worker.close()
