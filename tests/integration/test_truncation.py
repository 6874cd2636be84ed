"""A server that reads only the end of a prompt is spoken of, and not at every step."""

import pytest
from tests.integration.stories import ended, told

from long_running_agents.domain.events import PromptTruncated
from long_running_agents.domain.ids import SessionId
from long_running_agents.testing import (
    Quirk,
    Rule,
    Script,
    ScriptedServer,
    call,
    fail,
    make_app,
    say,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

LONG = "word " * 12_000
STEPS = Script((Rule("", (call("list_tasks"), call("list_tasks"), say("ok"))),))
CUTTING = {Quirk.SILENT_TRUNCATION}


def made(home, server, **settings):
    environ = {"AGENT_MODEL_URL": server.url, "AGENT_MODEL": "m"}
    return make_app(home, environ=environ, sessions__max_history_tokens=1_000_000, **settings)


async def test_it_is_told_once_however_many_steps_and_lives_follow(tmp_path):
    async with ScriptedServer(STEPS, quirks=CUTTING) as server:
        async with made(tmp_path, server) as app:
            await ended(app, LONG)
            [news] = await told(app, PromptTruncated)
        async with made(tmp_path, server) as app:
            await ended(app, LONG)
            assert await told(app, PromptTruncated) == [news]
            await ended(app, LONG, SessionId("other"))
            assert len(await told(app, PromptTruncated, SessionId("other"))) == 1

    assert (news.model, news.window) == ("custom:m", 4096)
    assert news.sent_tokens > 10_000
    assert "llama-server -c" in news.hint
    assert "agent.model.context_window to 4096" in news.hint


async def test_each_model_of_a_session_is_told_of(tmp_path):
    locked = Script((Rule("", (fail(401, times=None),)),))
    async with (
        ScriptedServer(locked) as broken,
        ScriptedServer(STEPS, quirks=CUTTING) as server,
        made(tmp_path, broken, agent__model__fallback=(f"{server.url}#second",)) as app,
    ):
        await ended(app, LONG)
        await app.sessions.choose_model(SessionId("talk"), f"{server.url}#third")
        await ended(app, LONG)
        news = await told(app, PromptTruncated)

    assert [each.model.partition("#")[2] for each in news] == ["second", "third"]


async def test_with_the_window_set_nothing_is_cut_and_nothing_said(tmp_path):
    async with (
        ScriptedServer(STEPS, quirks=CUTTING) as server,
        made(tmp_path, server, agent__model__context_window=4096) as app,
    ):
        for _ in range(8):
            assert (await ended(app, "word " * 600)).answer == "ok"
        assert await told(app, PromptTruncated) == []
