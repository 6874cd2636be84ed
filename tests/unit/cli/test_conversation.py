"""A conversation with an agent that comes and goes."""

import asyncio
from datetime import UTC, datetime

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from long_running_agents.cli.conversation import ChatLoop, ChatOptions
from long_running_agents.domain.routing import RouteCandidate, Routing
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.errors import ServerAway
from long_running_agents.home import Home

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)


class FakeTurns:
    """Turns at a server that the test holds in its hand."""

    def __init__(self):
        self.said = []
        self.gone = asyncio.Event()

    async def start(self, session_id, text, *, attended=True, model=None, terms=None):
        del attended, model, terms
        self.said.append(text)
        return _turn(session_id, text)

    async def settled(self, turn_id):
        return _turn("talk", "", turn_id)

    async def unfinished(self):
        return []

    async def listen(self, session_id, after=0):
        del session_id, after
        await self.gone.wait()
        raise ServerAway("The server did not come back.", hint="Start it.")
        yield


class FakeAgent:
    """An agent in the test's hand."""

    name, owner, waits, goes_on = "lra", "me", False, "the turn goes on at the server"
    sessions = memories = skills = None

    def __init__(self, folder):
        self.home = Home(folder)
        self.turns = FakeTurns()
        self.there = True

    async def find(self, session_id):
        del session_id

    async def known_until(self, session_id, unfinished):
        del session_id, unfinished
        return 0

    async def model(self):
        return "custom:fake"

    def tell(self, hear):
        self.hear = hear


def _turn(session_id, text, turn_id="turn_1"):
    return Turn(
        id=turn_id,
        session_id=session_id,
        number=1,
        prompt=text,
        origin=TurnOrigin.USER,
        attended=True,
        status=TurnStatus.DONE,
        model=None,
        created_at=NOW,
    )


@pytest.mark.parametrize("terminal", ["dumb", "xterm"])
async def test_a_server_that_is_given_up_ends_the_chat_with_75(
    tmp_path, capsys, monkeypatch, terminal
):
    monkeypatch.setenv("TERM", terminal)
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        agent = FakeAgent(tmp_path)
        talking = asyncio.create_task(ChatLoop(agent, ChatOptions()).run())
        agent.turns.gone.set()
        assert await talking == 75
    assert "did not come back" in capsys.readouterr().out


async def test_what_is_said_while_the_server_is_away_goes_out_in_order_or_is_named(
    tmp_path, capsys
):
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        agent = FakeAgent(tmp_path)
        agent.there = False
        blocked = asyncio.Event()
        agent.turns.start = _blocked(blocked)
        talking = asyncio.create_task(ChatLoop(agent, ChatOptions()).run())
        keys.send_text("first\rsecond\r\x04")
        assert await talking == 0
        assert blocked.is_set()
    shown = capsys.readouterr().out
    assert "sent when the server is back: first" in shown
    assert shown.index("not sent: first") < shown.index("not sent: second")


def _blocked(begun):
    async def start(session_id, text, *, attended=True, model=None, terms=None):
        del session_id, text, attended, model, terms
        begun.set()
        await asyncio.Event().wait()

    return start


class FakeAgents:
    """Agents, of which the router can never say which is meant."""

    def __init__(self):
        self.learned = []

    async def route(self, text, *, needs=()):
        del text, needs
        found = (RouteCandidate(agent="coder@1", score=0.5), RouteCandidate(agent="b@2", score=0.4))
        return Routing(to="", by="default", candidates=found)

    async def learn(self, name, text):
        self.learned.append((name, text))


async def test_a_person_says_for_whom_a_message_is(tmp_path, capsys):
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        agent = FakeAgent(tmp_path)
        agent.agents, asked = FakeAgents(), []

        async def start(session_id, text, *, attended=True, model=None, terms=None):
            del attended, model
            asked.append((text, terms.agent))
            return _turn(session_id, text)

        agent.turns.start = start
        talking = asyncio.create_task(ChatLoop(agent, ChatOptions(agent="auto")).run())
        keys.send_text("count them\r9\r2\rand these\r0\r\x04")
        assert await talking == 0
    assert asked == [("count them", "b"), ("and these", "")]
    assert agent.agents.learned == [("b", "count them")]
    assert capsys.readouterr().out.count("Who shall answer?") == 3
