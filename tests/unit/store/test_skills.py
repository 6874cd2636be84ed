import pytest
from tests.unit.skills.versions import NOW, version

from long_running_agents.domain.skill import (
    Finding,
    Problem,
    Severity,
    SkillApproval,
    SkillCreator,
    SkillExample,
    SkillFile,
    SkillKind,
    SkillOrigin,
)
from long_running_agents.errors import NotFound
from long_running_agents.store import skills

pytestmark = pytest.mark.anyio


async def test_a_version_comes_back_as_it_was_kept(database):
    kept = version(
        files=(SkillFile(path="scripts/a.sh", content="ls"),),
        examples=(SkillExample(args={"number": 2}, result=4, checked=True),),
        warnings=(Finding(message="Odd.", repair="Look.", line=3, severity=Severity.WARNING),),
        brought=SkillOrigin(origin=SkillCreator.MODEL, session_id="s", turn_id="t1", call_id="c1"),
        label="1.0",
    )
    await database.write(lambda tx: skills.put(tx, kept))
    assert await database.read(lambda tx: skills.version(tx, "me", "double", 1)) == kept


async def test_a_skill_knows_its_version_in_use_and_the_one_that_waits(database):
    first, second = version(), version(number=2, description="Better.")

    def work(tx):
        skills.put(tx, first)
        skills.use(tx, first, NOW)
        skills.put(tx, second)
        return skills.get(tx, "me", "double")

    found = await database.write(work)
    assert (found.state, found.version, found.newest, found.proposed) == ("enabled", 1, 2, 2)
    assert found.description == "Twice as much."


async def test_what_was_never_approved_is_not_in_use(database):
    await database.write(lambda tx: skills.put(tx, version()))
    assert await database.read(lambda tx: skills.in_use(tx, "me")) == []
    [found] = await database.read(lambda tx: skills.every(tx, "me"))
    assert found.state == "proposed"


async def test_each_owner_has_skills_of_their_own(database):
    def work(tx):
        skills.put(tx, version())
        skills.use(tx, version(), NOW)
        skills.put(tx, version(owner="ann", description="Ann's."))

    await database.write(work)
    assert [each.owner for each in await database.read(lambda tx: skills.every(tx, "ann"))] == [
        "ann"
    ]
    assert await database.read(lambda tx: skills.in_use(tx, "ann")) == []
    with pytest.raises(NotFound, match="No skill"):
        await database.read(lambda tx: skills.get(tx, "bob", "double"))


async def test_failures_in_a_row_are_forgotten_with_the_first_success(database):
    def work(tx):
        skills.put(tx, version())
        for failed in (True, True, False, True):
            skills.count(tx, "me", "double", failed=failed, now=NOW)
        return skills.get(tx, "me", "double")

    found = await database.write(work)
    assert (found.calls, found.failures, found.failures_in_a_row) == (4, 3, 1)
    assert found.used_at == NOW


async def test_a_no_to_the_call_is_a_no_to_what_it_proposed_and_to_nothing_else(database):
    asked = version(brought=SkillOrigin(origin=SkillCreator.MODEL, turn_id="t1", call_id="c1"))
    other = version(
        "triple", brought=SkillOrigin(origin=SkillCreator.MODEL, turn_id="t1", call_id="c2")
    )

    def work(tx):
        skills.put(tx, asked)
        skills.put(tx, other)
        skills.refuse(tx, "t1", "c1", by="person", now=NOW)
        return [skills.version(tx, "me", name, 1).standing for name in ("double", "triple")]

    assert await database.write(work) == [SkillApproval.REJECTED, SkillApproval.PROPOSED]


async def test_a_skill_is_forgotten_with_all_its_versions(database):
    def work(tx):
        skills.put(tx, version())
        skills.put(tx, version(number=2))
        skills.remove(tx, "me", "double")
        counted = skills.count(tx, "me", "double", failed=True, now=NOW)
        return skills.versions(tx, "me", "double"), skills.digests(tx, "me"), counted

    assert await database.write(work) == ([], set(), False)


async def test_a_version_that_is_not_there_is_named(database):
    await database.write(lambda tx: skills.put(tx, version()))
    with pytest.raises(NotFound, match="no version 7"):
        await database.read(lambda tx: skills.version(tx, "me", "double", 7))


async def test_a_guide_is_kept_beside_functions(database):
    guide = version("pdf-forms", kind=SkillKind.GUIDE, source="# How")
    await database.write(lambda tx: skills.put(tx, guide))
    [found] = await database.read(lambda tx: skills.every(tx, "me"))
    assert found.kind is SkillKind.GUIDE


async def test_problems_are_those_of_the_last_look(database):
    def problem(path):
        return Problem(owner="me", path=path, digest="d", error="line 1: broken", seen_at=NOW)

    await database.write(lambda tx: skills.put_problem(tx, "me", [problem("a"), problem("b")]))
    await database.write(lambda tx: skills.put_problem(tx, "me", [problem("b")]))
    assert await database.read(lambda tx: skills.every_problem(tx, "me")) == [problem("b")]
    assert await database.read(lambda tx: skills.every_problem(tx, "ann")) == []
