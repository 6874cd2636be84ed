from dataclasses import replace

import pytest
from tests.unit.store.house import NOON, house, later

from long_running_agents.domain.model_card import MissingCapability, ModelCard
from long_running_agents.store import model_cards

pytestmark = pytest.mark.anyio

CARD = ModelCard(
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
            await database.write(lambda tx, card=card: model_cards.put(tx, card))

        assert await database.read(model_cards.every) == [other, newer]


async def test_an_examination_replaces_what_was_learned_before_it(tmp_path):
    lack = MissingCapability(
        endpoint=CARD.endpoint, model=CARD.model, what="native_tools", learned_at=NOON
    )
    other = replace(lack, model="other")
    newer = replace(lack, learned_at=later(5))
    async with house(tmp_path) as database:
        for each in (lack, other, newer):
            await database.write(lambda tx, each=each: model_cards.put_lack(tx, each))
        assert await database.read(model_cards.every_lack) == [other, newer]
        await database.write(lambda tx: model_cards.put(tx, CARD))

        assert await database.read(model_cards.every_lack) == [other]
