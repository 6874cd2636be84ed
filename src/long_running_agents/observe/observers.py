"""Observers: whoever counts or traces what is done for all owners, and changes nothing."""

import asyncio
from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.usage import RunUsage
from typing_extensions import override

from long_running_agents.agent.model_request import ModelStreaming
from long_running_agents.agent.recorder import TurnRecorder
from long_running_agents.domain.events import EventEnvelope
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.turn import Turn
from long_running_agents.errors import LimitReached
from long_running_agents.tools.middleware import Ask, Middleware, Run

INTERRUPTED = "interrupted"
"""How a stretch of work ends that was cut off: the turn goes on when the home is opened again."""


@dataclass(slots=True)
class TurnObservation:
    """A turn at work, from where it is picked up to where it comes to rest."""

    turn: Turn
    status: str = INTERRUPTED
    """Where it came to; known at the end."""


@dataclass(slots=True)
class RunObservation:
    """The step loop at work."""

    turn: Turn
    model: str
    messages: Sequence[ModelMessage]
    """The conversation, as it grows."""
    usage: RunUsage
    output: str | None = None
    """The answer; known at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequestObservation:
    """A model was asked, retries and fallbacks included."""

    model: str
    """The one that answered, or was asked last."""
    outcome: str
    """done, failed or stopped."""
    seconds: float
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    """US dollars, as far as prices are known."""


class Observer:
    """Sees what happens. It overrides what it cares about, returns quickly and raises nothing."""

    def on_event(self, recorded: EventEnvelope) -> None:
        """See something that was stored, whoever's it is."""

    def turn(self, seen: TurnObservation) -> AbstractContextManager[None]:
        """Be there while a turn is at work."""
        del seen
        return nullcontext()

    def on_model_request(self, asked: ModelRequestObservation) -> None:
        """See that a model was asked."""

    def on_tools_offered(self, tools: Iterable[str]) -> None:
        """See which tools a model may call."""

    def on_loop_lag(self, seconds: float) -> None:
        """See how late the event loop was."""

    def run(self, seen: RunObservation) -> AbstractContextManager[None]:
        """Be there while the step loop is at work."""
        del seen
        return nullcontext()

    def model(self, model: Model) -> Model:
        """The model, seen from where a request goes out to it."""
        return model

    async def call(self, call: ToolCallPart, run: Run) -> Any:
        """Be there while a tool is called."""
        del call
        return await run()


class Observers(Observer):
    """All observers as one. Most homes have none, and pay nothing."""

    def __init__(self) -> None:
        self._all: list[Observer] = []

    @property
    def present(self) -> bool:
        """Whether anybody looks."""
        return bool(self._all)

    def attend(self, observer: Observer) -> None:
        """See everything from now on."""
        self._all.append(observer)

    def on_event(self, recorded: EventEnvelope) -> None:
        """Tell all of them."""
        for each in self._all:
            each.on_event(recorded)

    @contextmanager
    def turn(self, seen: TurnObservation) -> Generator[None]:
        """Have all of them there."""
        with ExitStack() as stack:
            for each in self._all:
                stack.enter_context(each.turn(seen))
            yield

    def on_model_request(self, asked: ModelRequestObservation) -> None:
        """Tell all of them."""
        for each in self._all:
            each.on_model_request(asked)

    def on_tools_offered(self, tools: Iterable[str]) -> None:
        """Tell all of them."""
        for each in self._all:
            each.on_tools_offered(tools)

    def on_loop_lag(self, seconds: float) -> None:
        """Tell all of them."""
        for each in self._all:
            each.on_loop_lag(seconds)

    @contextmanager
    def run(self, seen: RunObservation) -> Generator[None]:
        """Have all of them there."""
        with ExitStack() as stack:
            for each in self._all:
                stack.enter_context(each.run(seen))
            yield

    def model(self, model: Model) -> Model:
        """Seen by all of them."""
        for each in self._all:
            model = each.model(model)
        return model

    async def call(self, call: ToolCallPart, run: Run) -> Any:
        """Have all of them there."""
        for each in self._all:
            run = partial(each.call, call, run)
        return await run()


@dataclass(frozen=True, slots=True)
class ObserverMiddleware(Middleware):
    """Tells how each request went, and what the books say it took.

    It stands outside of whoever writes the books, so that they are up to date when it looks.
    """

    recorder: TurnRecorder
    words: ModelStreaming
    observers: Observers
    clock: Clock

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        tools = context.model_request_parameters.function_tools
        self.observers.on_tools_offered(tool.name for tool in tools)
        before, since = self.recorder.spent, self.clock.monotonic()
        outcome = "failed"
        try:
            response = await ask(context)
            outcome = "done"
        except LimitReached:
            # Nobody was asked.
            outcome = ""
            raise
        except asyncio.CancelledError:
            outcome = "stopped"
            raise
        finally:
            if outcome:
                after = self.recorder.spent
                self.observers.on_model_request(
                    ModelRequestObservation(
                        model=self.words.answering,
                        outcome=outcome,
                        seconds=self.clock.monotonic() - since,
                        input_tokens=after.input_tokens - before.input_tokens,
                        output_tokens=after.output_tokens - before.output_tokens,
                        cost=after.cost - before.cost,
                    )
                )
        return response

    @override
    async def call(self, call: ToolCallPart, run: Run) -> Any:
        return await self.observers.call(call, run)
