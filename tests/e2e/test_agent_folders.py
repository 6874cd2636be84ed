"""An agent of one's own in a terminal: made, talked to, changed and listed."""

import contextlib
import sys

import pexpect
import pytest
from tests.e2e.terminals import PROMPT_IS_UP, leave, say_to

from long_running_agents.testing import Rule, Script, say

pytestmark = pytest.mark.timeout(900)
SCRIPT = Script((Rule("^heron", (say("A heron stands."),)), Rule("", (say("Hello there."),))))


@pytest.fixture
def program(environment, tmp_path):
    """Opens a command in a terminal, in a folder of its own."""
    with contextlib.ExitStack() as stack:

        def open_one(*arguments):
            child = pexpect.spawn(
                sys.executable,
                ["-m", "long_running_agents", *arguments],
                env=environment,
                cwd=str(tmp_path),
                encoding="utf-8",
                timeout=300,
                dimensions=(40, 100),
            )
            stack.callback(child.close, force=True)
            return child

        yield open_one


def finished(child):
    """What a command still says until it has ended well."""
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    return child.before


def test_an_agent_is_made_run_and_listed(program, tmp_path):
    making = program("create-agent", "heron_agent")
    making.expect("What is the agent told")
    say_to(making, "You count herons.")
    making.expect("lra run heron_agent")
    finished(making)

    chat = program("run", "heron_agent")
    chat.expect("heron_agent with custom:scripted")
    chat.expect_exact(PROMPT_IS_UP)
    say_to(chat, "heron?")
    chat.expect("A heron stands")
    say_to(chat, "/agent -")
    chat.expect("agent: lra")
    say_to(chat, "hello")
    chat.expect("Hello there")
    assert leave(chat) == 0

    with (tmp_path / "heron_agent" / "agent.md").open("a") as file:
        file.write("Count twice.\n")
    again = program("run", "heron_agent/main.py")
    again.expect_exact(PROMPT_IS_UP)
    assert leave(again) == 0
    listed = finished(program("list-agents"))
    assert "heron_agent@2" in listed
    assert "coder@1" in listed
