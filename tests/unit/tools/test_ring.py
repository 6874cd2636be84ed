import pytest
from pydantic_ai import Agent

from long_running_agents.testing import ScriptedModel, call, say
from long_running_agents.tools.ring import Ring, Rings

pytestmark = pytest.mark.anyio


class Noting(Ring):
    def __init__(self, name, log):
        self._name = name
        self._log = log

    async def request(self, context, ask):
        self._log.append(f"{self._name} asks")
        return await ask(context)

    async def call(self, call, run):
        self._log.append(f"{self._name} calls {call.tool_name}")
        return f"{self._name}({await run()})"


async def test_rings_surround_requests_and_calls_outermost_first():
    log = []
    rings = Rings([Noting("outer", log), Ring(), Noting("inner", log)])
    model = ScriptedModel([call("look"), say("done")])
    agent = Agent(model, capabilities=[rings])
    agent.tool_plain(lambda: "seen", name="look")

    await agent.run("go")

    asked = ["outer asks", "inner asks"]
    assert log == [*asked, "outer calls look", "inner calls look", *asked]
    assert model.requests[1][-1].parts[0].content == "outer(inner(seen))"
