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
    PromptTruncated,
    RequestRetried,
    StepBegan,
    WordsArrived,
)
from long_running_agents.domain.ports import Clock
from long_running_agents.models.listening import Choice, ListeningModel
from long_running_agents.models.truncation import Truncation, taken
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
        self._truncated: PromptTruncated | None = None
        self._known_to_truncate: set[str] = set()

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        self.heard.clear()
        choices = self.choices()
        self.answering = choices[0].name
        self._fallback = self._truncated = None
        spent = self._recorder.spent
        self._recorder.whisper(
            StepBegan(
                iteration=spent.steps + 1,
                max_iterations=self._limits.steps,
                tokens_used=spent.total_tokens,
                token_budget=self._limits.tokens,
                task_summary=await self._recorder.task_summary(),
            )
        )
        context.model = ListeningModel(
            choices, retries=self._retries, clock=self._clock, listener=self
        )
        response, truncation = taken(await ask(context))
        if truncation is not None:
            await self._warn(truncation, choices)
        return response

    async def _warn(self, truncation: Truncation, choices: Sequence[Choice]) -> None:
        """Say that the model does not see all of it, unless this session has heard so."""
        model = self.answering
        if model in self._known_to_truncate:
            return
        self._known_to_truncate.add(model)
        roomier = {choice.name: choice.roomier for choice in choices}[model]
        fitted = f"Or set agent.model.context_window to {truncation.read}: requests then fit."
        news = PromptTruncated(
            model=model,
            sent_tokens=truncation.sent,
            window=truncation.read,
            hint=f"{roomier} {fitted}".lstrip(),
        )
        told = await self._recorder.told(news.type)
        if not any(isinstance(each, PromptTruncated) and each.model == model for each in told):
            self._truncated = news

    def news(self) -> list[Event]:
        """What the step's facts should say about the model."""
        return [event for event in (self._fallback, self._truncated) if event is not None]

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
