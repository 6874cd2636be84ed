import asyncio

import httpx2
import pytest
from pydantic_ai.concurrency import ConcurrencyLimiter
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.concurrency import ConcurrencyLimitedModel

from long_running_agents.config.settings import ModelSettings
from long_running_agents.models.factory import ModelFactory
from long_running_agents.testing import ScriptedModel, hang, say

pytestmark = pytest.mark.anyio

GO = [ModelRequest.user_text_prompt("go")]
NOTHING = ModelRequestParameters()


class Door:
    """A network whose answers wait until somebody opens."""

    def __init__(self):
        self.open = asyncio.Event()
        self.inside = []
        self.client = httpx2.AsyncClient(transport=httpx2.MockTransport(self.answer))

    async def answer(self, request):
        self.inside.append(str(request.url.host))
        await self.open.wait()
        self.inside.remove(str(request.url.host))
        choice = {"message": {"content": "hi"}, "finish_reason": "stop"}
        return httpx2.Response(200, json={"choices": [choice]})


async def settle():
    for _ in range(50):
        await asyncio.sleep(0)


async def stream(model):
    async with model.request_stream(GO, None, NOTHING) as response:
        async for _ in response:
            pass


@pytest.fixture
async def door(model_requests):
    made = Door()
    yield made
    await made.client.aclose()


async def test_a_provider_gets_only_so_many_requests_at_once(door):
    made = ModelFactory(ModelSettings(concurrency=2), {"OPENAI_API_KEY": "k"}, door.client)
    names = ("ollama:a", "ollama:b", "ollama:a", "openai:c")
    models = [made.choices(name)[0].model for name in names]
    tasks = [asyncio.create_task(model.request(GO, None, NOTHING)) for model in models]
    await settle()
    waiting = sorted(door.inside)
    door.open.set()
    await asyncio.gather(*tasks)

    assert waiting == ["127.0.0.1", "127.0.0.1", "api.openai.com"]


async def test_those_who_wait_are_served_in_order():
    limit = ConcurrencyLimiter(1)
    order = []

    async def one(number):
        await stream(ConcurrencyLimitedModel(ScriptedModel([say("x")]), limit))
        order.append(number)

    await asyncio.gather(*(one(number) for number in range(5)))

    assert order == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_stop_gives_the_place_back(streamed):
    limit = ConcurrencyLimiter(1)
    hanging = ConcurrencyLimitedModel(ScriptedModel([hang()]), limit)
    waiting = ConcurrencyLimitedModel(ScriptedModel([say("never")]), limit)

    def begin(model):
        asked = stream(model) if streamed else model.request(GO, None, NOTHING)
        return asyncio.create_task(asked)

    first, second = begin(hanging), begin(waiting)
    await settle()
    assert limit.available_count == 0
    for task in (second, first):
        task.cancel()
    await asyncio.gather(first, second, return_exceptions=True)

    await stream(ConcurrencyLimitedModel(ScriptedModel([say("ok")]), limit))
    assert limit.available_count == 1


async def test_a_failure_gives_the_place_back(door):
    limit = ConcurrencyLimiter(1)
    model = ConcurrencyLimitedModel(ScriptedModel([]), limit)

    for _ in range(2):
        with pytest.raises(Exception, match="asked for another"):
            await stream(model)
    assert limit.available_count == 1
