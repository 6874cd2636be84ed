"""Questions and their answers through the command line: every command is a process of its own."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, ToolCall, say

SCRIPT = Script(
    (
        Rule(
            "^plan",
            (
                say("A plan:", calls=(ToolCall("create_task", {"title": "Buy milk"}),)),
                say("So be it."),
            ),
        ),
    )
)


@pytest.fixture(scope="module")
def model_url():
    with scripted_process(SCRIPT) as url:
        yield url


@pytest.fixture
def lra(model_url, tmp_path):
    """lra(...) -> (exit code, stdout, stderr), each time a new process."""
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "LRA_HOME": str(tmp_path / "home"),
        "AGENT_MODEL": "scripted",
        "AGENT_MODEL_URL": model_url,
        "LRA_AGENT__TOOLS__REQUIRE_APPROVAL": "create_task",
        "LRA_AGENT__TOOLS__NON_INTERACTIVE_APPROVAL_POLICY": "ask",
    }

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "long_running_agents", *arguments],
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def asked(lra, session):
    """Ask something that needs an answer, and say which question waits."""
    code, _, err = lra("ask", "plan it", "--session", session)
    assert code == 75
    assert "waits for an answer: may create_task run?" in err
    [question] = json.loads(lra("approvals", "list", "-s", session, "--json")[1])
    assert question["question"] == "'create_task' is in agent.tools.require_approval"
    return question["id"]


def log(lra):
    entries = json.loads(lra("approvals", "log", "--json")[1])
    return [(each["decision"], each["who"]) for each in entries]


def test_a_question_is_denied_and_another_allowed_after_a_restart(lra):
    no = asked(lra, "one")
    assert lra("approvals", "deny", no, "not today")[:2] == (0, "So be it.\n")
    assert "The user denied this call: not today." in lra("sessions", "export", "one")[1] + str(
        lra("sessions", "export", "one", "--format", "jsonl")
    )
    assert lra("tasks", "list", "-s", "one")[1] == ""

    yes = asked(lra, "two")
    assert lra("approvals", "allow", yes)[:2] == (0, "So be it.\n")
    assert "Buy milk" in lra("tasks", "list", "-s", "two")[1]
    assert json.loads(lra("approvals", "list", "--json")[1]) == []
    assert log(lra) == [("ask", "rule"), ("deny", "person"), ("ask", "rule"), ("allow", "person")]


def test_a_question_that_nobody_answered_is_a_no(lra, tmp_path):
    question = asked(lra, "one")
    database = sqlite3.connect(tmp_path / "home" / "lra.db")
    with database:
        # A day goes by.
        database.execute("UPDATE approvals SET expires_at = asked_at")
    database.close()

    assert lra("approvals", "list", "--json")[1] == "[]\n"
    code, _, err = lra("approvals", "allow", question)
    assert code == 75
    assert "expired" in err
    told = lra("sessions", "export", "one", "--format", "jsonl")[1]
    assert "nobody answered in time" in told
    assert "So be it." in told
    assert lra("tasks", "list", "-s", "one")[1] == ""


def test_a_grant_is_made_used_listed_and_revoked(lra):
    question = asked(lra, "one")
    assert lra("approvals", "allow", question, "--session", "--always")[0] == 2
    assert lra("approvals", "allow", question, "--always")[0] == 0

    assert lra("ask", "plan it", "--session", "two")[:2] == (0, "So be it.\n")
    [grant] = json.loads(lra("approvals", "grants", "--json")[1])
    assert (grant["scope"]["tool"], grant["used"], grant["session_id"]) == ("create_task", 1, None)
    assert grant["id"] in lra("approvals", "grants")[1]

    code, _, err = lra("approvals", "revoke", grant["id"])
    assert (code, err) == (0, "revoked: create_task\n")
    assert lra("approvals", "revoke", grant["id"])[0] == 75
    assert lra("approvals", "revoke", "nope")[0] == 3
    assert lra("approvals", "grants", "--json")[1] == "[]\n"
    assert "(revoked)" in lra("approvals", "grants", "--all")[1]
    asked(lra, "three")
    assert log(lra) == [
        ("ask", "rule"),
        ("allow", "person"),
        ("allow", "grant"),
        ("ask", "rule"),
    ]
    lines = lra("approvals", "log", "-s", "two", "-n", "1")[1].splitlines()
    assert [line.split("\t")[1:5] for line in lines] == [["two", "allow", "grant", "create_task"]]
