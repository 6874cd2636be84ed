"""What jobs do in a real sandbox: a watch looks there, and a skill idea is tried there."""

import json

import pytest
from tests.integration.stories import SESSION, ended

from long_running_agents.domain.job import JobId
from long_running_agents.domain.reflection import LearnedKind, LearnedState
from long_running_agents.domain.skill import SkillCreator
from long_running_agents.testing import ScriptedModel, call, make_app, say

pytestmark = pytest.mark.anyio

AREA = '''import math

def area(radius: float) -> float:
    """The area of a circle."""
    return round(math.pi * radius ** 2, 2)

area(1)'''
IDEA = {
    "kind": "skill",
    "text": "The area of a circle.",
    "quote": "def area(radius: float) -> float:",
    "turn": 1,
}


async def test_a_watch_sees_the_workspace_and_wakes_the_agent_when_that_changes(tmp_path):
    model = ScriptedModel([say("Two fish.")])
    said = {"name": "Pond", "schedule": "watch 10m", "prompt": "What is new?", "zone": "UTC"}
    async with make_app(tmp_path, model=model) as app:
        pond = tmp_path / "workspace" / "pond.txt"
        pond.write_text("pike\n")
        await app.jobs.add({**said, "watch": "cat pond.txt"})

        async def look():
            return (await app.jobs.run(JobId("pond"))).firing

        assert (await look()).outcome == "skipped"
        assert (await look()).note == "nothing had changed"
        assert model.requests == []
        pond.write_text("pike\nperch\n")
        changed = await look()
        assert changed.outcome == "changed"
        assert (await app.turns.settled(changed.turn_id)).answer == "Two fish."
        assert "> +perch" in str(model.requests[-1])


async def test_code_that_worked_in_two_turns_is_proposed_as_a_skill_and_waits(tmp_path):
    learned = say(json.dumps({"learned": [IDEA]}))
    first, second = call("execute_code", code=AREA), call("pyexe", code="area(radius=2)")
    model = ScriptedModel([first, say("3.14"), second, say("12.57"), learned])
    async with make_app(tmp_path, model=model) as app:
        await ended(app, "How large is a circle?")
        await ended(app, "And of radius 2?")
        [row] = (await app.learned.reflect(SESSION)).learned
        assert (row.kind, row.state) == (LearnedKind.SKILL, LearnedState.SUGGESTED), row.reason
        version = await app.workshop.library.version("area")
        assert version.standing == "proposed"
        assert version.brought.origin is SkillCreator.REFLECTION
        assert [each.result for each in version.examples] == [3.14, 12.57]
        assert not (await app.workshop.library.get("area")).uses(1)
