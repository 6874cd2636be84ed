"""Sessions: fork, export, rename, delete, and long histories."""

import json

import pytest
from tests.integration.stories import SESSION, ended, hear

from long_running_agents.domain.events import StepBegan
from long_running_agents.domain.ids import SessionId
from long_running_agents.errors import Busy, NotFound
from long_running_agents.testing import ScriptedModel, call, hang, make_app, say

pytestmark = pytest.mark.anyio


async def test_a_fork_diverges_and_leaves_the_original_alone(tmp_path):
    model = ScriptedModel([say("A1"), say("A2"), say("B2"), say("A3")])
    async with make_app(tmp_path, model=model, memory__recall=False) as app:
        first = await ended(app, "one")
        await ended(app, "two")
        fork = await app.sessions.fork(SESSION, at=first.id)
        await ended(app, "another two", session=fork.id)
        await ended(app, "three")
        original = [turn.answer for turn in await app.sessions.turns(SESSION)]
        forked = [turn.answer for turn in await app.sessions.turns(fork.id)]
        assert original == ["A1", "A2", "A3"]
        assert forked == ["A1", "B2"]
        # The fork's second turn saw the first exchange and not the original's second.
        shown = " ".join(str(part.content) for m in model.requests[2] for part in m.parts)
        assert "one" in shown
        assert "A2" not in shown


async def test_a_person_can_read_an_export(tmp_path):
    model = ScriptedModel(
        [call("create_task", title="Water the plants"), say("It is on the list.")]
    )
    async with make_app(tmp_path, model=model) as app:
        await ended(app, "Remind me of the plants")
        text = await app.sessions.export(SESSION, "md")
    assert text.startswith("# Remind me of the plants\n")
    for line in ("## You", "called `create_task`", "Water the plants", "It is on the list."):
        assert line in text


async def test_a_program_can_read_an_export_line_by_line(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("Hello.")])) as app:
        await ended(app, "Hi")
        text = await app.sessions.export(SESSION, "jsonl")
    kinds = [json.loads(line)["kind"] for line in text.splitlines()]
    assert kinds == ["session", "turn", "message", "message", "event", "event", "event"]


async def test_a_session_is_found_renamed_and_deleted(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("Berlin.")])) as app:
        await ended(app, "Where does Ann live?")
        [found] = await app.sessions.previews(search="berlin")
        assert (found.session.id, found.turns, found.last_words) == (SESSION, 1, "Berlin.")
        await app.sessions.rename(SESSION, "Ann")
        assert (await app.sessions.get(SESSION)).title == "Ann"
        await app.sessions.delete(SESSION)
        assert await app.sessions.previews() == []
        with pytest.raises(NotFound):
            await app.sessions.get(SESSION)


async def test_a_session_at_work_is_not_deleted(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([hang()])) as app:
        await app.turns.start(SESSION, "Think")
        await hear(app, StepBegan)
        with pytest.raises(Busy, match="not finished"):
            await app.sessions.delete(SESSION)


async def test_another_model_is_used_from_the_next_turn_on(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("x")])) as app:
        await ended(app, "hi")
        await app.sessions.choose_model(SESSION, "openai:gpt-5-mini")
        assert (await app.sessions.get(SESSION)).model == "openai:gpt-5-mini"


async def test_a_long_history_is_shown_in_part_and_kept_whole(tmp_path):
    model = ScriptedModel([say(f"answer {n}") for n in range(30)])
    async with make_app(tmp_path, model=model, sessions__max_history_messages=10) as app:
        for number in range(30):
            await ended(app, f"question {number}", session=SessionId("long"))
        shown = model.requests[-1]
        assert len(shown) <= 11
        assert shown[0].parts[0].content.startswith("question")
        assert len(await app.sessions.turns(SessionId("long"))) == 30
