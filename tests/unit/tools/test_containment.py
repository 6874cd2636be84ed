import asyncio

import pytest
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    ToolFailed,
)
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import CorruptData, NotFound, StorageFailed
from long_running_agents.testing import FrozenClock
from long_running_agents.tools.middleware import CodeFailed, ErrorContainment

pytestmark = pytest.mark.anyio

CALL = ToolCallPart("look", {}, tool_call_id="c1")


async def contained(tool, *, clock=None, limit=1000):
    ring = ErrorContainment(
        timeout=60, result_limit=limit, clock=clock or FrozenClock(), redact=Redactor()
    )
    return await ring.call(CALL, tool)


def raising(error):
    async def tool():
        raise error

    return tool


def returning(value):
    async def tool():
        return value

    return tool


@pytest.mark.parametrize("value", ["text", {"a": 1}, None, ["x" * 2000]])
async def test_a_result_goes_through_as_it_is(value):
    assert await contained(returning(value)) == value


async def test_an_empty_list_is_told_as_one_and_not_as_nothing():
    """The library would send an empty text."""
    part = ToolReturnPart("look", await contained(returning([])), tool_call_id="c1")
    assert part.model_response_str() == "[]"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("bad number"), "ValueError: bad number"),
        (KeyError("name"), "KeyError: 'name'"),
        (NotFound("No task #7.", hint="list_tasks shows them."), "No task #7. list_tasks shows"),
        (TimeoutError(), "TimeoutError"),
    ],
)
async def test_whatever_breaks_in_a_tool_is_told_to_the_model(error, words):
    with pytest.raises(ToolFailed, match=words):
        await contained(raising(error))


@pytest.mark.parametrize(
    "error",
    [
        ToolFailed("no"), ModelRetry("again"), ApprovalRequired(), CallDeferred(),
        StorageFailed("full"), CorruptData("damaged"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
async def test_what_is_not_the_tools_fault_goes_through(error):
    with pytest.raises(type(error)):
        await contained(raising(error))


async def test_what_failed_code_printed_is_cut_like_any_result():
    with pytest.raises(CodeFailed, match="1000 more characters were cut"):
        await contained(raising(CodeFailed("x" * 2000)))


async def test_a_tool_that_takes_too_long_is_given_up_and_cancelled():
    clock, cancelled = FrozenClock(), asyncio.Event()

    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    task = asyncio.create_task(contained(slow, clock=clock))
    await clock.advance(59)
    assert not task.done()
    await clock.advance(1)

    with pytest.raises(ToolFailed, match="look took longer than 60 seconds and was given up"):
        await task
    async with asyncio.timeout(200):
        await cancelled.wait()


async def test_a_tool_that_will_not_let_go_does_not_hold_up_the_turn():
    clock, never = FrozenClock(), asyncio.Event()

    async def stubborn():
        while not never.is_set():
            try:
                await never.wait()
            except asyncio.CancelledError:
                continue

    task = asyncio.create_task(contained(stubborn, clock=clock))
    await clock.advance(60)

    with pytest.raises(ToolFailed):
        await task
    never.set()
    await clock.advance(0)


async def test_a_stop_reaches_the_tool():
    clock, cancelled = FrozenClock(), asyncio.Event()

    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    task = asyncio.create_task(contained(slow, clock=clock))
    await clock.advance(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(200):
        await cancelled.wait()
    assert clock.sleepers == 0


async def test_a_quick_tool_leaves_no_watch_behind():
    clock = FrozenClock()

    await contained(returning("x"), clock=clock)
    await clock.advance(0)

    assert clock.sleepers == 0


async def test_a_long_text_is_cut_with_a_note():
    assert await contained(returning("x" * 1000)) == "x" * 1000

    result = await contained(returning("x" * 1005))

    assert result == "x" * 1000 + "\n[… 5 more characters were cut]"
