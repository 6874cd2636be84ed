"""A hundred candidates and more before the review and the trial: who gets in, and who hears why."""

import asyncio
from collections import Counter
from contextlib import closing
from socket import create_server

import pytest
from tests.contract.skills.bad import BAD
from tests.contract.skills.good import GOOD

from long_running_agents.domain.skill import SkillApproval
from long_running_agents.errors import SkillRefused
from long_running_agents.testing import ScriptedModel, make_app

pytestmark = pytest.mark.anyio

AT_ONCE = 4


async def answers(library, candidates, places):
    """What becomes of each candidate: why it is not used, or nothing when it is."""
    room = asyncio.Semaphore(AT_ONCE)

    async def offered(candidate):
        async with room:
            try:
                version = await library.offer(candidate.draft(places))
            except SkillRefused as refusal:
                return str(refusal)
        if version.standing is SkillApproval.APPROVED:
            return ""
        return "only proposed: " + " ".join(str(finding) for finding in version.warnings)

    told = await asyncio.gather(*map(offered, candidates))
    return {candidate.name: answer for candidate, answer in zip(candidates, told, strict=True)}


def test_there_are_a_hundred_of_them_and_more_than_half_are_bad():
    names = Counter(candidate.name for candidate in [*GOOD, *BAD])

    assert len(GOOD) >= 40
    assert len(BAD) >= 60
    assert max(names.values()) == 1


@pytest.mark.timeout(1200)
async def test_every_good_candidate_is_used_and_every_bad_one_hears_why_it_is_not(tmp_path):
    with closing(create_server(("127.0.0.1", 0))) as machine:
        places = {"home": str(tmp_path), "port": str(machine.getsockname()[1])}
        async with make_app(
            tmp_path,
            model=ScriptedModel([]),
            agent__skills__approval="auto",
            agent__skills__timeout=300,
        ) as app:
            library = app.workshop.library
            good = await answers(library, GOOD, places)
            bad = await answers(library, BAD, places)
            used = {version.name for version in (await library.index()).versions}

    assert {name: answer for name, answer in good.items() if answer} == {}
    assert used == set(good)
    assert {
        candidate.name: bad[candidate.name]
        for candidate in BAD
        if candidate.says not in bad[candidate.name]
    } == {}
