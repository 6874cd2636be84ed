"""A model that says nothing is not waited for for ever."""

import asyncio

import pytest

from long_running_agents.models.examination import try_out
from long_running_agents.models.retry import FallbackChoice
from long_running_agents.testing import FrozenClock, ScriptedModel, hang, say

pytestmark = pytest.mark.anyio


async def test_a_word_is_enough():
    model = ScriptedModel([say("Hi")])
    tried = await try_out(FallbackChoice("custom:m", model), FrozenClock())
    assert (tried.ok, tried.error, tried.hint) == (True, "", "")
    assert len(model.requests) == 1


async def test_patience_ends():
    clock = FrozenClock()
    choice = FallbackChoice("custom:m", ScriptedModel([hang()]), "Is it running?")
    trying = asyncio.create_task(try_out(choice, clock, patience=5))
    await clock.advance(4)
    assert not trying.done()
    await clock.advance(1)
    tried = await trying
    assert (tried.ok, tried.seconds) == (False, 5)
    assert tried.error == "custom:m has not answered within 5 seconds."
    assert tried.hint == "Is it running?"


async def test_whoever_stops_waiting_stops_the_model():
    clock, model = FrozenClock(), ScriptedModel([hang()])
    trying = asyncio.create_task(try_out(FallbackChoice("custom:m", model), clock))
    await clock.advance(1)
    assert any("greet" in repr(task) for task in asyncio.all_tasks())
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    await clock.advance(1)
    assert not any("greet" in repr(task) for task in asyncio.all_tasks())
