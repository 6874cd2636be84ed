from dataclasses import replace

import pytest
from tests.unit.store.house import NOON, house

from long_running_agents.domain.card import Card
from long_running_agents.store import cards

pytestmark = pytest.mark.anyio

CARD = Card(
    endpoint="http://127.0.0.1:1234/v1",
    model="qwen",
    native_tools=True,
    text_tools=False,
    streaming=True,
    streamed_calls=False,
    usage=True,
    context_window=4096,
    cuts_silently=True,
    checked_at=NOON,
)


async def test_the_latest_card_of_a_model_is_kept(tmp_path):
    newer = replace(CARD, context_window=None, native_tools=False)
    other = replace(CARD, model="other")
    async with house(tmp_path) as database:
        for card in (CARD, other, newer):
            await database.write(lambda tx, card=card: cards.put(tx, card))

        assert await database.read(cards.every) == [other, newer]
        found = await database.read(lambda tx: cards.find(tx, CARD.endpoint, "qwen"))
        assert found == newer
        assert await database.read(lambda tx: cards.find(tx, "elsewhere", "qwen")) is None
