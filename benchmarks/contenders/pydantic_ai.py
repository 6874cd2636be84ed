"""Bare Pydantic AI: nothing is stored, the whole history is sent."""

from collections.abc import AsyncIterable
from pathlib import Path

from pydantic_ai import Agent, AgentStreamEvent, RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.contenders import API_KEY, MODEL, Steps, old_text, prompt, stored_messages


async def read_events(_: RunContext[None], events: AsyncIterable[AgentStreamEvent]) -> None:
    """Read every event, as a product that shows them would."""
    async for _event in events:
        pass


def history(count: int) -> list[ModelMessage]:
    """Return an older talk of that many messages."""
    return [
        ModelResponse(parts=[TextPart(old_text(number))])
        if number % 2
        else ModelRequest(parts=[UserPromptPart(old_text(number))])
        for number in range(count)
    ]


class PydanticAI:
    """The library itself: the floor that a durable product stands on."""

    def __init__(self, *, streamed: bool) -> None:
        self.streamed = streamed
        self.steps = Steps()
        self.histories: dict[str, list[ModelMessage]] = {}

    async def open(self, url: str, folder: Path) -> None:
        del folder
        provider = OpenAIProvider(base_url=url, api_key=API_KEY)
        self.agent = Agent(OpenAIChatModel(MODEL, provider=provider))

        @self.agent.tool_plain
        async def step(i: int) -> str:
            """Do one step."""
            return self.steps.run(i)

    async def prepare(self, kind: str) -> None:
        if kind not in self.histories:
            self.histories[kind] = history(stored_messages(kind))

    async def turn(self, kind: str) -> None:
        result = await self.agent.run(
            prompt(kind),
            message_history=self.histories[kind],
            event_stream_handler=read_events if self.streamed else None,
        )
        self.steps.check(kind, result.output)

    async def close(self) -> None:
        self.histories.clear()
