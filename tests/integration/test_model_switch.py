"""A session's model can be changed at any time: the next step asks the new one."""

import asyncio
import json

import pytest
from tests.integration.stories import SESSION, ended, hands, told

from long_running_agents.domain.events import ModelChanged
from long_running_agents.domain.tool import Effect
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import ConfigError
from long_running_agents.store import messages, usage
from long_running_agents.testing import (
    FrozenClock,
    Rule,
    Script,
    ScriptedServer,
    call,
    fail,
    make_app,
    say,
)

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

LOOK = Rule("", (call("look"), say("Seen, says the first.")))
SECOND = Rule("", (call("never"), say("Seen, says the second.")))


class Look:
    """A tool that waits until the person has made up their mind."""

    def __init__(self):
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.tools = hands(self.look, Effect.READ)

    async def look(self) -> str:
        self.begun.set()
        await self.go.wait()
        return "a kestrel"


async def test_a_switch_in_mid_turn_is_heard_at_the_next_step(tmp_path):
    look = Look()
    async with ScriptedServer(Script((LOOK,))) as first, ScriptedServer(Script((SECOND,))) as other:
        async with make_app(
            tmp_path,
            toolsets=[look.tools],
            agent__model__model_id="one",
            agent__model__base_url=first.url,
        ) as app:
            turn = await app.turns.start(SESSION, "What is there?")
            await look.begun.wait()
            name = f"{other.url}#two"
            await app.sessions.choose_model(SESSION, name)
            look.go.set()
            turn = await app.turns.settled(turn.id)

            assert turn.answer == "Seen, says the second."
            assert (len(first.requests), len(other.requests)) == (1, 1)
            [asked] = other.requests
            assert asked["model"] == "two"
            assert [message["role"] for message in asked["messages"]] == [
                "system", "user", "assistant", "tool",
            ]  # fmt: skip
            assert "kestrel" in json.dumps(asked["messages"][-1])
            assert [each.model for each in await told(app, ModelChanged)] == [name]
            session = await app.sessions.get(SESSION)
            assert session.model == name
        # It is stored: the next start asks the second, with everything that was said.
        async with make_app(
            tmp_path, agent__model__model_id="one", agent__model__base_url=first.url
        ) as app:
            await ended(app, "And now?")
            assert len(first.requests) == 1
            assert len(other.requests[-1]["messages"]) > len(asked["messages"])


async def test_a_turn_that_was_begun_with_another_model_follows_the_switch(tmp_path):
    look = Look()
    async with (
        ScriptedServer(Script((LOOK,))) as first,
        ScriptedServer(Script((SECOND,))) as other,
        make_app(tmp_path, toolsets=[look.tools]) as app,
    ):
        turn = await app.turns.start(SESSION, "What is there?", model=f"{first.url}#one")
        line = await app.turns.start(SESSION, "And then?", model=f"{first.url}#one")
        await look.begun.wait()
        await app.sessions.choose_model(SESSION, f"{other.url}#two")
        look.go.set()

        assert (await app.turns.settled(turn.id)).answer == "Seen, says the second."
        await app.turns.settled(line.id)
        assert len(first.requests) == 1


async def test_a_failed_turn_goes_on_with_the_model_chosen_since(tmp_path):
    async with (
        ScriptedServer(Script((Rule("", (fail(401, times=None),)),))) as first,
        ScriptedServer(Script((Rule("", (say("Here."),)),))) as other,
        make_app(tmp_path) as app,
    ):
        turn = await ended(app, "hi", model=f"{first.url}#one")
        assert turn.status is TurnStatus.FAILED
        await app.sessions.choose_model(SESSION, f"{other.url}#two")
        await app.turns.retry(SESSION)

        assert (await app.turns.settled(turn.id)).answer == "Here."
        log = await app.database.read(lambda tx: messages.of_turn(tx, turn.id))
        assert sum("hi" in message.body for message in log) == 1
        assert (await app.database.read(usage.total)).requests == 1


async def test_a_server_that_is_away_is_named_with_its_setting_and_the_way_out(tmp_path):
    clock = FrozenClock()
    async with make_app(
        tmp_path,
        clock=clock,
        agent__model__model_id="one",
        agent__model__base_url="http://127.0.0.1:9/v1",
        agent__model__retries=0,
    ) as app:
        turn = await ended(app, "hi")

        assert turn.status is TurnStatus.FAILED
        assert "agent.model.base_url (AGENT_MODEL_URL) says http://127.0.0.1:9/v1" in turn.error
        assert "'lra models use NAME'" in turn.error


async def test_a_name_that_cannot_be_is_refused_before_the_session_has_it(tmp_path):
    async with make_app(tmp_path) as app:
        with pytest.raises(ConfigError, match="lra models list"):
            app.models.choices("nonsense")
