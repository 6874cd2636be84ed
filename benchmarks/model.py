"""A scripted OpenAI-compatible model in a process of its own, light enough not to be measured.

The last user message says `steps=N`. The model asks for the tool `step` until N tool results
follow that message, then says `done`; if the message says `words=N`, it says N words instead.
It prints its port, and answers each `take` line on stdin with what it received since the last
one. It ends when stdin closes.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

BODY_LIMIT = 64 * 1024 * 1024
STEPS = re.compile(r"steps=(\d+)")
WORDS = re.compile(r"words=(\d+)")
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass(slots=True)
class Traffic:
    """What arrived since it was last taken."""

    requests: int = 0
    streamed: int = 0
    received: int = 0

    def take(self) -> str:
        """Return the counts as JSON and start again from nothing."""
        taken = json.dumps(asdict(self))
        self.requests = self.streamed = self.received = 0
        return taken


def next_step(messages: list[dict[str, Any]]) -> int | None:
    """Return the number of the next tool call, or None when it is time to say `done`."""
    finished = 0
    for message in reversed(messages):
        if message["role"] == "tool":
            finished += 1
        elif message["role"] == "user":
            wanted = STEPS.search(json.dumps(message["content"]))
            if wanted is None:
                raise ValueError(f"The last user message has no steps=N: {message!r}.")
            return finished if finished < int(wanted[1]) else None
    raise ValueError("There is no user message.")


def tool_call(step: int) -> dict[str, Any]:
    """Return one call of `step`, as the API spells it."""
    function = {"name": "step", "arguments": json.dumps({"i": step})}
    return {"id": f"call_{step}", "type": "function", "function": function}


def envelope(request: dict[str, Any], kind: str, choices: list[Any]) -> dict[str, Any]:
    """Wrap choices as the API does."""
    model = request.get("model", "scripted")
    return {"id": "scripted", "object": kind, "created": 1, "model": model, "choices": choices}


def whole(request: dict[str, Any], step: int | None) -> bytes:
    """Return the answer as one JSON body."""
    message: dict[str, Any] = {"role": "assistant", "content": "done"}
    if step is not None:
        message = {"role": "assistant", "content": None, "tool_calls": [tool_call(step)]}
    reason = "stop" if step is None else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return json.dumps(envelope(request, "chat.completion", [choice]) | {"usage": USAGE}).encode()


def words_of(messages: list[dict[str, Any]]) -> list[str]:
    """Return the pieces of the final answer."""
    asked = next(message for message in reversed(messages) if message["role"] == "user")
    wanted = WORDS.search(json.dumps(asked["content"]))
    return ["do", "ne"] if wanted is None else ["word "] * int(wanted[1])


def deltas(step: int | None, words: list[str]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Yield the deltas of an answer, each with its finish reason."""
    if step is None:
        yield {"role": "assistant", "content": ""}, None
        for word in words:
            yield {"content": word}, None
        yield {}, "stop"
        return
    call = tool_call(step)
    arguments = call["function"]["arguments"]
    call["function"]["arguments"] = ""
    yield {"role": "assistant", "content": None, "tool_calls": [{"index": 0, **call}]}, None
    for piece in (arguments[:3], arguments[3:]):
        yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}, None
    yield {}, "tool_calls"


def streamed(request: dict[str, Any], step: int | None) -> bytes:
    """Return the answer as server-sent events."""
    kind = "chat.completion.chunk"
    chunks = [
        envelope(request, kind, [{"index": 0, "delta": delta, "finish_reason": reason}])
        for delta, reason in deltas(step, words_of(request["messages"]))
    ]
    if (request.get("stream_options") or {}).get("include_usage"):
        chunks.append(envelope(request, kind, []) | {"usage": USAGE})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + (
        b"data: [DONE]\n\n"
    )


def response(traffic: Traffic, path: str, body: bytes) -> bytes:
    """Count one request and return the HTTP response to it."""
    if not path.endswith("/chat/completions"):
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    request = json.loads(body)
    step = next_step(request["messages"])
    stream = bool(request.get("stream"))
    traffic.requests += 1
    traffic.streamed += stream
    traffic.received += len(body)
    payload = streamed(request, step) if stream else whole(request, step)
    kind = "text/event-stream" if stream else "application/json"
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(payload)}\r\n\r\n"
    return head.encode() + payload


async def serve_connection(
    traffic: Traffic, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer the requests of one kept-alive connection until the client hangs up."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
            body = await reader.readexactly(int(length[1])) if length else b""
            writer.write(response(traffic, head.split(" ", 2)[1], body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    """Serve until stdin closes."""
    traffic = Traffic()
    server = await asyncio.start_server(
        lambda reader, writer: serve_connection(traffic, reader, writer),
        "127.0.0.1",
        0,
        limit=BODY_LIMIT,
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line.strip() == "take":
            print(traffic.take(), flush=True)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
