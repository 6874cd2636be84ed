"""A model server that sends exactly these bytes, however wrong or endless they are."""

import asyncio
import json
from contextlib import asynccontextmanager

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n"


def event(delta, **more):
    """One event of a stream."""
    return b"data: " + json.dumps({"choices": [{"delta": delta, **more}]}).encode() + b"\n\n"


def calls(*functions, arguments="{}"):
    """A delta with whole calls."""
    return {
        "tool_calls": [
            {"index": n, "id": f"c{n}", "function": {"name": name, "arguments": arguments}}
            for n, name in enumerate(functions)
        ]
    }


END = event({}, finish_reason="stop") + b"data: [DONE]\n\n"


@asynccontextmanager
async def raw_server(pieces, kind="text/event-stream", headers=b""):
    """Serve what an iterable gives, to everybody anew; yields the address and who has asked."""
    asked = []

    async def answer(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"POST /v1/chat/completions"):
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        asked.append(head)
        head = CHUNKED.replace(b"\r\n\r\n", b"\r\n" + headers + b"\r\n") % kind.encode()
        try:
            writer.write(head)
            for piece in pieces():
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            # Whoever asked has heard enough.
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1", asked
