"""What the first request of a fresh session takes, and which tools it offers."""

import pytest
from pydantic_core import to_json
from tests.integration.stories import ended

from long_running_agents.cli.setup import SOUL, USER
from long_running_agents.domain.budget import estimate_tokens
from long_running_agents.testing import Rule, Script, ScriptedModel, ScriptedServer, call, say
from long_running_agents.testing import make_app as made
from long_running_agents.tools.catalog import WORK, families
from long_running_agents.tools.deps import alias_of

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

MOST = 3500
ALIASES = {
    *("memory_search", "memory", "list_directory", "pyexe", "fetch"),
    *("delegate_code_task", "delegate_research_task"),
}
IN_A_WORK = {"create_task", "update_task_status"}
"""What there is another tool for in a work."""


@pytest.mark.parametrize("window", [None, 200_000])
async def test_it_is_small_with_all_default_tools(tmp_path, window):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "SOUL.md").write_text(SOUL)
    (workspace / "USER.md").write_text(USER)
    known = {} if window is None else {"agent__model__context_window": window}
    async with ScriptedServer(Script((Rule("", (say("Hi."),)),))) as server:
        environ = {"AGENT_MODEL_URL": server.url, "AGENT_MODEL": "m"}
        async with made(tmp_path, environ=environ, **known) as app:
            await ended(app, "Hi")
    [body] = server.requests
    size = len(to_json(body))

    assert estimate_tokens(size) <= MOST
    offered = {tool["function"]["name"] for tool in body["tools"]}
    usual = [family for family in families(network=False) if family.id != WORK]
    every = {name for family in usual for name in family.tools}
    spoken_of = {"list_jobs", "propose_job"}
    assert offered == every - ALIASES - spoken_of - {
        "search_tools",
        "read_result",
        "search_session",
    }


async def test_another_name_of_a_tool_is_not_offered_and_can_be_called(tmp_path):
    model = ScriptedModel([call("list_directory", path="."), say("Empty.")])
    async with made(tmp_path, model=model) as app:
        turn = await ended(app, "What is there?")

    aliases = {
        name
        for family in families(network=False)
        for name, tool in family.tools.items()
        if alias_of(tool.tool_def)
    }
    assert aliases == ALIASES | IN_A_WORK
    assert set(model.tools_offered[0]) >= IN_A_WORK
    assert not ALIASES & set(model.tools_offered[0])
    assert (turn.answer, turn.spent.tool_calls) == ("Empty.", 1)


async def test_another_name_is_offered_where_the_tool_itself_may_not_be_used(tmp_path):
    model = ScriptedModel([say("Hi.")])
    async with made(tmp_path, model=model, agent__tools__allow=("fetch", "list_files")) as app:
        await ended(app, "Hi")

    assert set(model.tools_offered[0]) == {"fetch", "list_files"}
