"""A server of the first generation at an address, which knows its clients by a number."""

import asyncio
import json
from contextlib import asynccontextmanager

from starlette.responses import JSONResponse, Response

from long_running_agents.net.listen import serve


class PlainWeb:
    """Counts; forgetting its clients is what a restart does to them."""

    def __init__(self):
        self.greeted = 0
        self.counted = 0
        self.known = set()

    async def __call__(self, scope, receive, send):
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if scope["method"] == "DELETE":
            self.known.remove(headers["mcp-session-id"])
        if scope["method"] != "POST":
            code = 200 if scope["method"] == "DELETE" else 405
            await Response(status_code=code)(scope, receive, send)
            return
        body = b""
        while (part := await receive())["type"] == "http.request":
            body += part["body"]
            if not part.get("more_body"):
                break
        await self.answer(headers.get("mcp-session-id"), body)(scope, receive, send)

    def answer(self, client, body):
        message = json.loads(body)
        method = message["method"]
        if method == "initialize":
            self.greeted += 1
            self.known.add(str(self.greeted))
            told = {
                "protocolVersion": "2025-03-26",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            }
            return self.reply(message, told, {"mcp-session-id": str(self.greeted)})
        if client not in self.known:
            return Response(status_code=404 if client else 400)
        if method == "tools/list":
            tool = {"name": "count", "inputSchema": {"type": "object"}}
            return self.reply(message, {"tools": [tool]})
        if method == "tools/call":
            self.counted += 1
            return self.reply(message, {"content": [{"type": "text", "text": str(self.counted)}]})
        return Response(status_code=202)

    def reply(self, message, result, headers=None):
        told = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return JSONResponse(told, headers=headers)


@asynccontextmanager
async def plain_web():
    """The server, and its address."""
    app, address = PlainWeb(), asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(app, "127.0.0.1", 0, address.set_result))
    yield app, await address
    task.cancel()
    await asyncio.wait([task])
