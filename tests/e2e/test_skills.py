"""Skills as a person meets them: a real terminal, a real sandbox, a server that is joined."""

import contextlib
import json
import os
import subprocess
import sys

import pexpect
import pytest
from tests.e2e.terminals import PROMPT_IS_UP, say_to
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, ToolCall, say

PROGRAM = ["-m", "long_running_agents"]
DOUBLE = 'def double(number: int) -> int:\n    """Twice as much."""\n    return 2 * number\n'
MAKE = ToolCall("generate_tool", {"name": "double", "code": DOUBLE})
SCRIPT = Script(
    (
        Rule("^make", (say("I make it.", calls=(MAKE,)), say("So be it."))),
        Rule("", (say("Hello there, friend."),)),
    )
)


@pytest.fixture
def environment(tmp_path):
    with scripted_process(SCRIPT) as url:
        # An editor would wait for somebody; the story that wants one says so.
        usual = {name: value for name, value in os.environ.items() if name not in _EDITORS}
        yield {
            **usual,
            "HOME": str(tmp_path),
            "LRA_HOME": str(tmp_path / "home"),
            "AGENT_MODEL": "scripted",
            "AGENT_MODEL_URL": url,
            "TERM": "xterm",
            # There is no terminal behind the pty to say where its cursor is.
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }


_EDITORS = ("VISUAL", "EDITOR")


@pytest.fixture
def terminal(environment):
    """Runs commands at a terminal: terminal(...) is a person's side of one."""
    with contextlib.ExitStack() as stack:

        def open_one(*arguments, **variables):
            child = pexpect.spawn(
                sys.executable,
                [*PROGRAM, *arguments],
                env={**environment, **variables},
                encoding="utf-8",
                timeout=300,
                dimensions=(60, 100),
            )
            stack.callback(child.close, force=True)
            return child

        yield open_one


@pytest.fixture
def lra(environment):
    """Runs a command: lra(...) -> (exit code, stdout, stderr)."""

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, *PROGRAM, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.fixture
def server(environment):
    """A server of the home."""
    started = subprocess.Popen(
        [sys.executable, *PROGRAM, "serve", "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stdout.readline().startswith("listening on")
        yield started
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def ended(child):
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


def chatting(child):
    child.expect("lra with custom:scripted")
    child.expect_exact(PROMPT_IS_UP)
    return child


def states(lra):
    found = json.loads(lra("skills", "list", "--json")[1])
    return {each["name"]: each["state"] for each in found}


def test_a_tool_is_asked_for_mended_tried_and_used(terminal, lra):
    made = terminal("create-tool")
    made.expect("Name of the tool")
    made.sendline("Count Words")
    made.expect("small letters")
    made.sendline("count_words")
    made.expect("What does it do")
    made.sendline("Count the words of a text.")
    made.expect("Argument")
    made.sendline("text")
    made.expect("Say what text is")
    made.sendline("text: str")
    made.expect("Argument")
    made.sendline("")
    made.expect("What does it return")
    made.sendline("int")
    made.expect("def count_words\\(text: str\\) -> int:")
    made.send("import os\nreturn len(os.listdir(text))\n.\n")
    made.expect("count_words cannot be a skill")
    made.expect("line 3: The module os may not be imported")
    made.expect("Mend it")
    made.sendline("y")
    made.expect("The code once more")
    made.send("return len(text.split())\n.\n")
    made.expect("trial +passed")
    # Coloured, with the numbers of its lines.
    made.expect("3 .*return")
    made.expect("Use count_words version 1 from now on")
    made.sendline("y")
    made.expect("approved: count_words is enabled, version 1")
    assert ended(made) == 0
    assert lra("skills", "run", "count_words", "text=one two three")[:2] == (0, "3\n")


def test_a_tool_is_written_in_an_editor_and_given_up(terminal, lra, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'def wrong(x): return x\\n' > \"$1\"\n")
    editor.chmod(0o700)
    made = terminal("create-tool", "--name", "wrong", EDITOR=str(editor))
    for question, answer in (("do", "Nothing."), ("Argument", ""), ("return", "")):
        made.expect(question)
        made.sendline(answer)
    made.expect("The parameter x has no type hint")
    made.expect("Mend it")
    made.sendline("n")
    made.expect("Nothing was made")
    assert ended(made) == 1
    assert states(lra) == {}


def test_approving_shows_the_code_and_asks(terminal, lra, tmp_path):
    (tmp_path / "double.py").write_text(DOUBLE)
    assert lra("create-tool", "--file", str(tmp_path / "double.py"))[0] == 0
    for answer, outcome in (("n", "Nothing has changed"), ("y", "approved: double is enabled")):
        child = terminal("skills", "approve", "double")
        child.expect("trial +passed")
        child.expect("return")
        child.expect("Use double version 1 from now on\\?")
        child.sendline(answer)
        child.expect(outcome)
        assert ended(child) == 0


def test_a_skill_that_the_model_proposes_is_seen_before_it_is_used(terminal, lra):
    chat = chatting(terminal("chat"))
    say_to(chat, "make")
    chat.expect("skill double \\(version 1\\) is proposed: /skills approve double")
    chat.expect("code:\r\n    def double\\(number: int\\) -> int:\r\n")
    chat.expect("        return 2 \\* number")
    chat.expect("May double \\(version 1\\) be used as a tool from now on\\?")
    chat.expect("Allow generate_tool \\(arguments above\\)")
    say_to(chat, "y")
    chat.expect("skill double \\(version 1\\) is in use")
    chat.expect("So be it")
    chat.expect("2 steps")
    say_to(chat, "/skills")
    chat.expect("double +enabled, version 1, 0 calls +Twice as much")
    say_to(chat, "/skills disable double")
    chat.expect("skill double is disabled, version 1")
    say_to(chat, "/skills approve double")
    chat.expect("No version of 'double' waits for an answer")
    say_to(chat, "/skills dance")
    chat.expect("is not understood")
    chat.send("\x04")
    assert ended(chat) == 0
    assert states(lra) == {"double": "disabled"}


def test_whoever_changes_skills_joins_the_server(server, terminal, lra, tmp_path):
    good, bad, module = (tmp_path / name for name in ("double.py", "bad.py", "out.py"))
    good.write_text(DOUBLE)
    bad.write_text("import os\n\n\ndef gone(path):\n    os.remove(path)\n")
    assert lra("create-tool", "--file", str(bad)) == (1, "", _findings(lra, bad))
    assert lra("create-tool", "--file", str(good))[0] == 0
    assert "1 skill waits for approval" in lra("skills")[2]

    chat = chatting(terminal("chat"))
    say_to(chat, "/skills show double")
    chat.expect("return 2 \\* number")
    say_to(chat, "/skills approve double")
    chat.expect("skill double is enabled, version 1")
    chat.send("\x04")
    assert ended(chat) == 0

    assert lra("skills", "run", "double", "number=4")[:2] == (0, "8\n")
    assert lra("skills", "export", "-o", str(module))[0] == 0
    assert lra("skills", "disable", "double", "--reason", "why")[0] == 0
    assert lra("skills", "enable", "double")[2] == "enabled: double is enabled, version 1.\n"
    good.write_text(DOUBLE.replace("2 * number", "number + number"))
    assert lra("skills", "import", str(good))[:2] == (0, "double\t2\tproposed\n")
    assert lra("skills", "approve", "double", "--yes")[0] == 0
    assert lra("skills", "rollback", "double")[2] == "rolled back: double is enabled, version 1.\n"
    assert lra("skills", "reject", "nothing")[0] == 3
    assert lra("skills", "delete", "double", "--yes")[0] == 0
    assert states(lra) == {}
    assert server.poll() is None


def _findings(lra, path):
    found = json.loads(lra("validate-tool", str(path), "--json")[1])["findings"]
    lines = [f"- line {each['line']}: {each['message']} {each['repair']}" for each in found]
    return "\n".join(["gone cannot be a skill:", *lines, ""])
