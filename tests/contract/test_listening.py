"""A model that streams, repeats and falls back, and tells its listener on the way."""

import asyncio

import pytest
from tests.contract.listening import Listening
from tests.contract.serving import GO, PARAMETERS, serving, told

from long_running_agents.errors import ModelUnavailable
from long_running_agents.testing import ScriptedModel, cut, fail, garbage, hang, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]


async def test_a_listener_hears_the_words_of_an_answer():
    async with serving(say("one two three")) as (_, model):
        listening = Listening(("a", model))
        response = await listening.ask()

    assert "".join(listening.notes.heard) == told(response)[1] == "one two three"
    assert len(listening.notes.heard) == 3


async def test_what_may_pass_is_repeated_and_the_listener_told():
    async with serving(fail(503), cut(1, "one two"), garbage(), say("ok")) as (server, model):
        listening = Listening(("a", model), retries=3)
        response = await listening.ask()

    assert told(response)[1] == "ok"
    assert [item for item in listening.notes.heard if item[0] == "again"] == [
        ("again", "a", 0.5), ("again", "a", 1.0), ("again", "a", 2.0),
    ]  # fmt: skip
    assert listening.notes.heard[-1] == "ok"
    assert len(server.requests) == 4


async def test_a_server_that_asks_for_time_is_given_it():
    async with serving(fail(429, 12.0), say("ok")) as (_, model):
        listening = Listening(("a", model))
        await listening.ask()

    assert listening.notes.heard == [("again", "a", 12.0), "ok"]
    assert listening.clock.monotonic() >= 12


async def test_the_next_model_answers_when_one_does_not():
    async with (
        serving(fail(401, times=None)) as (refusing, first),
        serving(fail(500, times=None)) as (failing, second),
        serving(say("ok")) as (_, third),
    ):
        listening = Listening(("a", first), ("b", second), ("c", third), retries=1)
        response = await listening.ask()

    assert told(response)[1] == "ok"
    assert listening.notes.heard == [
        ("fell back", "a", "b"), ("again", "b", 0.5), ("fell back", "a", "c"), "ok",
    ]  # fmt: skip
    assert (len(refusing.requests), len(failing.requests)) == (1, 2)


async def test_when_no_model_answers_the_reasons_are_told():
    async with serving(fail(401, times=None, message="No such key.")) as (_, first):
        second = ScriptedModel([fail(500), fail(500)])
        listening = Listening(("a", first), ("b", second), retries=1)
        with pytest.raises(ModelUnavailable) as given_up:
            await listening.ask()

    assert "a: HTTP 401: No such key;" in str(given_up.value)
    assert "b: HTTP 500" in str(given_up.value)
    assert "lra doctor" in given_up.value.hint


async def test_a_stop_is_not_a_failure():
    async with serving(hang()) as (server, model):
        listening = Listening(("a", model))
        task = asyncio.create_task(listening.model.request(GO, None, PARAMETERS))
        while not server.requests:
            await asyncio.wait([task], timeout=0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert listening.notes.heard == []
