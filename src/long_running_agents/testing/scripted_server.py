"""A scripted, OpenAI-compatible model behind real HTTP."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from long_running_agents.testing.script import Quirk, Script

if TYPE_CHECKING:
    import socket

    import uvicorn


_HOST = "127.0.0.1"


class ScriptedServer:
    """An HTTP server on this machine that plays a script, inside the running event loop.

    `async with ScriptedServer(script) as server:` starts it; `server.url` is its base URL.
    """

    def __init__(
        self,
        script: Script,
        *,
        quirks: Collection[Quirk] = frozenset(),
        require_key: str | None = None,
        port: int = 0,
        keep: int = 1000,
    ) -> None:
        """Make a server that does not listen yet.

        Port 0 takes a free one; the newest request bodies are kept, so many of them.
        """
        # Only those who start the server need its libraries.
        from long_running_agents.testing.scripted_app import ModelApp  # noqa: PLC0415

        self._port = port
        self._app = ModelApp(script, frozenset(quirks), require_key, keep)
        self._server: uvicorn.Server | None = None
        self._socket: socket.socket | None = None

    @property
    def url(self) -> str:
        """The base URL for a client, with its `/v1`."""
        if self._socket is None:
            raise RuntimeError("The scripted server is not running: use `async with` first.")
        return f"http://{_HOST}:{self._socket.getsockname()[1]}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests received, the oldest first."""
        return [json.loads(raw) for raw in self._app.received]

    def use(self, script: Script) -> None:
        """Answer by another script from now on, as if no failure had been served."""
        self._app.use(script)

    async def __aenter__(self) -> Self:
        from long_running_agents.net.listen import listening  # noqa: PLC0415 - as above

        self._socket = listening(_HOST, self._port)
        self._server = self._app.server()
        await self._server.startup(sockets=[self._socket])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is None or self._socket is None:
            return
        server, self._server, self._socket = self._server, None, None
        for listener in server.servers:
            listener.close()
        # Clients see the connection die, as they do when a real server is stopped: uvicorn's own
        # shutdown would wait for answers that are scripted never to come.
        for connection in tuple(server.server_state.connections):
            connection.transport.abort()
        # One round of the loop, in which the answers under way learn that their clients are gone.
        await asyncio.sleep(0)
        tasks = tuple(server.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server as a process until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m long_running_agents.testing.scripted_server", description=__doc__
    )
    parser.add_argument("--script", type=Path, required=True, help="a file in Script's JSON form")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--key", help="the API key that clients must show")
    parser.add_argument("--keep", type=int, default=1000, help="request bodies to remember")
    parser.add_argument(
        "--quirk",
        action="append",
        default=[],
        type=_quirk,
        metavar="NAME",
        help=f"one of {', '.join(Quirk)}; may be repeated",
    )
    options = parser.parse_args(arguments)
    try:
        script = Script.from_json(options.script.read_bytes())
    except (OSError, ValueError) as error:
        parser.error(f"--script {options.script}: {error}")
    server = ScriptedServer(
        script, quirks=options.quirk, require_key=options.key, port=options.port, keep=options.keep
    )
    asyncio.run(_serve(server))
    return 0


def _quirk(name: str) -> Quirk:
    try:
        return Quirk(name.lower().replace("-", "_"))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{name!r} is no quirk: expected one of {', '.join(Quirk)}"
        ) from None


async def _serve(server: ScriptedServer) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with server:
        sys.stdout.write(f"listening on {server.url}\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())
