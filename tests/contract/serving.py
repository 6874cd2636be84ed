"""A model at a scripted server, and something to ask it."""

from contextlib import asynccontextmanager

import httpx2
from pydantic_ai.messages import ModelRequest, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from long_running_agents.models.chat_completions import ChatCompletionsModel
from long_running_agents.testing import Rule, Script, ScriptedServer

GO = [ModelRequest.user_text_prompt("go")]
PARAMETERS = ModelRequestParameters(
    function_tools=[
        ToolDefinition(name=name, parameters_json_schema={"type": "object", "properties": {}})
        for name in ("look", "wait")
    ]
)


@asynccontextmanager
async def serving(*replies, patience=10.0, name="scripted", key="", **options):
    """A model at a server that gives these replies."""
    async with (
        ScriptedServer(Script((Rule("", replies),)), **options) as server,
        httpx2.AsyncClient(trust_env=False, timeout=patience) as client,
    ):
        yield server, ChatCompletionsModel(name, base_url=server.url, client=client, api_key=key)


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
