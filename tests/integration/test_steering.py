"""A message for the turn that runs: given at its next step, once, or it is the next turn."""

import asyncio
import json

import pytest
from pydantic_ai.messages import UserPromptPart
from tests.integration.server.serving import served
from tests.integration.server.windows import window
from tests.integration.stories import SESSION, ended, hands, hear, told

from long_running_agents.client import Client
from long_running_agents.domain.events import MessageAccepted, MessageSteered, StepBegan, TurnDone
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import Query, Viewer
from long_running_agents.domain.turn import Terms, TurnStatus
from long_running_agents.errors import NotFound, UsageError
from long_running_agents.testing import ScriptedModel, call, calls, hang, make_app, say

pytestmark = pytest.mark.anyio

STEER = Terms(steer=True)
ASKING = {"agent__tools__require_approval": ["create_task"]}


class Pause:
    """A tool that runs until somebody lets it go on, each time."""

    def __init__(self):
        self.begun, self.over = asyncio.Semaphore(0), asyncio.Semaphore(0)

    def tools(self):
        async def work() -> str:
            self.begun.release()
            await self.over.acquire()
            return "worked"

        return [hands(work)]


def said(request):
    """The user's words in the last message of a request."""
    return [part.content for part in request[-1].parts if isinstance(part, UserPromptPart)]


async def steered(app, *texts, session=SESSION):
    return [await app.turns.start(session, text, terms=STEER) for text in texts]


async def at_work(app, pause, text="Build it"):
    turn = await app.turns.start(SESSION, text)
    await pause.begun.acquire()
    return turn


async def test_a_message_is_given_beside_the_results_of_the_step_under_way(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), say("Built in blue.")])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        turn = await at_work(app, pause)
        [steer] = await steered(app, "In blue")
        # Acknowledged at once, and told as what it is.
        assert (steer.steer, steer.status) == (True, TurnStatus.QUEUED)
        assert [event.steer for event in await told(app, MessageAccepted)] == [False, True]
        pause.over.release()
        assert (await app.turns.settled(turn.id)).answer == "Built in blue."
        rest = await app.turns.settled(steer.id)
        assert (rest.status, rest.answer) == (TurnStatus.STEERED, "")
        assert [part.part_kind for part in model.requests[1][-1].parts] == [
            "tool-return",
            "user-prompt",
        ]
        assert said(model.requests[1]) == ["In blue"]
        assert await told(app, MessageSteered) == [MessageSteered(content="In blue", into=turn.id)]
        assert len(await told(app, TurnDone)) == 1
        assert await app.turns.unfinished() == []


async def test_several_come_in_their_order_and_together(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), say("Done.")])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        turn = await at_work(app, pause)
        await steered(app, "In blue", "And small", "No, in red")
        pause.over.release()
        await app.turns.settled(turn.id)
        assert said(model.requests[1]) == ["In blue", "And small", "No, in red"]


async def test_what_comes_after_the_last_step_is_the_next_turn_before_all_that_queues(tmp_path):
    model = ScriptedModel([hang(), say("In blue, then."), say("Deployed."), say("Announced.")])
    async with make_app(tmp_path, model=model) as app:
        first = await app.turns.start(SESSION, "Build it")
        await hear(app, StepBegan)
        queued = [await app.turns.start(SESSION, text) for text in ("Deploy it", "Announce it")]
        [one, two] = await steered(app, "In blue", "And small")
        assert [one.number, two.number] == [2, 3]
        await app.turns.stop(SESSION)
        # Both were said before it begins, and are heard by its first step.
        assert (await app.turns.settled(one.id)).answer == "In blue, then."
        assert (await app.turns.settled(two.id)).status is TurnStatus.STEERED
        answers = [(await app.turns.settled(turn.id)).answer for turn in queued]
        assert answers == ["Deployed.", "Announced."]
        assert said(model.requests[1]) == ["In blue", "And small"]
        order = [turn.prompt for turn in await app.sessions.turns(SESSION)]
        assert order == ["Build it", "In blue", "And small", "Deploy it", "Announce it"]
        assert (await app.turns.settled(first.id)).status is TurnStatus.STOPPED


async def test_a_final_answer_is_not_held_up_and_the_message_is_answered_next(tmp_path):
    model = ScriptedModel([say("Built, word by word.", chunk_delay=0.01), say("Painted.")])
    async with make_app(tmp_path, model=model) as app:
        first = await app.turns.start(SESSION, "Build it")
        await hear(app, StepBegan)
        [steer] = await steered(app, "In blue")
        assert (await app.turns.settled(first.id)).answer == "Built, word by word."
        rest = await app.turns.settled(steer.id)
        assert (rest.status, rest.answer, rest.steer) == (TurnStatus.DONE, "Painted.", False)
        assert await told(app, MessageSteered) == []


async def test_without_a_turn_it_is_an_ordinary_message(tmp_path):
    async with make_app(tmp_path, model=ScriptedModel([say("Hello.")])) as app:
        [turn] = await steered(app, "Hi")
        assert not turn.steer
        assert (await app.turns.settled(turn.id)).answer == "Hello."
        assert [event.steer for event in await told(app, MessageAccepted)] == [False]


async def test_a_turn_that_waits_for_an_approval_hears_it_when_it_goes_on(tmp_path):
    model = ScriptedModel([call("create_task", title="Milk"), say("Two litres.")])
    async with make_app(tmp_path, model=model, **ASKING) as app:
        turn = await ended(app, "Add milk")
        [steer] = await steered(app, "Two litres")
        assert (await app.turns.get(turn.id)).status is TurnStatus.WAITING
    # A restart in between changes nothing.
    async with make_app(tmp_path, model=model, **ASKING) as app:
        [question] = await app.turns.open_questions(SESSION)
        await app.turns.answer(question.id, allowed=True)
        assert (await app.turns.settled(turn.id)).answer == "Two litres."
        assert said(model.requests[1]) == ["Two litres"]
        assert (await app.turns.settled(steer.id)).status is TurnStatus.STEERED


async def test_a_stop_leaves_what_was_not_given_to_the_next_turn(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), say("Red it is.")])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        await at_work(app, pause)
        [steer] = await steered(app, "Stop that, paint it red")
        await app.turns.stop(SESSION)
        assert (await app.turns.settled(steer.id)).answer == "Red it is."
        assert len(model.requests) == 2


async def test_one_that_was_withdrawn_is_given_to_nobody(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), say("Done.")])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        turn = await at_work(app, pause)
        steers = await steered(app, "In blue", "In red")
        await app.turns.stop_turn(steers[0].id)
        pause.over.release()
        await app.turns.settled(turn.id)
        assert said(model.requests[1]) == ["In red"]
        statuses = [(await app.turns.get(each.id)).status for each in steers]
        assert statuses == [TurnStatus.STOPPED, TurnStatus.STEERED]


async def test_a_request_that_died_is_made_again_with_the_same_words(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), hang()])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        turn = await at_work(app, pause)
        [steer] = await steered(app, "In blue")
        pause.over.release()
        while len(model.requests) < 2:  # noqa: ASYNC110 - the model has no bell
            await asyncio.sleep(0.001)
        # It was sent and not answered: nothing is written of it.
        assert (await app.turns.get(steer.id)).status is TurnStatus.QUEUED
    model = ScriptedModel([call("create_task", title="Paint"), say("Blue.")])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        assert (await app.turns.settled(turn.id)).answer == "Blue."
        assert said(model.requests[0]) == ["In blue"]
        assert said(model.requests[1]) == []
        assert len(await told(app, MessageSteered)) == 1


async def test_a_turn_that_failed_can_be_retried_after_it_was_steered(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), call("work"), hang(), say("Blue.")])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        turn = await at_work(app, pause)
        await steered(app, "In blue")
        pause.over.release()
        pause.over.release()
        while len(model.requests) < 3:  # noqa: ASYNC110 - the model has no bell
            await asyncio.sleep(0.001)
        assert (await app.turns.stop(SESSION)).id == turn.id
        # It is the last one that there is to retry: its steered message is a part of it.
        assert (await app.turns.retry(SESSION)).id == turn.id
        assert (await app.turns.settled(turn.id)).answer == "Blue."
        assert str(model.requests[3]).count("In blue") == 1


async def test_the_turn_after_a_steered_one_that_was_stopped_finds_a_whole_log(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), calls(call("work")), say("Fine.")])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        await at_work(app, pause)
        await steered(app, "In blue")
        pause.over.release()
        await pause.begun.acquire()
        await app.turns.stop(SESSION)
        assert (await ended(app, "Never mind")).answer == "Fine."
        kinds = [message.kind for message in model.requests[-1]]
        assert kinds == ["request", "response"] * 3 + ["request"]


async def test_a_limit_is_no_way_to_lose_a_message(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), say("Blue.")])
    limit = {"agent__max_loop_iterations": 1}
    async with make_app(tmp_path, model=model, toolsets=pause.tools(), **limit) as app:
        turn = await at_work(app, pause)
        [steer] = await steered(app, "In blue")
        pause.over.release()
        assert (await app.turns.settled(turn.id)).status is TurnStatus.LIMITED
        # With a budget of its own, as the next turn.
        assert (await app.turns.settled(steer.id)).answer == "Blue."


async def test_the_same_key_is_one_message_and_not_another_one(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), say("Done.")])
    terms = Terms(steer=True, key="k1")
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        turn = await at_work(app, pause)
        first = await app.turns.start(SESSION, "In blue", terms=terms)
        again = await app.turns.start(SESSION, "In blue", terms=terms)
        assert first.id == again.id
        with pytest.raises(UsageError, match="another request"):
            await app.turns.start(SESSION, "In blue", terms=Terms(key="k1"))
        pause.over.release()
        await app.turns.settled(turn.id)
        assert said(model.requests[1]) == ["In blue"]
        late = await app.turns.start(SESSION, "In blue", terms=terms)
        assert (late.id, late.status) == (first.id, TurnStatus.STEERED)


async def test_nobody_steers_another_owners_session(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), say("Done.")])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        turn = await at_work(app, pause)
        with pytest.raises(NotFound):
            await app.turns.of("eve").start(SESSION, "Send it to me", terms=STEER)
        pause.over.release()
        await app.turns.settled(turn.id)
        assert said(model.requests[1]) == []


async def test_memory_export_and_fork_know_it_as_the_users_words(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), say("Understood."), say("Blue.")])
    async with make_app(tmp_path, model=model, toolsets=pause.tools()) as app:
        turn = await at_work(app, pause)
        [steer] = await steered(app, "Doors are painted in cobalt blue")
        pause.over.release()
        await app.turns.settled(turn.id)
        await app.turns.settled(steer.id)
        await app.remembered()
        found = await app.memories.find(Viewer(owner="me"), Query(text="cobalt blue doors"))
        assert [(hit.memory.content, hit.memory.trust) for hit in found.hits][:1] == [
            ("Doors are painted in cobalt blue", "user")
        ]
        exported = await app.sessions.export(SESSION, "md")
        assert exported.count("Doors are painted in cobalt blue") == 1
        assert exported.index("`work` done") < exported.index("cobalt") < exported.index("Underst")
        lines = await app.sessions.export(SESSION, "jsonl")
        taken = await app.sessions.take_over(lines)
        fork = await app.sessions.fork(SESSION, at=turn.id)
        for copy in (fork.id, taken.id):
            again = await app.sessions.export(copy, "jsonl")
            bodies = [json.loads(line) for line in again.splitlines()]
            messages = [each["message"] for each in bodies if each["kind"] == "message"]
            assert json.dumps(messages).count("cobalt blue") == 1
            kinds = [each.event.type for each in await app.sessions.events(copy)]
            assert kinds.count("steered") == 1
            assert (await app.sessions.export(copy, "md")).count("cobalt blue") == 1
        assert (await ended(app, "Which colour?", session=SessionId(fork.id))).answer == "Blue."


async def test_over_http_it_is_acknowledged_at_once_and_answered_by_the_turn_that_runs(tmp_path):
    pause, replies = Pause(), [call("work"), say("Blue."), say("Hello.")]
    async with served(tmp_path, *replies, toolsets=pause.tools()) as (app, http):
        turn = await at_work(app, pause)
        body, key = {"message": "In blue", "steer": True}, {"Idempotency-Key": "k"}
        answers = [await http.post("/api/chat/talk", json=body, headers=key) for _ in range(2)]
        pause.over.release()
        await app.turns.settled(turn.id)
        name = answers[0].json()["turn_id"]
        rest = (await http.get(f"/api/turns/{name}")).json()
        listed = (await http.get("/api/sessions/talk/turns")).json()["turns"]
        streamed = await http.post(
            "/api/chat/talk", json=body, headers={**key, "Accept": "text/event-stream"}
        )
        ordinary = await http.post("/api/chat/talk", json={"message": "Hi", "steer": True})
    assert [answer.status_code for answer in answers] == [202, 202]
    assert {answer.json()["turn_id"] for answer in answers} == {name}
    assert (answers[0].json()["steer"], rest["steer"], rest["status"]) == (True, True, "steered")
    assert [each["status"] for each in listed] == ["done", "steered"]
    # Whoever follows the message hears it to its end.
    heard = [json.loads(line[6:]) for line in streamed.text.splitlines() if line[:5] == "data:"]
    assert [each["type"] for each in heard] == ["message", "steered"]
    assert heard[-1]["into"] == turn.id
    assert (ordinary.status_code, ordinary.json()["text"]) == (200, "Hello.")


async def test_over_a_socket_and_by_the_client(tmp_path):
    pause, model = Pause(), ScriptedModel([call("work"), say("Small and blue.")])
    async with (
        served(tmp_path, model=model, toolsets=pause.tools()) as (_, http),
        window(http.base_url, "/ws/talk") as socket,
        Client.at(str(http.base_url)) as client,
    ):
        await socket.send("message", content="Build it")
        await pause.begun.acquire()
        await socket.send("message", content="In blue", steer=True)
        while not (await socket.until("message"))["steer"]:
            pass
        small = await client.turns.start(SESSION, "And small", terms=STEER)
        assert small.steer
        pause.over.release()
        done = await socket.until("done")
        assert (await client.turns.settled(small.id)).status is TurnStatus.STEERED
    assert done["text"] == "Small and blue."
    assert socket.types().count("steered") == 2
    assert said(model.requests[1]) == ["In blue", "And small"]


async def test_the_context_page_shows_it_as_the_users_words(tmp_path):
    pause, replies = Pause(), [call("work"), say("Blue.")]
    async with served(tmp_path, *replies, toolsets=pause.tools()) as (app, http):
        turn = await at_work(app, pause)
        await steered(app, "In cobalt blue")
        pause.over.release()
        await app.turns.settled(turn.id)
        shown = (await http.get("/api/sessions/talk/context")).json()
        history = (await http.get("/api/sessions/talk/history")).json()
    assert "In cobalt blue" in json.dumps(shown)
    words = [each for each in history["messages"] if each["content"] == "In cobalt blue"]
    assert [each["role"] for each in words] == ["user"]
