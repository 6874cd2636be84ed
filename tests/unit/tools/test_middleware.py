import pytest
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from long_running_agents.tools.middleware import Middleware, MiddlewareStack

pytestmark = pytest.mark.anyio


class Noting(Middleware):
    def __init__(self, name, log):
        self._name = name
        self._log = log

    async def request(self, context, ask):
        self._log.append(f"{self._name} asks")
        return await ask(context)

    async def call(self, call, run):
        self._log.append(f"{self._name} calls {call.tool_name}")
        return f"{self._name}({await run()})"


async def test_middleware_surrounds_requests_and_calls_outermost_first():
    log = []
    stack = MiddlewareStack([Noting("outer", log), Middleware(), Noting("inner", log)])
    answer = ModelResponse(parts=[])

    async def ask(context):
        log.append(f"the model hears {context}")
        return answer

    async def look():
        return "seen"

    assert await stack.request("go", ask) is answer
    result = await stack.call(ToolCallPart("look", {}), ToolDefinition(name="look"), look)

    asked = ["outer asks", "inner asks", "the model hears go"]
    assert log == [*asked, "outer calls look", "inner calls look"]
    assert result == "outer(inner(seen))"
