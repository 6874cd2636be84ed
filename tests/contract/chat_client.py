"""A chat client for the scripted server that shows bodies and streams in one shape."""

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2

from long_running_agents.testing import Rule, Script, ScriptedServer

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "seen"}


@dataclass
class Answer:
    """What a client got, the same shape for a body and for a stream."""

    status: int
    message: dict = field(default_factory=dict)
    deltas: list[dict] = field(default_factory=list)
    finish: str | None = None
    usage: dict | None = None
    ids: set[str] = field(default_factory=set)
    error: str = ""

    @property
    def text(self):
        streamed = "".join(delta.get("content") or "" for delta in self.deltas)
        return self.message.get("content") or streamed

    @property
    def calls(self):
        return [call for delta in self.deltas for call in delta.get("tool_calls", [])]


def user(text):
    return {"role": "user", "content": text}


def asking(text, **options):
    return {"model": "scripted", "messages": [user(text)], **options}


def script(*replies):
    return Script((Rule("", replies),))


@asynccontextmanager
async def serving(script, **options):
    async with (
        ScriptedServer(script, **options) as server,
        httpx2.AsyncClient(base_url=server.url, trust_env=False, timeout=300) as client,
    ):
        yield server, client


async def ask(client, body):
    response = await client.post("/chat/completions", json=body)
    if response.status_code != 200:
        return Answer(response.status_code, error=response.json()["error"]["message"])
    if response.headers["content-type"] == "application/json":
        data = response.json()
        [choice] = data["choices"]
        return Answer(200, choice["message"], [], choice["finish_reason"], data.get("usage"))
    lines = [line for line in response.text.split("\n\n") if line]
    assert lines.pop() == "data: [DONE]"
    answer = Answer(200)
    for chunk in [json.loads(line.removeprefix("data: ")) for line in lines]:
        answer.ids.add(chunk["id"])
        answer.usage = chunk.get("usage", answer.usage)
        for choice in chunk["choices"]:
            answer.deltas.append(choice["delta"])
            answer.finish = choice["finish_reason"]
    return answer
