"""The web tools in an app: offered, guarded, and switched off."""

import subprocess
import sys

import pytest
from tests.integration.stories import ended, told

from long_running_agents.domain.events import ToolReturned
from long_running_agents.testing import ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio

TOOLS = {"web_fetch", "web_fetch_js", "web_fetch_stealth", "web_search"}


async def test_a_page_inside_is_refused_and_the_turn_goes_on(tmp_path):
    model = ScriptedModel(
        [call("web_fetch", url="http://169.254.169.254/latest/meta-data/"), say("I may not.")]
    )
    async with make_app(tmp_path, model=model) as app:
        turn = await ended(app, "Read it.")
        [returned] = await told(app, ToolReturned)

    assert turn.answer == "I may not."
    assert set(model.tools_offered[0]) >= TOOLS
    assert returned.outcome == "failed"
    assert "169.254.169.254 is not an address of the open internet" in returned.result_preview


async def test_the_web_is_switched_off_by_its_variable(tmp_path):
    model = ScriptedModel([say("Hello.")])
    async with make_app(tmp_path, model=model, environ={"AGENT_ENABLE_FETCH": "false"}) as app:
        await ended(app, "Hello?")

    assert not set(model.tools_offered[0]) & TOOLS


def test_an_app_is_opened_without_the_libraries_of_the_web():
    heavy = ("curl_cffi", "patchright", "html_to_markdown", "pypdf")
    program = (
        f"import long_running_agents.app, sys; sys.exit(any(m in sys.modules for m in {heavy}))"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
