"""The window in the wall: lets onlookers see how models are asked."""

import asyncio

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import ModelRequestContext
from typing_extensions import override

from long_running_agents.agent.onlookers import Asked, Onlookers
from long_running_agents.agent.recorder import TurnRecorder
from long_running_agents.agent.words import Words
from long_running_agents.domain.ports import Clock
from long_running_agents.errors import LimitReached
from long_running_agents.tools.ring import Ask, Ring


class Watching(Ring):
    """Tells how each request went, and what the books say it took.

    It stands outside of whoever writes the books, so that they are up to date when it looks.
    """

    def __init__(
        self, recorder: TurnRecorder, words: Words, onlookers: Onlookers, clock: Clock
    ) -> None:
        self._recorder = recorder
        self._words = words
        self._onlookers = onlookers
        self._clock = clock

    @override
    async def request(self, context: ModelRequestContext, ask: Ask) -> ModelResponse:
        tools = context.model_request_parameters.function_tools
        self._onlookers.offered(tool.name for tool in tools)
        before, since = self._recorder.spent, self._clock.monotonic()
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
                after = self._recorder.spent
                self._onlookers.asked(
                    Asked(
                        model=self._words.answering,
                        outcome=outcome,
                        seconds=self._clock.monotonic() - since,
                        input_tokens=after.input_tokens - before.input_tokens,
                        output_tokens=after.output_tokens - before.output_tokens,
                        cost=after.cost - before.cost,
                    )
                )
        return response
