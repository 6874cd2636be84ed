"""The client's skills against a real server: the same names and things as the library's."""

import inspect

import pytest
from tests.integration.server.serving import served
from tests.integration.server.skills import CELSIUS, EXACT, SHOUT, UNTYPED

from long_running_agents.client import Client
from long_running_agents.client.nouns import SkillClient
from long_running_agents.domain.skill import (
    SkillApproval,
    SkillCreator,
    SkillDraft,
    SkillExample,
    SkillLimits,
    SkillOrigin,
)
from long_running_agents.errors import NotFound, SkillRefused
from long_running_agents.skills.library import SkillLibrary

pytestmark = pytest.mark.anyio


def at(http):
    return Client.at(str(http.base_url))


def draft(source, **wishes):
    return SkillDraft(source=source, brought=SkillOrigin(origin=SkillCreator.PERSON), **wishes)


async def test_skills_are_what_the_home_says_they_are(tmp_path):
    async with served(tmp_path) as (app, http), at(http) as client:
        skills, library = client.skills, app.workshop.library
        first = await skills.create(draft(CELSIUS), enable=True)
        assert (first.standing, first.decided_by) == (SkillApproval.APPROVED, "person")
        second = await skills.create(
            draft(
                EXACT,
                examples=(SkillExample(args={"fahrenheit": 32}, result=0, checked=True),),
                limits=SkillLimits(timeout=60, memory=128),
                label="2",
            ),
            enable=False,
        )
        assert second.standing is SkillApproval.PROPOSED
        assert list(await skills.every()) == list(await library.every())
        assert await skills.get("celsius") == await library.get("celsius")
        assert list(await skills.versions("celsius")) == list(await library.versions("celsius"))
        assert await skills.version("celsius") == await library.version("celsius") == first
        assert await skills.version("celsius", 2) == await library.version("celsius", 2) == second
        assert await skills.diff("celsius", 1, 2) == await library.diff("celsius", 1, 2)
        app.hands.of("me").workspace.write("skills/untyped.py", UNTYPED.encode())
        await app.workshop.filing.look("me")
        assert list(await skills.problems()) == list(await library.problems()) != []


async def test_whatever_is_decided_there_is_so_here(tmp_path):
    async with served(tmp_path) as (app, http), at(http) as client:
        skills, library = client.skills, app.workshop.library
        await skills.create(draft(CELSIUS), enable=False)
        assert await skills.approve("celsius", 1, by="me") == await library.get("celsius")
        await skills.create(draft(EXACT), enable=False)
        assert (await skills.reject("celsius", 2, by="me")).proposed is None
        assert (await skills.approve("celsius", 2, by="me")).version == 2
        assert (await skills.roll_back("celsius", by="me")).version == 1
        assert (await skills.disable("celsius", "too warm", by="me")).note == "too warm"
        assert (await skills.enable("celsius", by="me")).enabled
        tried = await skills.run("celsius", {"fahrenheit": 212})
        assert (tried.shown, tried.error) == ("100.0", "")
        await skills.delete("celsius", by="me")
        with pytest.raises(NotFound):
            await library.get("celsius")
        with pytest.raises(NotFound):
            await skills.get("celsius")


async def test_a_draft_is_examined_there(tmp_path):
    async with served(tmp_path) as (_, http), at(http) as client:
        examined, trial = await client.skills.examine(draft(SHOUT))
        assert (examined.name, examined.errors, trial.passed) == ("shout", (), True)
        assert examined.interface.returns == {"type": "string"}
        examined, trial = await client.skills.examine(draft(UNTYPED))
        assert (bool(examined.errors), trial) == (True, None)
        with pytest.raises(SkillRefused, match="line 1"):
            await client.skills.create(draft(UNTYPED), enable=True)


async def test_what_is_exported_can_be_brought_in_again(tmp_path):
    async with served(tmp_path) as (app, http), at(http) as client:
        skills = client.skills
        for source in (CELSIUS, SHOUT):
            await skills.create(draft(source), enable=True)
        everything = await skills.export()
        assert "def celsius" in everything
        only = await skills.export(["shout"])
        assert "def shout" in only
        assert "def celsius" not in only
        await skills.delete("shout")
        [version] = await skills.bring_in(only)
        assert (version.name, version.standing) == ("shout", SkillApproval.PROPOSED)
        assert version == await app.workshop.library.version("shout")


async def test_a_skill_that_is_called_like_a_path_of_the_servers_is_found_all_the_same(tmp_path):
    source = SHOUT.replace("def shout", "def export")
    async with served(tmp_path) as (_, http), at(http) as client:
        await client.skills.create(draft(source), enable=True)
        assert (await client.skills.get("export")).name == "export"
        assert (await client.skills.version("export")).number == 1
        with pytest.raises(NotFound):
            await client.skills.get("problems")


@pytest.mark.parametrize(
    "name", [name for name in vars(SkillClient) if not name.startswith("_")], ids=str
)
def test_every_method_takes_what_the_librarys_takes(name):
    ours = inspect.signature(getattr(SkillClient, name)).parameters
    theirs = inspect.signature(getattr(SkillLibrary, name)).parameters
    # Where in a conversation it happens is for those who are in one.
    assert list(ours) == [each for each in theirs if each != "where"]
