"""The words of an answer, as they arrive; and the model that is being asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext
from typing_extensions import override

from long_running_agents.agent.recorder import TurnRecorder
from long_running_agents.domain.budget import Limits
from long_running_agents.domain.events import (
    Event,
    ModelFellBack,
    RequestRetried,
    StepBegan,
    WordsArrived,
)
from long_running_agents.domain.ports import Clock
from long_running_agents.models.listening import Choice, ListeningModel
from long_running_agents.tools.deps import TurnDeps


@dataclass
class Words(AbstractCapability[TurnDeps]):
    """Asks the chosen model, or its fallbacks, and passes the words on while they come."""

    recorder: TurnRecorder
    choices: Sequence[Choice]
    retries: int
    limits: Limits
    clock: Clock
    answering: str = ""
    """The model that answered last."""
    heard: list[str] = field(default_factory=list[str])
    """The words of the step under way: what a stopped turn leaves behind."""
    _fallback: ModelFellBack | None = None

    @override
    async def before_model_request(
        self, ctx: RunContext[TurnDeps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self.heard.clear()
        self.answering = self.choices[0].name
        self._fallback = None
        spent = self.recorder.spent
        self.recorder.whisper(
            StepBegan(
                iteration=spent.steps + 1,
                max_iterations=self.limits.steps,
                tokens_used=spent.total_tokens,
                token_budget=self.limits.tokens,
            )
        )
        request_context.model = ListeningModel(
            self.choices, retries=self.retries, clock=self.clock, listener=self
        )
        return request_context

    def news(self) -> list[Event]:
        """What the step's facts should say about the model."""
        return [] if self._fallback is None else [self._fallback]

    def words(self, text: str) -> None:
        """A few more words arrived."""
        self.heard.append(text)
        self.recorder.whisper(WordsArrived(text=text, iteration=self.recorder.spent.steps + 1))

    def again(self, model: str, reason: str, wait: float) -> None:
        """A request failed; what was heard of this step is void."""
        self.heard.clear()
        self.recorder.whisper(
            RequestRetried(
                model=model,
                reason=reason,
                wait_seconds=wait,
                iteration=self.recorder.spent.steps + 1,
            )
        )

    def fell_back(self, asked: str, answering: str, reason: str) -> None:
        """Another model is asked from here on."""
        self.again(answering, reason, 0.0)
        self.answering = answering
        self._fallback = ModelFellBack(asked=asked, answered=answering, reason=reason)
