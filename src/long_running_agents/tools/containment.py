"""Whatever goes wrong inside a tool goes back to the model, never further."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    ToolFailed,
    ToolFailedError,
)
from pydantic_ai.messages import ToolCallPart
from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import CorruptData, LraError, StorageFailed
from long_running_agents.tools.ring import Ring, Run


class GivenUp(ToolFailed):
    """A tool did not finish in time; nobody knows what it has done or may still do."""


class Containment(Ring):
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
        except (ToolFailed, ModelRetry, ApprovalRequired, CallDeferred):
            raise
        except ToolFailedError as error:
            # What a tool raised, in an envelope of the library's.
            raise error.__cause__ or ToolFailed(str(error)) from None
        except (StorageFailed, CorruptData):
            # Our own disk, not the tool: the turn cannot go on.
            raise
        except LraError as error:
            raise ToolFailed(str(error)) from error
        except Exception as error:  # The outermost ring around foreign code.
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
        return result


def _hear_out(finished: asyncio.Future[Any]) -> None:
    """Take note of how a tool ended that nobody waits for any more."""
    if not finished.cancelled():
        finished.exception()
