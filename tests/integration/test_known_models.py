"""What is known of a model is heeded from the first request, in this life and the next."""

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.integration.stories import ended

from long_running_agents.cli.models import examine_models
from long_running_agents.config import load
from long_running_agents.domain.model_card import ModelCard
from long_running_agents.models.factory import BELIEVED
from long_running_agents.store import model_cards
from long_running_agents.testing import (
    FrozenClock,
    Quirk,
    Rule,
    Script,
    ScriptedServer,
    call,
    fail,
    say,
)
from long_running_agents.testing import make_app as app_in

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
OK = Script((Rule("", (say("ok"),)),))


def made(home, server, now=NOW):
    environ = {"AGENT_MODEL_URL": server.url, "AGENT_MODEL": "m"}
    return app_in(home, environ=environ, clock=FrozenClock(now))


async def turn(home, server, now=NOW):
    """One turn in a life of its own: the answer, and the requests it took."""
    before = len(server.requests)
    async with made(home, server, now) as app:
        answer = (await ended(app, "go")).answer
        known = await app.database.read(model_cards.every_lack)
    return answer, server.requests[before:], known


def card(server, **findings):
    usual = ModelCard(
        endpoint=server.url,
        model="m",
        native_tools=True,
        text_tools=False,
        streaming=True,
        streamed_calls=True,
        usage=True,
        context_window=None,
        cuts_silently=False,
        checked_at=NOW,
    )
    return replace(usual, **findings)


async def test_what_was_refused_once_is_not_tried_after_a_restart(tmp_path):
    async with ScriptedServer(OK, quirks={Quirk.TOOLS_REFUSED}) as server:
        answer, first, [known] = await turn(tmp_path, server)
        again, second, _ = await turn(tmp_path, server)

    assert (answer, again) == ("ok", "ok")
    assert ["tools" in sent for sent in first] == [True, False]
    assert ["tools" in sent for sent in second] == [False]
    assert (known.what, known.learned_at) == ("native_tools", NOW)


async def test_after_a_while_it_is_tried_again_and_believed_anew(tmp_path):
    late = NOW + BELIEVED + timedelta(days=1)
    async with ScriptedServer(OK, quirks={Quirk.TOOLS_REFUSED}) as server:
        await turn(tmp_path, server)
        _, sent, [known] = await turn(tmp_path, server, late)

    assert ["tools" in request for request in sent] == [True, False]
    assert known.learned_at == late


WAYS = {
    "tools in words": (
        {"native_tools": False, "text_tools": True},
        lambda sent: "tools" not in sent and "create_task" in str(sent["messages"]),
    ),
    "no stream": ({"streaming": False}, lambda sent: "stream" not in sent),
    "no calls in streams": ({"streamed_calls": False}, lambda sent: "stream" not in sent),
    "no usage": ({"usage": False}, lambda sent: "stream_options" not in sent),
    "all of it": ({}, lambda sent: {"tools", "stream", "stream_options"} <= set(sent)),
}


@pytest.mark.parametrize(("findings", "right"), WAYS.values(), ids=WAYS.keys())
async def test_a_card_says_how_to_ask_from_the_first_request_on(tmp_path, findings, right):
    async with ScriptedServer(OK) as server:
        async with made(tmp_path, server) as app:
            await app.database.write(lambda tx: model_cards.put(tx, card(server, **findings)))
        answer, [sent], _ = await turn(tmp_path, server)

    assert answer == "ok"
    assert right(sent)


async def test_an_examination_ends_what_was_believed(tmp_path):
    old = Script((Rule("", (fail(400, message="m does not support tools"), say("ok"))),))
    upgraded = Script((Rule("Report", (call("report", word="kestrel"),)), *OK.rules))
    async with ScriptedServer(old) as server:
        _, _, [known] = await turn(tmp_path, server)
        server.use(upgraded)
        environ = {"AGENT_MODEL_URL": server.url, "AGENT_MODEL": "m"}
        loaded = load(home=tmp_path, environ=environ)
        [examined] = await examine_models(loaded, FrozenClock(NOW), ["m"])
        _, [sent], left = await turn(tmp_path, server)

    assert (known.what, left) == ("native_tools", [])
    assert examined.card.native_tools
    assert "tools" in sent


async def test_a_note_that_cannot_be_kept_does_not_cost_the_answer(tmp_path, caplog):
    refusing = ScriptedServer(OK, quirks={Quirk.TOOLS_REFUSED})
    async with refusing as server, made(tmp_path, server) as app:
        house = sqlite3.connect(app.database.path)
        house.execute(
            "CREATE TRIGGER full BEFORE INSERT ON model_lacks"
            " BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
        house.close()
        answer = await ended(app, "go")

    assert answer.answer == "ok"
    assert "m lacks native_tools is not kept" in caplog.text
