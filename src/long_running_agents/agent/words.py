"""The words of an answer, as they arrive; and the model that is being asked."""

from collections.abc import Callable, Sequence

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext
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
from long_running_agents.tools.ring import Ask, Ring

Choices = Callable[[], Sequence[Choice]]
"""The models to ask now: looked up at each step, so that a switch is heard at the next one."""


class Words(Ring):
    """Asks the chosen model, or its fallbacks, and passes the words on while they come."""

    def __init__(
        self,
        recorder: TurnRecorder,
        choices: Choices,
        *,
        retries: int,
        limits: Limits,
        clock: Clock,
    ) -> None:
        self.choices = choices
        self.answering = choices()[0].name
        """The model that answered last."""
        self.heard: list[str] = []
        """The words of the step under way: what a stopped turn leaves behind."""
        self._recorder = recorder
        self._retries = retries
        self._limits = limits
        self._clock = clock
        self._fallback: ModelFellBack | None = None

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        self.heard.clear()
        choices = self.choices()
        self.answering = choices[0].name
        self._fallback = None
        spent = self._recorder.spent
        self._recorder.whisper(
            StepBegan(
                iteration=spent.steps + 1,
                max_iterations=self._limits.steps,
                tokens_used=spent.total_tokens,
                token_budget=self._limits.tokens,
            )
        )
        context.model = ListeningModel(
            choices, retries=self._retries, clock=self._clock, listener=self
        )
        return await ask(context)

    def news(self) -> list[Event]:
        """What the step's facts should say about the model."""
        return [] if self._fallback is None else [self._fallback]

    def words(self, text: str) -> None:
        """A few more words arrived."""
        self.heard.append(text)
        self._recorder.whisper(WordsArrived(text=text, iteration=self._recorder.spent.steps + 1))

    def again(self, model: str, reason: str, wait: float) -> None:
        """A request failed; what was heard of this step is void."""
        self.heard.clear()
        self._recorder.whisper(
            RequestRetried(
                model=model,
                reason=reason,
                wait_seconds=wait,
                iteration=self._recorder.spent.steps + 1,
            )
        )

    def fell_back(self, asked: str, answering: str, reason: str) -> None:
        """Another model is asked from here on."""
        self.again(answering, reason, 0.0)
        self.answering = answering
        self._fallback = ModelFellBack(asked=asked, answered=answering, reason=reason)
