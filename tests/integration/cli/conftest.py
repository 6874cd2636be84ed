import io
import os
import sys

import pytest
from tests.scripted_process import scripted_process

from long_running_agents.cli.main import run
from long_running_agents.testing import Rule, Script, ToolCall, call, fail, say

LINK = "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\"
COPY = "\x1b]52;c;aGk="
ESCAPES = f"\x1b[31mred {LINK} {COPY}\x07copy {COPY} end"
SCRIPT = Script(
    (
        Rule(
            "^plan",
            (
                say("I plan.", calls=(ToolCall("create_task", {"title": "Buy milk"}),)),
                say("Planned."),
            ),
        ),
        Rule("What did the user say", (say("They said: Recite the herons."),)),
        Rule("^fail", (fail(401, times=None),)),
        Rule("^loop", (call("list_tasks"),)),
        Rule("^escape", (say(ESCAPES),)),
        Rule("^pretend", (say("I wrote report.md, and all 12 tests pass."),)),
        Rule("", (say("Hello there, friend."),)),
    )
)


@pytest.fixture(scope="session")
def model_url():
    """A scripted model behind HTTP, in a process of its own."""
    with scripted_process(SCRIPT) as url:
        yield url


@pytest.fixture
def lra(model_url, model_requests, monkeypatch, capsys):
    """Runs the program inside this process: lra(...) -> (exit code, stdout, stderr)."""
    monkeypatch.setenv("AGENT_MODEL", "scripted")
    monkeypatch.setenv("AGENT_MODEL_URL", model_url)

    def call_it(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = run(arguments)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call_it


@pytest.fixture
def environment(model_url, tmp_path):
    """The environment of a program of its own."""
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "LRA_HOME": str(tmp_path / "home"),
        "AGENT_MODEL": "scripted",
        "AGENT_MODEL_URL": model_url,
    }
