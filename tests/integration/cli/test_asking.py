"""`lra ask`, and `lra chat` through a pipe."""

import json
import signal
import subprocess
import sys

import pytest
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, say


def test_the_answer_is_on_stdout_and_everything_else_on_stderr(lra):
    code, out, err = lra("ask", "plan it")
    assert (code, out) == (0, "Planned.\n")
    assert "create_task" in err


def test_the_question_may_be_piped_in(lra):
    assert lra("ask", "-", stdin="hi\n")[:2] == (0, "Hello there, friend.\n")
    assert lra("ask", stdin="hi\n")[:2] == (0, "Hello there, friend.\n")


def test_piped_text_is_added_to_the_question(lra):
    lra("ask", "Summarise", "--session", "s", stdin="a long text\n")
    turns = json.loads(lra("sessions", "show", "s", "--json")[1])["turns"]
    assert turns[0]["prompt"] == "Summarise\n\na long text"


def test_json_prints_every_event_on_a_line(lra):
    code, out, err = lra("ask", "plan", "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert err == ""
    assert events[0]["type"] == "message"
    assert events[-1]["type"] == "done"
    assert {"text_delta", "tool_call", "tool_result"} <= {each["type"] for each in events}
    numbers = [each["seq"] for each in events if "seq" in each]
    assert numbers == list(range(1, len(numbers) + 1))


def test_what_no_call_has_seen_is_told_beside_the_answer(lra):
    line = "Not seen in any tool call of this session: report.md, 12 tests pass"
    code, out, err = lra("ask", "pretend")
    assert (code, out) == (0, "I wrote report.md, and all 12 tests pass.\n")
    assert line in err
    assert line in lra("chat", stdin="pretend\n")[2]
    last = json.loads(lra("ask", "pretend", "--json")[1].splitlines()[-1])
    assert last["not_seen"] == ["report.md", "12 tests pass"]
    assert "Not seen" not in lra("ask", "plan it")[2]


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "line"),
    [
        (["ask"], "", 2, "There is no question."),
        (["ask", "  "], "", 2, "There is no question."),
        (["ask", "x", "--session", "a/b"], "", 2, "Session id 'a/b' not accepted"),
        (["ask", "fail"], "", 75, "401"),
        (["ask", "x", "--model", "nobody:x"], "", 2, "Provider 'nobody' is not known"),
        (["chat", "--session", "a", "--continue"], "", 2, "contradict"),
        (["chat"], "fail\n", 75, "401"),
    ],
)
def test_what_goes_wrong_is_said(lra, arguments, stdin, code, line):
    found, out, err = lra(*arguments, stdin=stdin)
    assert found == code
    assert out == ""
    assert line in err


def test_without_a_model_the_way_to_one_is_shown(lra, monkeypatch):
    monkeypatch.delenv("AGENT_MODEL")
    monkeypatch.delenv("AGENT_MODEL_URL")
    code, out, err = lra("ask", "x")
    assert (code, out) == (1, "")
    assert "OPENAI_API_KEY" in err


def test_a_budget_ends_with_5(lra, monkeypatch):
    monkeypatch.setenv("AGENT_MAX_STEPS", "2")
    code, out, err = lra("ask", "loop")
    assert (code, out) == (5, "")
    assert "I had to stop here" in err


def test_nobody_there_means_no(lra, monkeypatch):
    monkeypatch.setenv("LRA_AGENT__TOOLS__REQUIRE_APPROVAL", "create_task")
    code, _, err = lra("ask", "plan")
    assert code == 0
    assert "denied" in err
    assert "denied" in lra("chat", stdin="plan\n")[2]


@pytest.mark.parametrize(
    ("options", "allowed"),
    [(["--yes"], True), (["--approve", "create_task"], True), (["--approve", "shell"], False)],
)
def test_approvals_are_answered_from_the_command_line(lra, monkeypatch, options, allowed):
    monkeypatch.setenv("LRA_AGENT__TOOLS__REQUIRE_APPROVAL", "create_task")
    code, out, err = lra("ask", "plan", *options)
    assert (code, out) == (0, "Planned.\n")
    assert ("allowed" in err) is allowed
    assert ("denied: it was not approved" in err) is not allowed


def test_a_session_goes_on(lra):
    lra("ask", "first", "--session", "s")
    lra("chat", "--continue", stdin="second\n\nthird\n")
    turns = json.loads(lra("sessions", "show", "s", "--json")[1])["turns"]
    assert [turn["prompt"] for turn in turns] == ["first", "second", "third"]


def test_each_piped_line_is_a_message(lra):
    code, out, err = lra("chat", stdin="hi\nplan\n")
    assert code == 0
    assert out == "Hello there, friend.\nI plan.\nPlanned.\n"
    assert "create_task" in err


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
@pytest.mark.parametrize(("words", "piped"), [(["-"], b"caf\xe9"), ([b"caf\xe9"], b"")])
def test_bytes_that_are_no_text_do_not_end_a_command(environment, locale, words, piped):
    program = [sys.executable, "-m", "long_running_agents"]
    asked = subprocess.run(
        [*program, "ask", "--session", "s", *words],
        check=False,
        env={**environment, "LC_ALL": locale},
        input=piped,
        capture_output=True,
    )
    assert (asked.returncode, asked.stdout) == (0, b"Hello there, friend.\n"), asked.stderr
    assert (b"not UTF-8" in asked.stderr) is bool(piped)


def test_what_a_model_says_does_not_command_the_terminal_behind_a_pipe(lra):
    assert lra("ask", "escape")[1] == "red link copy �]52;c;aGk= end\n"
    assert lra("chat", stdin="escape\n")[1].count("\x1b") == 0


def test_ctrl_c_stops_the_turn_for_good(environment):
    slow = Script((Rule("", (say("one two three four", chunk_delay=60),)),))
    program = [sys.executable, "-m", "long_running_agents"]
    with scripted_process(slow) as url:
        asking = subprocess.Popen(
            [*program, "ask", "x", "--session", "s", "--json"],
            env={**environment, "AGENT_MODEL_URL": url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            while json.loads(asking.stdout.readline())["type"] != "text_delta":
                pass
            asking.send_signal(signal.SIGINT)
            assert asking.wait(60) == 130
        finally:
            asking.kill()
            asking.communicate()
    shown = subprocess.run(
        [*program, "sessions", "show", "s", "--json"],
        check=True,
        env=environment,
        capture_output=True,
    )
    [turn] = json.loads(shown.stdout)["turns"]
    assert turn["status"] == "stopped"
    assert turn["answer"].startswith("one")


def test_a_turn_that_failed_is_retried(lra):
    assert lra("ask", "fail", "--session", "s")[0] == 75
    code, _, err = lra("ask", "--session", "s", "--retry")
    assert (code, "401" in err) == (75, True)
    shown = json.loads(lra("sessions", "show", "s", "--json")[1])
    assert [turn["prompt"] for turn in shown["turns"]] == ["fail"]
    assert lra("ask", "--retry")[0] == 2
    assert lra("ask", "hi", "--session", "s", "--retry")[0] == 2
