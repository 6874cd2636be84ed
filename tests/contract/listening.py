"""A listening model with notes of what was heard, and a clock that moves when it waits."""

import asyncio

from tests.contract.serving import GO, PARAMETERS

from long_running_agents.models.retry import FallbackChoice, RetryingModel
from long_running_agents.testing import FrozenClock


class Notes:
    """A listener that writes everything down."""

    def __init__(self):
        self.heard = []

    def words(self, text):
        self.heard.append(text)

    def again(self, model, reason, wait):
        self.heard.append(("again", model, wait))

    def fell_back(self, asked, answering, reason):
        self.heard.append(("fell back", asked, answering))


class Listening:
    """A listening model with its clock and its notes."""

    def __init__(self, *choices, retries=2):
        self.clock = FrozenClock()
        self.notes = Notes()
        self.model = RetryingModel(
            [FallbackChoice(name, model) for name, model in choices],
            retries=retries,
            clock=self.clock,
            listener=self.notes,
        )

    async def ask(self):
        """Ask, letting time pass whenever the model waits for it."""
        task = asyncio.create_task(self.model.request(GO, None, PARAMETERS))
        async with asyncio.timeout(200):
            while not task.done():
                if self.clock.sleepers:
                    await self.clock.advance(60)
                await asyncio.wait([task], timeout=0.01)
        return task.result()
