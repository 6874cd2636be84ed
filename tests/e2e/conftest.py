"""A home with the scripted model of its test's module, and programs that use it."""

import contextlib
import os
import subprocess
import sys

import pexpect
import pytest
from tests.e2e.terminals import PROMPT_IS_UP, told
from tests.scripted_process import scripted_process

PROGRAM = ["-m", "long_running_agents"]


@pytest.fixture
def model_url(request):
    """Where the model is; a module says in SCRIPT what it answers."""
    with scripted_process(request.module.SCRIPT) as url:
        yield url


@pytest.fixture
def environment(request, model_url, tmp_path):
    """What programs see; a module may say more in VARIABLES."""
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "LRA_HOME": str(tmp_path / "home"),
        "AGENT_MODEL": "scripted",
        "AGENT_MODEL_URL": model_url,
        "TERM": "xterm",
        # There is no terminal behind the pty to say where its cursor is.
        "PROMPT_TOOLKIT_NO_CPR": "1",
        **getattr(request.module, "VARIABLES", {}),
    }


@pytest.fixture
def terminal(environment):
    """Opens chats: terminal(...) is a person's side of one, which may join something first."""
    with contextlib.ExitStack() as stack:

        def open_one(*arguments, joins="", seen=""):
            child = pexpect.spawn(
                sys.executable,
                [*PROGRAM, "chat", *arguments],
                env=environment,
                encoding="utf-8",
                timeout=300,
                dimensions=(40, 100),
            )
            stack.callback(child.close, force=True)
            if joins:
                child.expect(f"joined {joins}")
            child.expect("lra with custom:scripted")
            if seen:
                # Shown on the way to the prompt, or while it comes up.
                child.expect(seen)
            else:
                child.expect_exact(PROMPT_IS_UP)
            return child

        yield open_one


@pytest.fixture
def start(environment):
    """Starts a command: start(...) is its process, which is gone when the test is."""
    with contextlib.ExitStack() as stack:

        def start_one(*arguments, options=(), stdin=""):
            process = subprocess.Popen(
                [sys.executable, *options, *PROGRAM, *arguments],
                env=environment,
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            if stdin:
                process.stdin.write(stdin)
                process.stdin.close()
                process.stdin = None
            return process

        yield start_one


@pytest.fixture
def lra(start):
    """Runs a command: lra(...) -> (exit code, stdout, stderr)."""
    return lambda *arguments, **more: told(start(*arguments, **more))
