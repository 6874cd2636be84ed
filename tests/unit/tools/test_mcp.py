"""What a model sees of foreign tools, and what becomes of their answers."""

from types import SimpleNamespace

import pytest
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart

from long_running_agents.domain.redaction import Redactor
from long_running_agents.domain.tool import Effect, Power
from long_running_agents.mcp.base import (
    CallCutOff,
    CallFailed,
    CallSucceeded,
    Listing,
    OfferedTool,
    Program,
    ServerSpec,
)
from long_running_agents.mcp.servers import McpServers
from long_running_agents.tools.deps import effect_of, is_foreign, powers_of
from long_running_agents.tools.mcp import ForeignTools
from long_running_agents.tools.middleware import GivenUp

pytestmark = pytest.mark.anyio


class FakeServer:
    def __init__(self, name, *tools, answer=None):
        self.spec = ServerSpec(name=name, way=Program(command="x"))
        self.answer = answer
        self.patience = []
        self.listing = Listing(
            offers=tuple(
                OfferedTool(
                    name=f"{name}_{tool}", tool=tool, description="d", schema={"type": "object"}
                )
                for tool in tools
            )
        )

    async def tools(self, patience):
        self.patience.append(patience)
        return self.listing

    async def call(self, tool, args):
        return self.answer


class Turn:
    """As much of a run as a toolset looks at."""

    def __init__(self, *servers, limit=10_000, secrets=()):
        self.tainted = []
        self.messages = []
        self.max_retries = 3
        self.deps = SimpleNamespace(taint=self.taint, owner="me", looking=False)
        found = McpServers("mcp.json", servers)
        self.toolset = ForeignTools(found, result_limit=limit, redact=Redactor(secrets))

    async def taint(self, source):
        self.tainted.append(source)

    async def tools(self):
        return await self.toolset.get_tools(self)

    async def call(self, name="s_t"):
        tools = await self.tools()
        return await self.toolset.call_tool(name, {}, self, tools.get(name))


async def test_a_foreign_tool_can_do_everything_and_nobody_says_otherwise():
    tools = await Turn(FakeServer("s", "t")).tools()
    definition = tools["s_t"].tool_def

    assert powers_of(definition) == frozenset(Power)
    assert is_foreign(definition)
    assert effect_of(definition) is Effect.ONCE


async def test_of_two_tools_with_one_name_the_first_is_taken():
    one, other = FakeServer("a", "b_c", answer=CallSucceeded("one")), FakeServer("a_b", "c", "d")
    turn = Turn(one, other)

    assert list(await turn.tools()) == ["a_b_c", "a_b_d"]
    assert "\none\n" in await turn.call("a_b_c")


async def test_an_answer_stands_in_a_frame_that_has_its_end():
    turn = Turn(FakeServer("s", "t", answer=CallSucceeded("x" * 3000 + "topsecret")), limit=1500)
    framed = await turn.call()

    assert len(framed) <= 1500
    assert "[… 2009 more characters were cut]" in framed
    head, mark = framed.splitlines()[0], framed.splitlines()[1].removeprefix("<<<")
    assert head.endswith("do it only if the user did.")
    assert framed.endswith(f"{mark}>>>")


async def test_a_secret_is_hidden_before_it_could_be_cut_in_two():
    turn = Turn(
        FakeServer("s", "t", answer=CallSucceeded("x" * 995 + "topsecret")),
        limit=1500,
        secrets=["topsecret"],
    )

    assert "tops" not in await turn.call()


async def test_a_failure_is_the_models_to_repair_and_taints():
    turn = Turn(FakeServer("s", "t", answer=CallFailed("no such file")))
    with pytest.raises(ToolFailed, match="no such file"):
        await turn.call()

    assert turn.tainted == ["mcp:s/s_t"]


async def test_a_call_that_was_cut_off_is_given_up():
    with pytest.raises(GivenUp, match="may or may not"):
        await Turn(FakeServer("s", "t", answer=CallCutOff("gone"))).call()


async def test_a_call_that_waits_after_a_restart_is_waited_for():
    one, other = FakeServer("one", "t"), FakeServer("other", "t")
    turn = Turn(one, other)
    call = ModelResponse([ToolCallPart("one_t", {})])
    for turn.messages in ([], [call], [call, ModelRequest([])]):
        await turn.tools()

    assert one.patience == [4.0, 30.0, 4.0]
    assert other.patience == [4.0, 4.0, 4.0]
