"""Whatever goes wrong inside a tool goes back to the model, never further."""

import asyncio
from dataclasses import dataclass
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import ValidatedToolArgs, WrapToolExecuteHandler
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import RunContext, ToolDefinition
from typing_extensions import override

from long_running_agents.domain.ports import Clock
from long_running_agents.errors import CorruptData, LraError, StorageFailed
from long_running_agents.tools.deps import TurnDeps


@dataclass
class Containment(AbstractCapability[TurnDeps]):
    """Turns a tool's exceptions and overlong runs and results into something a model can read."""

    timeout: float
    """Seconds a call may take."""
    result_limit: int
    """Longest text result, in characters."""
    clock: Clock

    @override
    async def wrap_tool_execute(
        self,
        ctx: RunContext[TurnDeps],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: ValidatedToolArgs,
        handler: WrapToolExecuteHandler,
    ) -> Any:
        try:
            result = await self._in_time(call.tool_name, handler(args))
        except (ToolFailed, ModelRetry, ApprovalRequired, CallDeferred):
            raise
        except (StorageFailed, CorruptData):
            # Our own disk, not the tool: the turn cannot go on.
            raise
        except LraError as error:
            raise ToolFailed(str(error)) from error
        except Exception as error:  # The outermost ring around foreign code.
            raise ToolFailed(f"{type(error).__name__}: {error}") from error
        return self._cut(result)

    async def _in_time(self, tool: str, work: Any) -> Any:
        # A task of its own: a tool that runs in a thread cannot be cancelled, only left behind.
        running = asyncio.ensure_future(work)
        try:
            if await self.clock.wait(running, self.timeout):
                return running.result()
        finally:
            running.cancel()
        raise ToolFailed(f"{tool} took longer than {self.timeout:g} seconds and was given up.")

    def _cut(self, result: Any) -> Any:
        if isinstance(result, str) and len(result) > self.result_limit:
            rest = len(result) - self.result_limit
            return f"{result[: self.result_limit]}\n[… {rest} more characters were cut]"
        return result
