"""Rings: the concerns around every model request and every tool call, outermost first.

The agent library has a place for each such concern, the *capability*, and copies its run context
for every capability at every hook. We are one capability to it, and many rings inside.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import (
    ValidatedToolArgs,
    WrapModelRequestHandler,
    WrapToolExecuteHandler,
)
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext, ToolDefinition
from typing_extensions import override

from long_running_agents.tools.deps import TurnDeps

Ask = Callable[[ModelRequestContext], Awaitable[ModelResponse]]
"""The rest of a model request: the rings further in, and at last the model."""

Run = Callable[[], Awaitable[Any]]
"""The rest of a tool call: the rings further in, and at last the tool."""


class Ring:
    """One concern. A ring overrides what it cares about and lets the rest pass."""

    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        """Surround a model request."""
        return await ask(context)

    def meet(self, tool: ToolDefinition) -> None:
        """Hear what a tool says of itself, before a call of it."""

    async def call(self, call: ToolCallPart, run: Run) -> Any:
        """Surround a tool call."""
        del call
        return await run()


@dataclass
class Rings(AbstractCapability[TurnDeps]):
    """All rings of one run."""

    rings: Sequence[Ring]

    def __post_init__(self) -> None:
        self._requests = _overriding(self.rings, "request")
        self._calls = _overriding(self.rings, "call")
        self._meeting = _overriding(self.rings, "meet")

    @override
    async def wrap_model_request(
        self,
        ctx: RunContext[TurnDeps],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        ask: Ask = handler
        for ring in self._requests:
            ask = partial(ring.request, ask=ask)
        return await ask(request_context)

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
        for ring in self._meeting:
            ring.meet(tool_def)
        run: Run = partial(handler, args)
        for ring in self._calls:
            run = partial(ring.call, call, run)
        return await run()


def _overriding(rings: Sequence[Ring], method: str) -> list[Ring]:
    """The rings that care, innermost first."""
    return [
        ring for ring in reversed(rings) if getattr(type(ring), method) is not getattr(Ring, method)
    ]
