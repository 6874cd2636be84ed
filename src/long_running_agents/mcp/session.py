"""A session with a server: stdio and HTTP transports, the handshake, calls and answers.

Importing this takes a second: it is imported when the first server is needed, in a thread.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, assert_never, cast

import anyio
import httpx2
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    REQUEST_TIMEOUT,
    AudioContent,
    BlobResourceContents,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    Implementation,
    InputRequiredResult,
    ResourceLink,
    TextContent,
    Tool,
    ToolAnnotations,
    ToolListChangedNotification,
    jsonrpc_message_adapter,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError
from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.domain.tool import Claim
from long_running_agents.errors import Unavailable
from long_running_agents.mcp.base import (
    Answer,
    CallCutOff,
    CallFailed,
    CallNotRun,
    CallSucceeded,
    Endpoint,
    Listing,
    Program,
    ServerSpec,
    readable,
)
from long_running_agents.mcp.tools import MOST_TOOLS, listed

Json = dict[str, Any]


def answer(result: CallToolResult) -> CallSucceeded | CallFailed:
    """The result of a call in words."""
    parts = [_shown(block) for block in result.content]
    structured: object = result.structured_content
    if structured is not None and not _says(parts, structured):
        parts.append(json.dumps(structured, ensure_ascii=False))
    text = "\n\n".join(parts)
    if result.is_error:
        return CallFailed(text or "The tool failed and does not say why.")
    return CallSucceeded(text or "(no content)")


def _shown(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return _named("image", block.mime_type, block.data)
        case AudioContent():
            return _named("audio", block.mime_type, block.data)
        case ResourceLink():
            return f"[resource {block.name}: {block.uri}]"
        case EmbeddedResource(resource=BlobResourceContents() as blob):
            return _named(f"resource {blob.uri}", blob.mime_type or "unknown type", blob.blob)
        case EmbeddedResource():
            return f"[resource {block.resource.uri}]\n{getattr(block.resource, 'text', '')}"
        case _:
            assert_never(block)


def _named(what: str, media_type: str, data: str) -> str:
    # Four characters of Base64 are three bytes.
    return f"[{what}, {media_type}, about {len(data) * 3 // 4} bytes: not shown]"


def _says(parts: Iterable[str], structured: object) -> bool:
    """Whether one of the texts is the structured content already.

    Servers put a value that is no object into a table with the one name "result".
    """
    values = [structured]
    if isinstance(structured, dict) and set(cast("Json", structured)) == {"result"}:
        values.append(cast("Json", structured)["result"])
    return any(text in values or _parsed(text) in values for text in parts)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


LARGEST_ANSWER = 16 << 20
_CONNECTING = 10.0
_EVENTS = "text/event-stream"


@asynccontextmanager
async def reached(endpoint: Endpoint, patience: float) -> AsyncGenerator[tuple[Any, Any]]:
    """A way to an address while inside, with patience for so many seconds of silence.

    The library follows redirects on the same origin only, so the headers go nowhere else.
    """
    async with (
        httpx2.AsyncClient(
            # Unpacked, a small answer can be of any size.
            headers={**endpoint.headers, "Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(patience, connect=_CONNECTING),
            follow_redirects=False,
            event_hooks={"response": [_bound]},
        ) as client,
        streamable_http_client(
            endpoint.url, http_client=client, max_sse_event_size=LARGEST_ANSWER
        ) as streams,
    ):
        yield streams


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("The answer is compressed, although that was not asked for.")
    # A stream of events goes on for as long as it likes; the library bounds each of them.
    if not response.headers.get("content-type", "").startswith(_EVENTS):
        response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream))


@dataclass(frozen=True, slots=True)
class _Bounded(httpx2.AsyncByteStream):
    stream: httpx2.AsyncByteStream

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for piece in self.stream:
            length += len(piece)
            if length > LARGEST_ANSWER:
                raise httpx2.StreamError(f"The answer has more than {LARGEST_ANSWER} bytes.")
            yield piece

    @override
    async def aclose(self) -> None:
        await self.stream.aclose()


LARGEST_LINE = 16 << 20
_GRACE = 1.0
"""Seconds a program has to leave when its input ends, and again when it is asked to."""
_LONGEST_NOTE = 500

Incoming = ObjectSendStream[SessionMessage | Exception]
Outgoing = ObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def running(
    program: Program, hear: Callable[[str], None], gone: Callable[[], None]
) -> AsyncGenerator[tuple[Any, Any]]:
    """A program while inside; what it writes, and where to write to it.

    Each line that is not of the protocol is heard; gone is called when nothing more comes.

    Raises:
        OSError: It cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        program.command,
        *program.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(program.env),
        cwd=program.cwd,
        start_new_session=True,
        limit=LARGEST_LINE,
    )
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks, incoming, received, sent, outgoing:
        tasks.start_soon(_read, process, incoming, hear, gone)
        tasks.start_soon(_write, process, outgoing)
        tasks.start_soon(_note, process, hear)
        try:
            yield received, sent
        finally:
            # It has to end whatever happens to whoever used it.
            with anyio.CancelScope(shield=True):
                await _end(process)
            tasks.cancel_scope.cancel()


async def _read(
    process: asyncio.subprocess.Process,
    incoming: Incoming,
    hear: Callable[[str], None],
    gone: Callable[[], None],
) -> None:
    assert process.stdout is not None, "it was asked for"  # noqa: S101
    try:
        async with incoming:
            try:
                while line := await process.stdout.readline():
                    if (message := _message(line, hear)) is not None:
                        await incoming.send(message)
                    # Many lines may be there already, and others want their turn, too.
                    await asyncio.sleep(0)
            finally:
                # Known before anybody hears that nothing more comes.
                gone()
    except ValueError:
        hear(f"(a line of more than {LARGEST_LINE} bytes ends the conversation)")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        # Nobody listens any more.
        return


def _message(line: bytes, hear: Callable[[str], None]) -> SessionMessage | None:
    if not line.strip():
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        # Programs print greetings where they should not.
        hear(_line(line))
        return None


async def _write(process: asyncio.subprocess.Process, outgoing: Outgoing) -> None:
    assert process.stdin is not None, "it was asked for"  # noqa: S101
    # A program that has gone is noticed by whoever reads.
    with contextlib.suppress(ConnectionError):
        async for sent in outgoing:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()


async def _note(process: asyncio.subprocess.Process, hear: Callable[[str], None]) -> None:
    """Hear what a program complains about."""
    assert process.stderr is not None, "it was asked for"  # noqa: S101
    while True:
        try:
            line = await process.stderr.readline()
        except ValueError:
            continue
        if not line:
            return
        hear(_line(line))
        await asyncio.sleep(0)


def _line(line: bytes) -> str:
    text = line[: 4 * _LONGEST_NOTE].decode(errors="replace")
    return readable(" ".join(text.split()), _LONGEST_NOTE)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Let a program leave, make it leave, and then all it has started."""
    assert process.stdin is not None, "it was asked for"  # noqa: S101
    process.stdin.close()
    for urge in (None, signal.SIGTERM, signal.SIGKILL):
        if urge is not None:
            _signal(process, urge)
        try:
            await asyncio.wait_for(process.wait(), _GRACE)
            break
        except TimeoutError:
            continue
    # Its children may have stayed.
    _signal(process, signal.SIGKILL)
    # One that left the group may still hold a pipe; nobody reads it any more.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


def _signal(process: asyncio.subprocess.Process, which: signal.Signals) -> None:
    # It leads a group of its own, which has the same number.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, which)


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
) -> "McpSession":
    """Start a server, or reach it, and agree on a version of the protocol.

    None of its tools may have a name that is taken. An old one is of the first generation.

    Raises:
        Unavailable: It cannot be had.
    """
    for name in ("mcp", "client"):
        # The library's complaints would otherwise be printed into the conversation.
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
    conversation = McpSession(spec, taken, old=old)
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


class McpSession:
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
        self.stale = False
        """Whether the server said that its tools have changed."""
        self.hung_up = False
        """Whether a program ended by itself."""
        self._last_words = ""
        self._noted = 0

    @property
    def old(self) -> bool:
        """Whether the server is of the first generation."""
        return self.protocol in HANDSHAKE_PROTOCOL_VERSIONS

    @property
    def protocol(self) -> str:
        """The version of the protocol that is spoken."""
        return "" if self._client is None or self.over else self._client.protocol_version

    @property
    def over(self) -> bool:
        """Whether the other end has gone."""
        return self._gone or self._task is None or self._task.done()

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
        self.stale = False
        try:
            async with asyncio.timeout(STARTING):
                tools = await self._all_tools()
        except (MCPError, ValidationError, TimeoutError) as error:
            raise Unavailable(f"it does not list its tools: {_reason(error)}") from error
        found = [(tool.name, tool.description or "", tool.input_schema) for tool in tools]
        # Foreign schemas may be large.
        claims = {tool.name: _claim(tool.annotations) for tool in tools}
        return await asyncio.to_thread(listed, self._spec, found, self._taken, claims)

    async def call(self, tool: str, args: Mapping[str, Any]) -> Answer:
        """Call a tool by its own name."""
        if self.over or self._client is None:
            return CallNotRun("it ended by itself")
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
            return CallFailed("The answer of the server is not valid.")
        if isinstance(result, InputRequiredResult):
            return CallFailed("The server wants more than a call: that is not supported here.")
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
            reason = "it was ended"
        except Exception as error:  # noqa: BLE001 - the outermost handler around a foreign server
            said = f" ({self._last_words})" if self._last_words else ""
            reason = f"{_reason(error)}{said}"
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
        self._gone = self.hung_up = True

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.stale = True

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
            return CallCutOff(f"no answer within {self._spec.timeout:g} seconds")
        if error.code == CONNECTION_CLOSED:
            self._gone = True
            return CallCutOff("the server ended before it answered")
        if error.code == INVALID_REQUEST and error.message == "Session terminated":
            # The library's words for a server that was restarted and knows nothing of us.
            self._gone = True
            return CallNotRun("it does not know us any more")
        return CallFailed(error.message)


def _claim(hints: ToolAnnotations | None) -> Claim | None:
    if hints is None:
        return None
    if hints.read_only_hint:
        return Claim.READS
    return Claim.CHANGES if hints.open_world_hint is False else None


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
