"""`lra chat` beside a running server: a real terminal, real processes, real kills."""

import json

import pexpect
import pytest
from tests.e2e.terminals import leave, say_to, statuses, until_asked

from long_running_agents.testing import Rule, Script, ToolCall, hang, say

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


VARIABLES = {"LRA_AGENT__TOOLS__REQUIRE_APPROVAL": "create_task"}
SERVER = "the server at http://127.0.0.1:"


@pytest.fixture
def serve(start):
    """Starts servers of the home: serve() is a process that listens."""

    def listening():
        server = start("serve", "--port", "0")
        assert server.stdout.readline().startswith("listening on")
        return server

    return listening


def test_a_joined_chat_talks_asks_and_stops_like_one_alone(serve, terminal, lra):
    serve()
    chat = terminal("--session", "talk", joins=SERVER)
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
    chat = terminal("--session", "talk", joins=SERVER)
    say_to(chat, "endless")
    chat.expect("alpha")
    chat.send("\x04")
    chat.expect("the turn goes on at the server")
    chat.expect(pexpect.EOF)
    assert statuses(lra, "talk") == ["running"]
    again = terminal("--session", "talk", joins=SERVER)
    again.expect("alpha")
    again.sendintr()
    again.expect("stopped, history kept")
    assert leave(again) == 0


def test_a_server_that_dies_is_waited_for_and_the_end_is_shown_once(
    serve, terminal, lra, environment
):
    server = serve()
    chat = terminal("--session", "talk", joins=SERVER)
    say_to(chat, "again")
    until_asked(environment, "again")
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
    code, out, _ = lra("context", "check", "one")
    assert (code, out.count(" missing: ")) == (1, 2)
    assert lra("sessions", "rename", "one", "Uno")[0] == 0
    copy = lra("sessions", "fork", "one")[1].strip()
    assert lra("sessions", "delete", "one", "--yes")[0] == 0
    listed = json.loads(lra("sessions", "list", "--json")[1])
    assert [each["session"]["id"] for each in listed] == [copy]
    assert lra("memory", "add", "The heron eats frogs.")[0] == 0
    code, out, _ = lra("memory", "reindex")
    assert (code, out) == (75, "")
