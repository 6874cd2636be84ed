"""One model fails, another answers: the person sees one answer, and a note."""

import pytest
from tests.contract.listening import Listening
from tests.contract.serving import serving, told

from long_running_agents.domain.events import ModelFellBack, TextWritten
from long_running_agents.domain.ids import session_id
from long_running_agents.testing import Rule, Script, ScriptedServer, cut, fail, make_app, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

SESSION = session_id("fallback")

AT_ONCE = {
    "a wrong key": fail(401, times=None),
    "an empty account": fail(429, 1.0, "insufficient_quota", times=None),
    "a conversation that is too long": fail(400, None, "context_length_exceeded", times=None),
    "a long wait": fail(429, 3600.0, times=None),
    "a bad request": fail(422, times=None),
    "an unknown model": fail(404, times=None),
}
AFTER_TRYING = {
    "a broken server": fail(500, times=None),
    "a busy server": fail(503, 2.0, times=None),
    "a cut answer": cut(1, times=None),
}


@pytest.mark.parametrize("failure", AT_ONCE.values(), ids=AT_ONCE.keys())
async def test_what_waiting_does_not_mend_goes_to_the_next_model_at_once(failure):
    async with serving(failure) as (failing, first), serving(say("ok")) as (_, second):
        listening = Listening(("a", first), ("b", second))
        response = await listening.ask()

    assert told(response)[1] == "ok"
    assert len(failing.requests) == 1
    assert listening.notes.heard == [("fell back", "a", "b"), "ok"]
    assert listening.clock.monotonic() == 0


@pytest.mark.parametrize("failure", AFTER_TRYING.values(), ids=AFTER_TRYING.keys())
async def test_what_may_pass_is_tried_again_first(failure):
    async with serving(failure) as (failing, first), serving(say("ok")) as (_, second):
        listening = Listening(("a", first), ("b", second), retries=2)
        response = await listening.ask()

    assert told(response)[1] == "ok"
    assert len(failing.requests) == 3
    assert ("fell back", "a", "b") in listening.notes.heard


async def test_a_person_sees_one_answer_and_which_model_gave_it(tmp_path):
    script = Script((Rule("", (fail(500), say("Here I am."))),))
    async with ScriptedServer(script) as server:
        environ = {"AGENT_MODEL_URL": server.url, "AGENT_MODEL": "big"}
        settings = {"agent__model__retries": 0, "agent__model__fallback": ("custom:small",)}
        async with make_app(tmp_path, environ=environ, **settings) as app:
            turn = await app.turns.start(SESSION, "Are you there?")
            turn = await app.turns.settled(turn.id)
            events = [stored.event for stored in await app.sessions.events(SESSION)]

    assert turn.answer == "Here I am."
    assert [event.text for event in events if isinstance(event, TextWritten)] == ["Here I am."]
    [note] = [event for event in events if isinstance(event, ModelFellBack)]
    assert (note.asked, note.answered) == ("custom:big", "custom:small")
    assert "500" in note.reason
    assert [sent["model"] for sent in server.requests] == ["big", "small"]
