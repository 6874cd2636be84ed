"""A model at a scripted server, and something to ask it."""

from contextlib import asynccontextmanager

import httpx2
import pytest
from pydantic_ai import AgentRunResultEvent
from pydantic_ai.messages import ModelRequest, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from long_running_agents.models.chat_completions import ChatCompletionsModel
from long_running_agents.models.quirks import ALL
from long_running_agents.testing import Rule, Script, ScriptedServer

GO = [ModelRequest.user_text_prompt("go")]
PARAMETERS = ModelRequestParameters(
    function_tools=[
        ToolDefinition(name=name, parameters_json_schema={"type": "object", "properties": {}})
        for name in ("look", "wait")
    ]
)


BOTH_WAYS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@asynccontextmanager
async def serving(
    *replies, patience=10.0, name="scripted", key="", ability=ALL, learned=None, **options
):
    """A model at a server that gives these replies, or follows these rules."""
    ruled = replies and isinstance(replies[0], Rule)
    rules = replies if ruled else (Rule("", replies),)
    async with (
        ScriptedServer(Script(rules), **options) as server,
        httpx2.AsyncClient(trust_env=False, timeout=patience) as client,
    ):
        yield (
            server,
            ChatCompletionsModel(
                name,
                base_url=server.url,
                client=client,
                api_key=key,
                ability=ability,
                learned=learned,
            ),
        )


async def ask(model, *, stream, messages=GO, parameters=PARAMETERS):
    """One request, whole or streamed."""
    if not stream:
        return await model.request(messages, None, parameters)
    async with model.request_stream(messages, None, parameters) as response:
        async for _ in response:
            pass
        return response.get()


async def run(agent, prompt="go", *, stream):
    """A whole run of an agent, and its result."""
    if not stream:
        return await agent.run(prompt)
    async with agent.run_stream_events(prompt) as events:
        async for event in events:
            if isinstance(event, AgentRunResultEvent):
                result = event.result
    return result


def told(response):
    """What a response says, without the ids that differ from request to request."""
    return (
        "".join(part.content for part in response.parts if isinstance(part, ThinkingPart)),
        "".join(part.content for part in response.parts if isinstance(part, TextPart)),
        [
            (part.tool_name, part.args_as_dict())
            for part in response.parts
            if isinstance(part, ToolCallPart)
        ],
    )
