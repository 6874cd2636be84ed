"""OpenAI's client, a real server process, a real kill."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import openai
import pytest
from tests.scripted_process import scripted_process

from long_running_agents.testing import Rule, Script, ToolCall, say

SCRIPT = Script(
    (
        Rule("^look", (say("I look.", calls=(ToolCall("peek", {"at": "sky"}),)), say("Blue."))),
        Rule("", (say("Hello from the agent."),)),
    )
)
TOOL = {"type": "function", "function": {"name": "peek", "parameters": {"type": "object"}}}
_SAYS = "listening on "


@pytest.fixture(scope="module")
def model_url():
    with scripted_process(SCRIPT) as url:
        yield url


@contextmanager
def serving(home, model_url):
    """`lra serve` in a process of its own; yields OpenAI's client for it, and the process."""
    environment = {
        **os.environ,
        "HOME": str(home),
        "LRA_HOME": str(home / "home"),
        "AGENT_MODEL": "scripted",
        "AGENT_MODEL_URL": model_url,
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "long_running_agents", "serve", "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = next(line for line in server.stdout if line.startswith(_SAYS))
        address = line.removeprefix(_SAYS).strip()
        with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
            yield client, server
    finally:
        server.terminate()
        server.communicate(timeout=300)


def test_a_call_for_the_client_survives_the_death_of_the_server(tmp_path, model_url):
    talk = [{"role": "user", "content": "look up"}]
    with serving(tmp_path, model_url) as (client, server):
        stream = client.chat.completions.create(
            model="lra", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        words = [chunk.choices[0].delta.content or "" for chunk in stream]
        assert "".join(words) == "Hello from the agent."
        first = client.chat.completions.create(model="lra", messages=talk, tools=[TOOL])
        message = first.choices[0].message
        server.send_signal(signal.SIGKILL)
        server.wait()
    [made] = message.tool_calls
    assert made.function.arguments == '{"at":"sky"}'
    talk += [
        {"role": "assistant", "content": message.content, "tool_calls": [made.model_dump()]},
        {"role": "tool", "tool_call_id": made.id, "content": "no cloud"},
    ]
    with serving(tmp_path, model_url) as (client, _):
        second = client.chat.completions.create(model="lra", messages=talk, tools=[TOOL])
        assert second.choices[0].message.content == "Blue."
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="lra", messages=talk, tools=[TOOL])
