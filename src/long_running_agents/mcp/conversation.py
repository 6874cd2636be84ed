"""A conversation with a server, in the words of the protocol.

Importing this takes a second: it is imported when the first server is needed, in a thread.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Any

import anyio
import httpx2
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import Unavailable
from long_running_agents.mcp.answers import answer
from long_running_agents.mcp.endpoint import reached
from long_running_agents.mcp.listing import MOST_TOOLS, listed
from long_running_agents.mcp.program import running
from long_running_agents.mcp.spec import Program, ServerSpec
from long_running_agents.mcp.talk import Answer, CutOff, Failed, Listing, NotRun
from long_running_agents.mcp.texts import readable

log = logging.getLogger(__name__)

STARTING = 30.0
"""Seconds a server has to start and to greet."""
_LEAVING = 5.0
"""Seconds to leave in good order; a program alone has three of them."""
_MOST_PAGES = 10
_MOST_NOTES = 1000
_LONGEST_REASON = 300
_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(
    CallToolResult | InputRequiredResult
)
_OURSELVES = "long-running-agents"


async def begin(
    spec: ServerSpec, clock: Clock, taken: Collection[str], *, old: bool = False
) -> "Conversation":
    """Start a server, or reach it, and agree on a version of the protocol.

    Args:
        spec: The server.
        clock: Tells the time.
        taken: Names that no foreign tool may have.
        old: Whether it is known to be of the first generation.

    Raises:
        Unavailable: It cannot be had.
    """
    for name in ("mcp", "client"):
        # The library's complaints would otherwise be printed into the conversation.
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
    conversation = Conversation(spec, taken, old=old)
    try:
        await conversation.open(clock)
    except BaseException as error:
        offended = conversation.hung_up and isinstance(error, Unavailable)
        await conversation.close()
        if old or not offended:
            raise
        # Some programs of the first generation leave when they are not greeted as they expect.
        return await begin(spec, clock, taken, old=True)
    return conversation


class Conversation:
    """Lives in a task of its own: what the library opens must be closed where it was opened."""

    def __init__(self, spec: ServerSpec, taken: Collection[str], *, old: bool) -> None:
        self._spec = spec
        self._old = old
        self._taken = taken
        self._scope = anyio.CancelScope()
        self._leave = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._gone = False
        self._changed = False
        self._last_words = ""
        self._noted = 0
        self._hung_up = False

    @property
    def old(self) -> bool:
        """Whether the server is of the first generation."""
        return self.protocol in HANDSHAKE_PROTOCOL_VERSIONS

    @property
    def hung_up(self) -> bool:
        """Whether a program ended by itself."""
        return self._hung_up

    @property
    def protocol(self) -> str:
        """The version of the protocol that is spoken."""
        return "" if self._client is None or self.over else self._client.protocol_version

    @property
    def over(self) -> bool:
        """Whether the other end has gone."""
        return self._gone or self._task is None or self._task.done()

    @property
    def stale(self) -> bool:
        """Whether the server said that its tools have changed."""
        return self._changed

    async def open(self, clock: Clock) -> None:
        """Begin.

        Raises:
            Unavailable: There is nobody, or nobody who speaks the protocol.
        """
        ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        try:
            if not await clock.wait(ready, STARTING):
                raise Unavailable(f"it did not answer within {STARTING:g} seconds")
            ready.result()
        finally:
            # From here on nobody looks at it any more.
            ready.cancel()

    async def tools(self) -> Listing:
        """Ask for the tools.

        Raises:
            Unavailable: It does not tell.
        """
        self._changed = False
        try:
            async with asyncio.timeout(STARTING):
                tools = await self._all_tools()
        except (MCPError, ValidationError, TimeoutError) as error:
            raise Unavailable(f"it does not list its tools: {_reason(error)}") from error
        found = [(tool.name, tool.description or "", tool.input_schema) for tool in tools]
        # Foreign schemas may be large.
        return await asyncio.to_thread(listed, self._spec, found, self._taken)

    async def call(self, tool: str, args: Mapping[str, Any]) -> Answer:
        """Call a tool by its own name."""
        if self.over or self._client is None:
            return NotRun("it ended by itself")
        params = CallToolRequestParams(name=tool, arguments=dict(args))
        try:
            # Not the client's own call_tool: it would check the answer against a schema, with
            # patterns in it, that the server has chosen.
            result = await self._client.session.send_request(
                CallToolRequest(params=params),
                _RESULT,
                request_read_timeout_seconds=self._spec.timeout,
            )
        except MCPError as error:
            return self._failure(error)
        except ValidationError:
            return Failed("The answer of the server is not valid.")
        if isinstance(result, InputRequiredResult):
            return Failed("The server wants more than a call: that is not supported here.")
        return answer(result)

    async def close(self) -> None:
        """End it, and whatever was started for it: politely, then by force."""
        self._gone = True
        self._leave.set()
        if self._client is None:
            self._scope.cancel()
        if self._task is None:
            return
        for urge in (self._scope.cancel, self._task.cancel):
            await asyncio.wait([self._task], timeout=_LEAVING)
            if self._task.done():
                break
            urge()

    async def _live(self, ready: asyncio.Future[None]) -> None:
        try:
            with self._scope:
                async with Client(
                    self._transport(),
                    client_info=Implementation(name=_OURSELVES, version=version(_OURSELVES)),
                    message_handler=self._hear,
                    cache=None,
                    mode="legacy" if self._old else "auto",
                ) as client:
                    self._client = client
                    if not ready.done():
                        ready.set_result(None)
                    await self._leave.wait()
        except Exception as error:  # noqa: BLE001 - the outermost ring around a foreign server
            said = f" ({self._last_words})" if self._last_words else ""
            self._end(ready, f"{_reason(error)}{said}")
        else:
            self._end(ready, "it was ended")

    def _end(self, ready: asyncio.Future[None], reason: str) -> None:
        self._gone = True
        if not ready.done():
            ready.set_exception(Unavailable(reason))

    def _transport(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        way = self._spec.way
        if isinstance(way, Program):
            return running(way, self._note, self._hang_up)
        return reached(way, max(self._spec.timeout, STARTING))

    def _note(self, line: str) -> None:
        self._noted += 1
        if self._noted <= _MOST_NOTES:
            # The log leaves secrets out.
            log.info("%s: %s", self._spec.name, line)
        self._last_words = line or self._last_words

    def _hang_up(self) -> None:
        self._gone = self._hung_up = True

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed = True

    async def _all_tools(self) -> list[Tool]:
        assert self._client is not None, "it was opened"  # noqa: S101
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None or len(tools) > 2 * MOST_TOOLS:
                break
        return tools

    def _failure(self, error: MCPError) -> Answer:
        if error.code == REQUEST_TIMEOUT:
            return CutOff(f"no answer within {self._spec.timeout:g} seconds")
        if error.code == CONNECTION_CLOSED:
            self._gone = True
            return CutOff("the server ended before it answered")
        if error.code == INVALID_REQUEST and error.message == "Session terminated":
            # The library's words for a server that was restarted and knows nothing of us.
            self._gone = True
            return NotRun("it does not know us any more")
        return Failed(error.message)


def _reason(error: BaseException) -> str:
    """What went wrong first, in a line."""
    match error:
        case BaseExceptionGroup():
            return _reason(error.exceptions[0])
        case FileNotFoundError() | PermissionError() | NotADirectoryError():
            text = f"{error.filename!r} cannot be run or entered: {error.strerror}"
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            text = f"nobody answers there ({error})"
        case MCPError():
            closed = error.code == CONNECTION_CLOSED
            text = "it ended before it answered" if closed else error.message
        case ValidationError():
            text = "its answer is not valid"
        case TimeoutError():
            text = "it takes too long"
        case _:
            text = f"{type(error).__name__}: {error}"
    return readable(" ".join(text.split()), _LONGEST_REASON)
