"""What a turn does, told as small stories."""

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest
from tests.integration.stories import SESSION, ended, hands

from long_running_agents.domain.events import EVENT, DeltaEnvelope, StepBegan, TurnDone
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.tool import CallState, Effect
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import Busy, HomeBusy, NotFound, UsageError
from long_running_agents.store import ledger
from long_running_agents.testing import (
    FrozenClock,
    Reply,
    ScriptedModel,
    ToolCall,
    call,
    calls,
    make_app,
    say,
)

pytestmark = pytest.mark.anyio


async def test_a_message_is_answered_and_every_fact_of_it_is_numbered(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("Good morning.")])) as app:
        turn = await ended(app, "Hello")
        assert turn.status is TurnStatus.DONE
        assert turn.answer == "Good morning."
        recorded = await app.sessions.events(SESSION)
        assert [event.seq for event in recorded] == [1, 2, 3]
        assert [event.event.type for event in recorded] == ["message", "text", "done"]


async def test_the_words_arrive_before_the_answer_is_done(tmp_path):
    model = ScriptedModel([say("one two three")])
    async with make_app(tmp_path, model=model) as app:
        heard = []
        listening = app.turns.listen(SESSION)
        await app.turns.start(SESSION, "Count")
        async for news in listening:
            heard.append(news)
            if not isinstance(news, DeltaEnvelope) and isinstance(news.event, TurnDone):
                break
        words = [
            n.delta.text
            for n in heard
            if isinstance(n, DeltaEnvelope) and n.delta.type == "text_delta"
        ]
        assert "".join(words) == "one two three"
        assert len(words) > 1
        assert any(isinstance(n, DeltaEnvelope) and isinstance(n.delta, StepBegan) for n in heard)
        await listening.aclose()


async def test_whoever_hears_a_fact_finds_it_on_disk(tmp_path):
    model = ScriptedModel([call("create_task", title="Look"), say("Looked.")])
    async with make_app(tmp_path, model=model) as app:
        listening = app.turns.listen(SESSION)
        await app.turns.start(SESSION, "Look")
        heard = 0
        async for news in listening:
            if isinstance(news, DeltaEnvelope):
                continue
            heard += 1
            with closing(sqlite3.connect(app.database.path)) as beside:
                [[body]] = beside.execute("SELECT body FROM events WHERE seq = ?", (news.seq,))
            assert EVENT.validate_json(body) == news.event
            if isinstance(news.event, TurnDone):
                break
        await listening.aclose()
        assert heard == 6


async def test_a_listener_who_was_away_gets_exactly_what_it_missed(tmp_path):
    model = ScriptedModel([say("First."), say("Second.")])
    async with make_app(tmp_path, model=model) as app:
        await ended(app, "one")
        last = (await app.sessions.events(SESSION))[-1].seq
        await ended(app, "two")
        seen = []
        listening = app.turns.listen(SESSION, after=last)
        async for news in listening:
            seen.append(news.seq)
            if isinstance(news.event, TurnDone):
                break
        await listening.aclose()
        assert seen == [last + 1, last + 2, last + 3]


async def test_messages_that_arrive_meanwhile_queue_and_are_answered_in_order(tmp_path):
    model = ScriptedModel([say("A"), say("B"), say("C")])
    async with make_app(tmp_path, model=model) as app:
        turns = [await app.turns.start(SESSION, text) for text in ("one", "two", "three")]
        answers = [(await app.turns.settled(turn.id)).answer for turn in turns]
        assert answers == ["A", "B", "C"]
        assert [turn.number for turn in turns] == [1, 2, 3]
        # The third request saw the two exchanges before it.
        assert len(model.requests[2]) == 5


async def test_two_sessions_run_side_by_side(tmp_path):
    both = asyncio.Event()
    arrived = []

    async def meet(name: str) -> str:
        arrived.append(name)
        if len(arrived) == 2:
            both.set()
        await both.wait()
        return "met"

    def reply(history):
        said = history[0].parts[-1].content
        return say("done") if len(history) > 1 else call("meet", name=said)

    model = ScriptedModel([reply] * 4)
    async with make_app(tmp_path, model=model, toolsets=[hands(meet)]) as app:
        turns = [await app.turns.start(SessionId(name), name) for name in ("left", "right")]
        assert [(await app.turns.settled(turn.id)).answer for turn in turns] == ["done", "done"]


async def test_failures_of_tools_go_back_to_the_model_and_never_end_the_chat(tmp_path):
    async def explode() -> str:
        raise RuntimeError("boom")

    model = ScriptedModel(
        [
            calls(
                call("explode"),
                call("no_such_tool", x=1),
                call("create_task", headline="wrong name"),
                call("get_task_state", task_id=7),
            ),
            say("I see."),
        ]
    )
    async with make_app(tmp_path, model=model, toolsets=[hands(explode)]) as app:
        turn = await ended(app, "Try everything")
        assert turn.answer == "I see."
        told = " ".join(str(part.content) for part in model.requests[1][-1].parts)
        assert "RuntimeError: boom" in told
        assert "no_such_tool" in told
        assert "title" in told
        assert "No task #7" in told
        rows = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
        assert [row.state for row in rows] == [CallState.FAILED] * 4


async def test_a_tool_that_takes_too_long_is_given_up_and_the_model_is_told(tmp_path):
    clock = FrozenClock()
    begun = asyncio.Event()

    async def dawdle() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    model = ScriptedModel([call("dawdle"), say("Too slow.")])
    async with make_app(
        tmp_path, model=model, toolsets=[hands(dawdle)], clock=clock, agent__tools__timeout=30
    ) as app:
        turn = await app.turns.start(SESSION, "go")
        await begun.wait()
        await clock.advance(31)
        turn = await app.turns.settled(turn.id)
        assert turn.answer == "Too slow."
        assert "took longer than 30 seconds" in str(model.requests[1][-1].parts[0].content)


async def test_a_long_result_is_cut_with_a_note(tmp_path):
    async def shout() -> str:
        return "a" * 5000

    model = ScriptedModel([call("shout"), say("ok")])
    async with make_app(
        tmp_path, model=model, toolsets=[hands(shout)], agent__tools__result_limit=1000
    ) as app:
        await ended(app, "go")
        content = model.requests[1][-1].parts[0].content
        assert len(content) < 1100
        assert "4000 more characters" in content


async def test_call_ids_that_a_server_uses_again_do_not_mix_up_results(tmp_path):
    seen = []

    async def note(text: str) -> str:
        seen.append(text)
        return f"noted {text}"

    again = [
        Reply(calls=(ToolCall("note", {"text": text}, id="call_0"),)) for text in ("one", "two")
    ]
    model = ScriptedModel([*again, say("both")])
    async with make_app(tmp_path, model=model, toolsets=[hands(note)]) as app:
        turn = await ended(app, "go")
        assert turn.answer == "both"
        assert seen == ["one", "two"]
        rows = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
        assert [row.result for row in rows] == ['"noted one"', '"noted two"']


async def test_a_done_turn_cannot_be_retried_and_a_missing_session_is_named(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("x")])) as app:
        await ended(app, "hi")
        with pytest.raises(Busy, match="nothing to retry"):
            await app.turns.retry(SESSION)
        with pytest.raises(NotFound):
            await app.turns.retry(SessionId("nobody"))


async def test_an_empty_message_is_refused(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])) as app:
        with pytest.raises(UsageError, match="empty"):
            await app.turns.start(SESSION, "  \n")


async def test_a_secret_never_reaches_the_disk(tmp_path):
    secret = "hunter2-hunter2"
    (tmp_path / ".env").write_text(f"MY_PASSWORD={secret}\n")

    async def reveal() -> str:
        return f"the password is {secret}"

    model = ScriptedModel([call("reveal"), say(f"It is {secret}.")])
    async with make_app(tmp_path, model=model, toolsets=[hands(reveal, Effect.READ)]) as app:
        turn = await ended(app, f"Is it {secret}?")
        assert secret not in turn.answer
        exported = await app.sessions.export(SESSION, "jsonl")
        assert secret not in exported
        assert "[redacted]" in exported
    leaked = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != ".env"]
    assert leaked
    assert not [path for path in leaked if secret.encode() in path.read_bytes()]


async def test_the_model_may_look_back_at_other_sessions(tmp_path):
    model = ScriptedModel(
        [
            say("Noted: Rex."),
            call("get_recent_conversations", all_sessions=True, limit=5),
            say("Your dog is called Rex."),
        ]
    )
    async with make_app(tmp_path, model=model) as app:
        await ended(app, "My dog is called Rex", session=SessionId("monday"))
        turn = await ended(app, "What is my dog called?", session=SessionId("tuesday"))
        assert "Rex" in str(model.requests[2][-1].parts[0].content)
        assert turn.answer == "Your dog is called Rex."


async def test_two_openings_of_one_home_are_one_too_many(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([])):
        with pytest.raises(HomeBusy, match="Process"):
            async with make_app(tmp_path, model=ScriptedModel([])):
                pass


async def test_a_message_whose_sender_leaves_at_once_is_answered_all_the_same(tmp_path):
    release = threading.Event()
    async with make_app(tmp_path, model=ScriptedModel([say("Here."), say("There.")])) as app:
        busy = asyncio.create_task(app.database.write(lambda _: release.wait(300)))
        leaving = asyncio.create_task(app.turns.start(SESSION, "Anybody?"))
        for _ in range(20):
            await asyncio.sleep(0)
        leaving.cancel()
        release.set()
        await busy
        # Whoever comes next is not held up by it either.
        assert (await ended(app, "And now?")).answer == "There."
        assert [turn.answer for turn in await app.sessions.turns(SESSION)] == ["Here.", "There."]
