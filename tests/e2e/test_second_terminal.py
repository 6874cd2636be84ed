"""Several terminals in one home: the first one serves the others, and a death loses nothing."""

import asyncio
import signal
import stat

import pexpect
import pytest
from tests.e2e.terminals import EndingTerminals, leave, say_to, statuses, told, until_asked

from long_running_agents.home import Home
from long_running_agents.testing import Rule, Script, hang, say

# Each starts several programs, and a busy machine takes its time.
pytestmark = pytest.mark.timeout(900)
FOR_EVER = 3600.0
SCRIPT = Script(
    (
        Rule("^endless", (say("alpha beta gamma", chunk_delay=FOR_EVER),)),
        # Asked for the first time it says nothing; asked again it answers.
        Rule("^again", (hang(), say("The whole thought."))),
        Rule("", (say("Hello there, friend."),)),
    )
)


def test_a_second_chat_and_commands_join_the_first(terminal, lra, tmp_path):
    first = terminal("--session", "one")
    [socket] = (tmp_path / "home").glob("lra-*.sock")
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    second = terminal("--session", "two", joins=f"process {first.pid}")
    for chat in (second, first):
        say_to(chat, "hi")
        chat.expect("Hello there, friend")
        chat.expect("1 step")
    assert lra("ask", "hi", "--session", "three")[:2] == (0, "Hello there, friend.\n")
    assert lra("sessions", "rename", "one", "Uno")[0] == 0
    assert lra("memory", "add", "The heron eats frogs.")[0] == 0
    say_to(first, "/sessions")
    first.expect("one .* Uno")
    say_to(second, "endless")
    second.expect("alpha")
    second.send("\x04")
    second.expect(f"the turn goes on in process {first.pid}")
    second.expect(pexpect.EOF)
    assert leave(first) == 0
    assert not socket.exists()


def test_when_the_first_is_killed_the_second_takes_over_and_a_third_joins_it(
    terminal, lra, environment
):
    first = terminal("--session", "one")
    second = terminal("--session", "two", joins=f"process {first.pid}")
    say_to(second, "again")
    until_asked(environment, "again")
    first.kill(signal.SIGKILL)
    second.expect(f"process {first.pid}, which had the home open, has ended; taking over")
    second.expect("this terminal has opened the home itself")
    second.expect("The whole thought")
    second.expect("1 step")
    third = terminal("--session", "three", joins=f"process {second.pid}")
    say_to(third, "hi")
    third.expect("Hello there, friend")
    third.expect("1 step")
    assert leave(second) == 0
    third.expect("this terminal has opened the home itself")
    say_to(third, "still here?")
    third.expect("Hello there, friend")
    third.expect("1 step")
    assert leave(third) == 0
    assert statuses(lra, "two") == ["done"]
    assert statuses(lra, "three") == ["done", "done"]


def test_questions_at_once_are_all_answered(start):
    asked = [start("ask", "hi", "--session", f"s{number}") for number in range(3)]
    for process in asked:
        assert told(process)[:2] == (0, "Hello there, friend.\n")


@pytest.mark.anyio
@pytest.mark.parametrize("answers", [(0,), (1,), (2,), (3,), (4,), (0, 1)])
async def test_a_question_is_answered_wherever_those_it_joins_end(answers, start, tmp_path):
    async with EndingTerminals(Home(tmp_path / "home"), answers):
        asking = start("ask", "hi", "--session", "mine")
        code, out, err = await asyncio.to_thread(told, asking)
    assert (code, out) == (0, "Hello there, friend.\n"), err


def test_a_question_outlives_the_question_it_joined(lra, start, terminal, environment):
    first = terminal()
    second = start("ask", "again", "--session", "mine")
    until_asked(environment, "again")
    first.kill(signal.SIGKILL)
    code, out, err = told(second)
    assert (code, out) == (0, "The whole thought.\n")
    assert "has ended; taking over" in err
    assert statuses(lra, "mine") == ["done"]


def test_a_question_alone_does_not_load_the_server(lra):
    code, out, err = lra("ask", "hi", options=["-X", "importtime"])
    assert (code, out) == (0, "Hello there, friend.\n")
    assert "long_running_agents.server.server_file" in err
    assert "fastapi" not in err
    assert "uvicorn" not in err
