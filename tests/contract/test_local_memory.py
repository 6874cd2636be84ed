"""Memory with a real model in the loop. Shapes are checked, never wording."""

import asyncio

import pytest
from tests.integration.stories import ended, told

from long_running_agents.domain.events import MemoriesRecalled
from long_running_agents.domain.ids import SessionId
from long_running_agents.models.local.backends import LlamaEngine
from long_running_agents.models.local.catalog import SMOLLM
from long_running_agents.models.local.model import LocalModel
from long_running_agents.testing import make_app

pytestmark = pytest.mark.anyio

CONTEXT = 2048


@pytest.fixture
def engine(smollm):
    """An engine with room for what comes to mind."""
    engine = LlamaEngine(smollm, name=SMOLLM.name, context=CONTEXT, threads=1, idle_after=None)
    yield engine
    asyncio.run(engine.unload())


LATER = SessionId("later")


async def test_a_real_model_is_told_in_a_new_session_what_was_said_in_another(tmp_path, engine):
    options = {"agent__tools__allow": (), "agent__model__max_tokens": 12}
    async with make_app(tmp_path, model=LocalModel(engine), **options) as app:
        await ended(app, "My dog is called Rex.")
    async with make_app(tmp_path, model=LocalModel(engine), **options) as app:
        turn = await ended(app, "What is my dog called?", session=LATER)

        assert turn.answer, turn.error
        assert turn.spent.tool_calls == 0
        [recalled] = await told(app, MemoriesRecalled, session=LATER)
        assert recalled.memories[0].text == "My dog is called Rex."
        assert recalled.memories[0].session_id == "talk"
