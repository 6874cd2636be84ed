"""A home with a thousand skills: a request stays small, and every skill can be found and called."""

import json

import pytest
from tests.contract.skills.shelf import WeighingModel, shelve
from tests.integration.stories import ended

from long_running_agents.domain.skill import SkillCreator, SkillOrigin
from long_running_agents.errors import SkillFailed
from long_running_agents.store import ledger
from long_running_agents.testing import call, make_app, say

pytestmark = pytest.mark.anyio


async def asked(home, count, *replies, prompt="Sort my wires and my lamps, please."):
    """What a model with so many skills was asked, and what its calls came to."""
    model = WeighingModel([*replies, say("done")])
    async with make_app(home, model=model) as app:
        await shelve(app, count)
        turn = await ended(app, prompt)
        calls = await app.database.read(lambda tx: ledger.of_turn(tx, turn.id))
    assert turn.answer == "done"
    return model, [json.loads(each.result) for each in calls]


async def fail(library, name):
    """Call a skill that cannot but fail."""
    with pytest.raises(SkillFailed):
        await library.call(
            name, {"items": []}, where=SkillOrigin(origin=SkillCreator.MODEL), context={}
        )


async def test_a_request_with_a_thousand_skills_is_hardly_larger_than_one_with_ten(tmp_path):
    few, _ = await asked(tmp_path / "few", 10)
    many, _ = await asked(tmp_path / "many", 1000)

    assert len(few.tools_offered[0]) > 10
    assert {"sort_wires", "sort_lamps", "find_skills"} <= set(many.tools_offered[0])
    assert many.tokens[0] <= 1.2 * few.tokens[0]


async def test_a_skill_that_is_not_offered_is_found_and_called_at_the_next_step(tmp_path):
    model, (found, called) = await asked(
        tmp_path,
        1000,
        call("find_skills", query="estimate tides"),
        call("estimate_tides", items=["b", "a", "c"], limit=2),
    )

    assert "estimate_tides" not in model.tools_offered[0]
    assert found[0]["name"] == "estimate_tides"
    assert "estimate_tides" in model.tools_offered[1]
    assert called == '["a", "b"]'


async def test_all_skills_are_read_anew_when_a_failure_has_disabled_one_and_not_before(tmp_path):
    async with make_app(tmp_path, model=WeighingModel([]), agent__skills__failures=2) as app:
        await shelve(app, 2, body="raise ValueError('no')")
        library = app.workshop.library
        begun = await library.index()
        broken, other = (version.name for version in begun.versions)
        await fail(library, broken)
        after_one = await library.index()
        await fail(library, broken)
        after_two = await library.index()

    assert after_one is begun
    assert [version.name for version in after_two.versions] == [other]
