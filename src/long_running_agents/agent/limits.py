"""The budget of a turn, checked before each request."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.settings import ModelSettings, merge_model_settings
from typing_extensions import override

from long_running_agents.agent.recorder import TurnRecorder
from long_running_agents.domain.budget import (
    LimitHit,
    Limits,
    estimate_tokens,
    limit_before_request,
    remaining_output,
)
from long_running_agents.errors import LimitReached
from long_running_agents.models.pricing import PriceList, characters
from long_running_agents.tools.ring import Ask, Ring, Run


class BudgetGuard(Ring):
    """Stops a turn before a request that its budget does not cover, and calls beyond it."""

    def __init__(self, recorder: TurnRecorder, limits: Limits, prices: PriceList) -> None:
        self.hit: LimitHit | None = None
        self._recorder = recorder
        self._limits = limits
        self._prices = prices

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        # Only a limit on tokens or money needs to know how long the request is.
        measured = self._limits.tokens is not None or self._limits.cost is not None
        needed = _tokens(context) if measured else 0
        spent = replace(self._recorder.spent, seconds=self._recorder.seconds())
        self.hit = limit_before_request(
            spent,
            self._limits,
            next_tokens=needed,
            next_cost=self._prices.of_request(context.model, needed) if measured else Decimal(0),
        )
        if self.hit is not None:
            raise LimitReached(self.hit.sentence)
        most = remaining_output(spent, self._limits, next_tokens=needed)
        if most is not None:
            settings = context.model_settings or ModelSettings()
            bound = min(settings["max_tokens"], most) if "max_tokens" in settings else most
            context.model_settings = merge_model_settings(settings, ModelSettings(max_tokens=bound))
        return await ask(context)

    @override
    async def call(self, call: ToolCallPart, run: Run) -> Any:
        most = self._limits.tool_calls
        if most is not None and list(self._recorder.calls).index(call.tool_call_id) >= most:
            raise ToolFailed(f"Not run: all {most} tool calls of this turn are used.")
        return await run()


def _tokens(context: ModelRequestContext) -> int:
    parameters = context.model_request_parameters
    length = sum(characters(message) for message in context.messages)
    length += sum(len(part.content) for part in parameters.instruction_parts or ())
    length += sum(
        len(tool.description or "") + len(str(tool.parameters_json_schema))
        for tool in parameters.function_tools
    )
    return estimate_tokens(length)
