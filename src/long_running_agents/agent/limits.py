"""The budget of a turn, checked before each request."""

from dataclasses import dataclass, field, replace

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.tools import RunContext
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
from long_running_agents.tools.deps import TurnDeps


@dataclass
class BudgetGuard(AbstractCapability[TurnDeps]):
    """Stops a turn before a request that its budget does not cover."""

    recorder: TurnRecorder
    limits: Limits
    hit: LimitHit | None = field(default=None, init=False)

    @override
    async def before_model_request(
        self, ctx: RunContext[TurnDeps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        # Only a limit on tokens needs to know how long the request is.
        needed = 0
        if self.limits.tokens is not None:
            needed = estimate_tokens(sum(characters(m) for m in request_context.messages))
        spent = replace(self.recorder.spent, seconds=self.recorder.seconds())
        self.hit = limit_before_request(spent, self.limits, next_tokens=needed)
        if self.hit is not None:
            raise LimitReached(self.hit.sentence)
        most = remaining_output(spent, self.limits, next_tokens=needed)
        if most is not None:
            settings = request_context.model_settings or ModelSettings()
            bound = min(settings["max_tokens"], most) if "max_tokens" in settings else most
            request_context.model_settings = merge_model_settings(
                settings, ModelSettings(max_tokens=bound)
            )
        return request_context
