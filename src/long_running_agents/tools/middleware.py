"""Middleware around every model request and every tool call, and its order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition
from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import CorruptData, LraError, StorageFailed

Ask = Callable[[ModelRequestContext], Awaitable[ModelResponse]]
"""The rest of a model request: the middleware further in, and at last the model."""

Run = Callable[[], Awaitable[Any]]
"""The rest of a tool call: the middleware further in, and at last the tool."""


class Middleware:
    """One concern. It overrides what it cares about and lets the rest pass."""

    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        """Surround a model request."""
        return await ask(context)

    def meet(self, tool: ToolDefinition) -> None:
        """Hear what a tool says of itself, before a call of it."""

    async def call(self, call: ToolCallPart, run: Run) -> Any:
        """Surround a tool call."""
        del call
        return await run()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMiddleware:
    """The middleware of a turn. The order of the fields is its order: the outermost first."""

    observers: Middleware | None = None
    """Lets others see all that happens, if anybody does."""
    gate: Middleware
    """Runs, asks about or refuses a call, before anything is written of its run."""
    ledger: Middleware
    """Writes requests and calls down; it has the gate judge each call when the model makes it."""
    recall: Middleware
    """Adds what is remembered to a request, before that is measured."""
    project: Middleware
    """Adds what folders say of themselves that the turn has touched."""
    structured_output: Middleware
    """Asks for the form that the client wants."""
    pictures: Middleware
    """Puts pictures into a request."""
    work: Middleware | None = None
    """Tells a turn where its work stands and that it goes in circles, or ends it."""
    context_window: Middleware
    """Cuts a request to the window of the model."""
    budget: Middleware
    """Ends the turn at its limits."""
    containment: Middleware
    """Makes something that a model can read of a tool's failure, delay or overlong result."""
    streaming: Middleware
    """Asks the model, again if that fails, and passes its words on."""

    def stack(self) -> "MiddlewareStack":
        """The middleware for a run, in its order."""
        order = (getattr(self, field.name) for field in fields(self))
        return MiddlewareStack([each for each in order if each is not None])


class MiddlewareStack:
    """All middleware of one run, the outermost first."""

    def __init__(self, middleware: Sequence[Middleware]) -> None:
        self._requests = _overriding(middleware, "request")
        self._calls = _overriding(middleware, "call")
        self._meeting = _overriding(middleware, "meet")

    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        """Pass a model request through all of it."""
        for each in self._requests:
            ask = partial(each.request, ask=ask)
        return await ask(context)

    async def call(self, call: ToolCallPart, tool: ToolDefinition, run: Run) -> Any:
        """Pass a tool call through all of it."""
        for each in self._meeting:
            each.meet(tool)
        for each in self._calls:
            run = partial(each.call, call, run)
        return await run()


def _overriding(middleware: Sequence[Middleware], method: str) -> list[Middleware]:
    """Those that care, innermost first."""
    return [
        each
        for each in reversed(middleware)
        if getattr(type(each), method) is not getattr(Middleware, method)
    ]


class GivenUp(ToolFailed):
    """A tool did not finish in time; nobody knows what it has done or may still do."""


class Delegated(CallDeferred):
    """Another agent does what a call asks for; its receipt will be the result."""


class CodeFailed(ToolFailed):
    """Code ran and failed; what it printed before that is its message, whoever's words it is."""


class ErrorContainment(Middleware):
    """Turns a tool's exceptions and overlong runs and results into something a model can read."""

    def __init__(
        self, *, timeout: float, result_limit: int, clock: Clock, redact: Redactor
    ) -> None:
        self._timeout = timeout
        self._result_limit = result_limit
        self._clock = clock
        self._redact = redact

    @override
    async def call(self, call: ToolCallPart, run: Run) -> Any:
        try:
            result = await self._in_time(call.tool_name, run())
        except CodeFailed as error:
            raise CodeFailed(self._cut(error.message)) from None
        except (ToolFailed, ModelRetry, ApprovalRequired, CallDeferred):
            raise
        except (StorageFailed, CorruptData):
            # Our own disk, not the tool: the turn cannot go on.
            raise
        except LraError as error:
            raise ToolFailed(str(error)) from error
        except Exception as error:  # The outermost layer around foreign code.
            raise ToolFailed(f"{type(error).__name__}: {error}") from error
        return self._cut(result)

    async def _in_time(self, tool: str, work: Awaitable[Any]) -> Any:
        # A task of its own: a tool that runs in a thread cannot be cancelled, only left behind.
        running = asyncio.ensure_future(work)
        running.add_done_callback(_hear_out)
        try:
            if await self._clock.wait(running, self._timeout):
                return running.result()
        finally:
            running.cancel()
        raise GivenUp(f"{tool} took longer than {self._timeout:g} seconds and was given up.")

    def _cut(self, result: Any) -> Any:
        if isinstance(result, str) and len(result) > self._result_limit:
            # A secret cut in two would no longer be known for one.
            whole = self._redact(result)
            rest = len(whole) - self._result_limit
            return f"{whole[: self._result_limit]}\n[… {rest} more characters were cut]"
        # The library sends an empty list as an empty text.
        return "[]" if result == [] else result


def _hear_out(finished: asyncio.Future[Any]) -> None:
    """Take note of how a tool ended that nobody waits for any more."""
    if not finished.cancelled():
        finished.exception()
