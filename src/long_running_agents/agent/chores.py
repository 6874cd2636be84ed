"""Chores: small things a program asks beside a conversation, such as a title for it.

The model answers, and that is all: no session, no tools, no memory, and no place in any line. What
it used is on the books like everything else.
"""

from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from long_running_agents.agent import transcript
from long_running_agents.domain.budget import (
    Limits,
    Spent,
    Usage,
    estimate_tokens,
    limit_before_request,
    remaining_output,
)
from long_running_agents.domain.ids import SessionId, TurnId, new_id
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LimitReached
from long_running_agents.models.factory import ModelSource
from long_running_agents.models.listening import ListeningModel
from long_running_agents.models.pricing import PriceList
from long_running_agents.store import usage
from long_running_agents.store.database import Database

NO_SESSION = SessionId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """What is asked."""

    instructions: str
    words: str
    model: str | None = None
    """Another model than the configured one."""
    most: int | None = None
    """Tokens that the answer may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of it."""

    text: str
    usage: Usage


class _Deaf:
    """Nobody listens to the words of a chore."""

    def __init__(self, model: str) -> None:
        self.answering = model

    def words(self, text: str) -> None:
        del text

    def again(self, model: str, reason: str, wait: float) -> None:
        del model, reason, wait

    def fell_back(self, asked: str, answering: str, reason: str) -> None:
        del asked, reason
        self.answering = answering


class Chores:
    """Runs chores.

    Args:
        database: Where usage is written down.
        clock: Tells the time.
        models: Whoever knows which models to ask.
        limits: What a turn may use, and so a chore.
        retries: How often a request is made again.
    """

    def __init__(
        self, database: Database, clock: Clock, models: ModelSource, limits: Limits, retries: int
    ) -> None:
        self._database = database
        self._clock = clock
        self._models = models
        self._limits = limits
        self._retries = retries
        self._prices = PriceList()

    async def run(self, owner: str, chore: Chore) -> Done:
        """Let the model answer.

        Raises:
            LimitReached: The budget of a turn does not cover it.
        """
        choices = self._models.choices(chore.model)
        listener = _Deaf(choices[0].name)
        model = ListeningModel(choices, retries=self._retries, clock=self._clock, listener=listener)
        messages = _messages(chore)
        settings = self._settings(chore, choices[0].model)
        response = await model.request(messages, settings, ModelRequestParameters())
        used = self._prices.usage_of(response, messages)
        await self._note(owner, listener.answering, used)
        return Done(text=transcript.text_of(response), usage=used)

    def _settings(self, chore: Chore, model: Model) -> ModelSettings:
        needed = estimate_tokens(len(chore.instructions) + len(chore.words))
        hit = limit_before_request(
            Spent(),
            self._limits,
            next_tokens=needed,
            next_cost=self._prices.of_request(model, needed),
        )
        if hit is not None:
            raise LimitReached(f"This is more than a turn may use: {hit.sentence}.")
        left = remaining_output(Spent(), self._limits, next_tokens=needed)
        bounds = [bound for bound in (chore.most, left) if bound is not None]
        return ModelSettings(max_tokens=min(bounds)) if bounds else ModelSettings()

    async def _note(self, owner: str, model: str, used: Usage) -> None:
        now = self._clock.now()
        chore = TurnId(new_id("chore", now))
        await self._database.write(
            lambda tx: usage.record(tx, NO_SESSION, chore, 1, model, used, now, owner=owner)
        )


def _messages(chore: Chore) -> list[ModelMessage]:
    told = [SystemPromptPart(chore.instructions)] if chore.instructions else []
    return [ModelRequest(parts=[*told, UserPromptPart(chore.words)])]
