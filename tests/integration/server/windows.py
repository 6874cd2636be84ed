"""A client at a WebSocket."""

import asyncio
import json
from contextlib import asynccontextmanager

from websockets.asyncio.client import connect


class Client:
    """Sends frames and collects what comes."""

    def __init__(self, socket):
        self.socket = socket
        self.heard = []

    async def send(self, type_, **fields):
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def raw(self, frame):
        await self.socket.send(frame)

    async def next(self):
        heard = json.loads(await asyncio.wait_for(self.socket.recv(), 300))
        self.heard.append(heard)
        return heard

    async def until(self, *types):
        """Hear on until something of a type comes."""
        while True:
            heard = await self.next()
            if heard["type"] in types:
                return heard

    def numbers(self):
        """The numbers of the stored events, as they came."""
        return [heard["seq"] for heard in self.heard if "seq" in heard]

    def types(self):
        return [heard["type"] for heard in self.heard]


@asynccontextmanager
async def window(address, path, **options):
    """An open socket; its greeting is heard already."""
    url = f"{address}".replace("http", "ws", 1).rstrip("/") + path
    async with connect(url, **options) as socket:
        yield Client(socket)
