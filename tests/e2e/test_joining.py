"""`lra chat` beside a running server: a real terminal, real processes, real kills."""

import contextlib
import json
import os
import subprocess
import sys
import urllib.request

import pexpect
import pytest
from tests.e2e.terminals import PROMPT_IS_UP, leave, say_to

from long_running_agents.testing import Rule, Script, ToolCall, hang, say, scripted_process

PROGRAM = ["-m", "long_running_agents"]
FOR_EVER = 3600.0
SCRIPT = Script(
    (
        # Each word of this takes an hour: whoever sees the first one has not seen the end.
        Rule("^endless", (say("alpha beta gamma", chunk_delay=FOR_EVER),)),
        # Asked for the first time it says nothing; asked again it answers.
        Rule("^again", (hang(), say("The whole thought."))),
        Rule(
            "^plan",
            (
                say("A plan:", calls=(ToolCall("create_task", {"title": "Buy milk"}),)),
                say("So be it."),
            ),
        ),
        Rule("", (say("Hello there, friend."),)),
    )
)


@pytest.fixture
def environment(tmp_path):
    with scripted_process(SCRIPT) as url:
        yield {
            **os.environ,
            "HOME": str(tmp_path),
            "LRA_HOME": str(tmp_path / "home"),
            "AGENT_MODEL": "scripted",
            "AGENT_MODEL_URL": url,
            "LRA_AGENT__TOOLS__REQUIRE_APPROVAL": "create_task",
            "TERM": "xterm",
            # There is no terminal behind the pty to say where its cursor is.
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }


@pytest.fixture
def serve(environment):
    """Starts servers of the home: serve() is a process that listens."""
    with contextlib.ExitStack() as stack:

        def start():
            server = subprocess.Popen(
                [sys.executable, *PROGRAM, "serve", "--port", "0"],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(server.stdout.close)
            stack.callback(server.wait)
            stack.callback(server.kill)
            assert server.stdout.readline().startswith("listening on")
            return server

        yield start


@pytest.fixture
def terminal(environment):
    """Opens chats: terminal(...) is a person's side of one."""
    with contextlib.ExitStack() as stack:

        def open_one(*arguments):
            child = pexpect.spawn(
                sys.executable,
                [*PROGRAM, "chat", *arguments],
                env=environment,
                encoding="utf-8",
                timeout=60,
                dimensions=(40, 100),
            )
            stack.callback(child.close, force=True)
            child.expect("joined the server at http://127.0.0.1:")
            child.expect("lra with custom:scripted")
            child.expect_exact(PROMPT_IS_UP)
            return child

        yield open_one


@pytest.fixture
def lra(environment):
    """Runs a command: lra(...) -> (exit code, stdout, stderr)."""

    def run(*arguments, stdin=""):
        done = subprocess.run(
            [sys.executable, *PROGRAM, *arguments],
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def asked(environment):
    """What the model was asked so far."""
    url = environment["AGENT_MODEL_URL"].removesuffix("/v1")
    with urllib.request.urlopen(f"{url}/requests") as answer:
        return answer.read().decode()


def statuses(lra, session):
    return [
        turn["status"]
        for turn in json.loads(lra("sessions", "show", session, "--json")[1])["turns"]
    ]


def test_a_joined_chat_talks_asks_and_stops_like_one_alone(serve, terminal, lra):
    serve()
    chat = terminal("--session", "talk")
    say_to(chat, "hi")
    chat.expect("Hello there, friend")
    chat.expect("1 step")
    say_to(chat, "plan it")
    chat.expect("Allow create_task")
    say_to(chat, "y")
    chat.expect("So be it")
    say_to(chat, "/tasks")
    chat.expect("Buy milk")
    say_to(chat, "endless")
    chat.expect("alpha")
    chat.sendintr()
    chat.expect("stopped, history kept")
    say_to(chat, "/title Milk")
    chat.expect("title: Milk")
    say_to(chat, "/sessions")
    chat.expect("talk .* Milk")
    assert leave(chat) == 0
    assert statuses(lra, "talk") == ["done", "done", "stopped"]


def test_whoever_leaves_does_not_stop_the_turn_and_whoever_comes_sees_it(serve, terminal, lra):
    serve()
    chat = terminal("--session", "talk")
    say_to(chat, "endless")
    chat.expect("alpha")
    chat.send("\x04")
    chat.expect("the turn goes on at the server")
    chat.expect(pexpect.EOF)
    assert statuses(lra, "talk") == ["running"]
    again = terminal("--session", "talk")
    again.expect("alpha")
    again.sendintr()
    again.expect("stopped, history kept")
    assert leave(again) == 0


def test_a_server_that_dies_is_waited_for_and_the_end_is_shown_once(
    serve, terminal, lra, environment
):
    server = serve()
    chat = terminal("--session", "talk")
    say_to(chat, "again")
    while "again" not in asked(environment):
        pass
    server.kill()
    server.wait()
    chat.expect("went away; waiting for it")
    chat.send("a half-typed")
    serve()
    chat.expect("the server is back")
    chat.expect("The whole thought")
    chat.expect("1 step")
    chat.send(" message\r")
    chat.expect("Hello there, friend")
    shown = chat.before
    assert leave(chat) == 0
    assert "The whole thought" not in shown
    exported = lra("sessions", "export", "talk", "--format", "jsonl")[1]
    assert "a half-typed message" in exported


def test_commands_that_write_go_through_the_server(serve, lra):
    serve()
    assert lra("ask", "hi", "--session", "one")[:2] == (0, "Hello there, friend.\n")
    code, out, err = lra("chat", "--session", "one", stdin="hello\nand bye\n")
    assert (code, "joined the server" in err) == (0, True)
    assert out.startswith("Hello there, friend.\n")
    assert lra("sessions", "rename", "one", "Uno")[0] == 0
    copy = lra("sessions", "fork", "one")[1].strip()
    assert lra("sessions", "delete", "one", "--yes")[0] == 0
    listed = json.loads(lra("sessions", "list", "--json")[1])
    assert [each["session"]["id"] for each in listed] == [copy]
    assert lra("memory", "add", "The heron eats frogs.")[0] == 0
    code, out, _ = lra("memory", "reindex")
    assert (code, out) == (75, "")
