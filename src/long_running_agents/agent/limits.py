"""The budget of a turn, checked before each request."""

from dataclasses import replace

from pydantic_ai.messages import ModelResponse
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
from long_running_agents.models.pricing import characters
from long_running_agents.tools.ring import Ask, Ring


class BudgetGuard(Ring):
    """Stops a turn before a request that its budget does not cover."""

    def __init__(self, recorder: TurnRecorder, limits: Limits) -> None:
        self.hit: LimitHit | None = None
        self._recorder = recorder
        self._limits = limits

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        # Only a limit on tokens needs to know how long the request is.
        needed = 0
        if self._limits.tokens is not None:
            needed = estimate_tokens(sum(characters(m) for m in context.messages))
        spent = replace(self._recorder.spent, seconds=self._recorder.seconds())
        self.hit = limit_before_request(spent, self._limits, next_tokens=needed)
        if self.hit is not None:
            raise LimitReached(self.hit.sentence)
        most = remaining_output(spent, self._limits, next_tokens=needed)
        if most is not None:
            settings = context.model_settings or ModelSettings()
            bound = min(settings["max_tokens"], most) if "max_tokens" in settings else most
            context.model_settings = merge_model_settings(settings, ModelSettings(max_tokens=bound))
        return await ask(context)
