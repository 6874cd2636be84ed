"""What is known of models from before; and what they teach while they work is kept."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from long_running_agents.domain.card import Card
from long_running_agents.domain.lack import Lack
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.redaction import Redactor
from long_running_agents.models.ability import Ability, Learned, examined, lacking

BELIEVED = timedelta(days=30)
"""How long a lack is believed in. Servers are mended, and a model must not suffer for ever for what
its server could not do once: after this it is asked for everything again, and may refuse again."""

Keep = Callable[[Lack], Awaitable[None]]
"""Writes down what a model lacks."""

log = logging.getLogger(__name__)


class Findings:
    """Remembers cards and lacks, and writes new lacks down beside the work.

    Args:
        cards: What examinations have found.
        lacks: What models have taught.
        keep: Writes down what they teach from now on.
        clock: Tells how old a finding is.
        redact: Addresses are stored without their secrets, and found by that.
    """

    def __init__(
        self,
        cards: Sequence[Card],
        lacks: Sequence[Lack],
        *,
        keep: Keep,
        clock: Clock,
        redact: Redactor,
    ) -> None:
        self._cards = {(card.endpoint, card.model): card for card in cards}
        self._lacks = lacks
        self._keep = keep
        self._clock = clock
        self._redact = redact
        self._writing: set[asyncio.Task[None]] = set()

    def ability(self, endpoint: str, model: str) -> Ability:
        """What a model can do, as far as that is known and not too old to be believed."""
        since = self._clock.now() - BELIEVED
        key = (self._redact(endpoint), model)
        known = lacking(
            lack.what
            for lack in self._lacks
            if (lack.endpoint, lack.model) == key and lack.learned_at >= since
        )
        card = self._cards.get(key)
        return known if card is None or card.checked_at < since else known.without(examined(card))

    def window(self, endpoint: str, model: str) -> int | None:
        """The context window that an examination has found, however long ago.

        A window that is thought too small costs less than a beginning that nobody reads.
        """
        card = self._cards.get((self._redact(endpoint), model))
        return None if card is None else card.context_window

    def learned(self, endpoint: str, model: str) -> Learned:
        """Writes down what the model teaches."""

        def hear(new: frozenset[str]) -> None:
            now = self._clock.now()
            for what in sorted(new):
                lack = Lack(endpoint=endpoint, model=model, what=what, learned_at=now)
                task = asyncio.get_running_loop().create_task(self._write(lack))
                self._writing.add(task)
                task.add_done_callback(self._writing.discard)

        return hear

    async def close(self) -> None:
        """Wait for what is being written."""
        await asyncio.gather(*self._writing)

    async def _write(self, lack: Lack) -> None:
        try:
            await self._keep(lack)
        except Exception as error:  # noqa: BLE001 - the answer is worth more than a note about it
            log.warning("that %s lacks %s is not kept: %s", lack.model, lack.what, error)
