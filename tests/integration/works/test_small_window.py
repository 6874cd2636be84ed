"""A model with a window of 4,096 tokens carries out a plan of twelve tasks."""

import json

import pytest
from tests.integration.stories import SESSION, told
from tests.integration.works.stories import done, settled, task, write

from long_running_agents.domain.events import PromptTruncated, WorkStuck
from long_running_agents.domain.work import EvidenceState, WorkPhase
from long_running_agents.testing import Quirk, ScriptedServer, call, make_app, say

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("model_requests")]

WINDOW = 4096
TASKS = 12
AFTER = {2: [1], 7: [2, 4], 12: [7]}
"""Which tasks wait for others."""
BIRDS = ("heron", "bittern", "egret", "stork", "ibis", "spoonbill")


class Player:
    """Plays replies in order, and counts."""

    def __init__(self, *replies):
        self._replies = iter(replies)

    def reply_for(self, seen, served=None):
        assert seen[0]["role"] == "system", "the server has cut the beginning off"
        return next(self._replies)


def plan():
    """The calls that make the plan."""
    for number in range(1, TASKS + 1):
        bird = BIRDS[number % len(BIRDS)]
        criterion = {"kind": "file", "path": f"birds/{number}.md", "contains": bird}
        yield task(
            f"Write the chapter about the {bird}",
            description=f"Chapter {number}; before it came {{{{task_{number - 1}.output}}}}.",
            criterion=criterion,
            paths=["birds"],
            depends_on=AFTER.get(number),
        )
    yield say("Twelve chapters.")


def chapter(number, steps):
    """The steps of a task: drafts of some length are written and read."""
    bird = BIRDS[number % len(BIRDS)]
    for step in range(steps):
        path = f"birds/{number}-{step // 2}.txt"
        draft = f"{bird} {number}.{step // 2} " + "in the reeds " * (10 + 17 * step % 90)
        yield call("read_file", path=path) if step % 2 else write(path, draft)
    yield write(f"birds/{number}.md", f"The {bird}. " * 5)
    yield done(number, f"Chapter {number} is about the {bird}.")
    yield say(f"Chapter {number} is written.")


def length(body):
    return len(json.dumps(body, ensure_ascii=False))


@pytest.mark.parametrize("steps", [3, pytest.param(14, marks=pytest.mark.heavy)])
async def test_twelve_tasks_are_proven_without_one_request_over_the_window(tmp_path, steps):
    chapters = [each for number in range(1, TASKS + 1) for each in chapter(number, steps)]
    replies = [*plan(), *chapters, say("All twelve are there.")]
    quirks = [Quirk.SILENT_TRUNCATION, Quirk.UNANSWERED_CALL_REFUSED]
    async with (
        ScriptedServer(Player(*replies), quirks=quirks) as server,
        make_app(
            tmp_path,
            agent__model__model_id="small",
            agent__model__base_url=server.url,
            agent__model__context_window=WINDOW,
            agent__deep_work__max_iterations=400,
        ) as app,
    ):
        work = await app.works.start("Write a book about birds of the reeds", session_id=SESSION)
        await settled(app)
        await app.works.approve(work.id)
        found = await settled(app)
        assert await told(app, WorkStuck) == []
        assert await told(app, PromptTruncated) == []
        sent = server.requests
    assert (found.work.phase, found.work.note) == (WorkPhase.COMPLETE, "")
    assert len(sent) == len(replies)
    assert {each.state for each in found.evidence} == {EvidenceState.VERIFIED}
    assert {each.task for each in found.evidence} == set(range(1, TASKS + 1))
    # As the server counts, with room for an answer; and even if it counted a third more.
    assert max(length(body) / 4 for body in sent) <= WINDOW - 1024
    assert max(length(body) / 3 for body in sent) <= WINDOW
    offered = [{tool["function"]["name"] for tool in body["tools"]} for body in sent]
    assert all("manage_tasks" in names for names in offered)
    assert all({"write_file", "read_file", "shell"} <= names for names in offered[TASKS + 1 : -1])
    assert all("propose_change" not in names for names in offered[: TASKS + 1])
    # Where it stood earlier is nothing to remember.
    asked = [each["content"] for each in sent[-1]["messages"] if each["role"] == "user"]
    assert asked[-1].count("From the work") == 1
