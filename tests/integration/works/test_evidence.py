"""What proves a task, and what does not: the six promises about evidence."""

import json

import pytest
from tests.integration.stories import told
from tests.integration.works.players import Player, carried_out
from tests.integration.works.stories import FILE, done, settled, write

from long_running_agents.domain.budget import Limits
from long_running_agents.domain.events import TurnDone
from long_running_agents.domain.task import Scope
from long_running_agents.domain.work import EvidenceState, PauseReason, PlanPolicy, WorkPhase
from long_running_agents.store import works
from long_running_agents.testing import call, make_app, say

pytestmark = pytest.mark.anyio

WRITE = {"title": "Write the file", "criterion": FILE}
MORE = {"title": "Write more", "criterion": {"kind": "file", "path": "more.txt"}}


def seen(found, number=1):
    """What was found about a task, the oldest first."""
    return [str(each.state) for each in found.evidence if each.task == number]


@pytest.mark.parametrize(("last", "proven"), [("two herons", True), ("a bittern", False)])
async def test_evidence_that_is_older_than_a_change_is_void_until_it_is_looked_at(
    tmp_path, last, proven
):
    model = Player(write("out.txt", "a heron"), done(1), write("out.txt", last), say("Done."))
    plan = {**WRITE, "paths": ["out.txt"]}
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, plan, limits=Limits(steps=3))
        assert (found.work.pause, found.stale, seen(found)) == (
            PauseReason.LIMIT,
            [1],
            ["verified"],
        )
        await app.works.resume(found.work.id)
        found = await settled(app)
    assert seen(found) == ["verified", "verified" if proven else "refuted"]
    assert (found.work.phase is WorkPhase.COMPLETE) is proven
    assert found.stale == []


async def test_a_change_elsewhere_leaves_evidence_as_it_is(tmp_path):
    model = Player(write("out.txt", "heron"), done(1), write("other.txt", "x"), say("Done."))
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, {**WRITE, "paths": ["out.txt"]})
    assert (found.work.phase, seen(found)) == (WorkPhase.COMPLETE, ["verified"])
    assert found.drift.paths == ("other.txt",)


async def test_only_the_harness_writes_evidence(tmp_path):
    forged = {"task": 1, "state": "verified", "by": "harness"}
    model = Player(
        write("evidence.json", json.dumps(forged)),
        call("manage_tasks", action="complete", task_id=1, evidence=forged, state="verified"),
        call("manage_tasks", action="update", task_id=1, criterion={"kind": "file", **forged}),
        call("execute_code", code=f"open('{tmp_path}/lra.db', 'r+b')"),
        say("Proven."),
    )
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        calls = await app.database.read(lambda tx: works.calls(tx, found.work.id))
    offered = {name for names in model.tools_offered for name in names}
    assert not [name for name in offered if any(w in name for w in ("evidence", "prove", "waive"))]
    assert [each.state for each in calls] == ["done", "failed", "failed", "failed"]
    assert "FileNotFoundError" in calls[-1].result
    assert (tmp_path / "lra.db").exists()
    assert (found.evidence, found.work.phase) == ([], WorkPhase.EXECUTING)


async def test_complete_needs_every_task_and_a_waiver_has_a_name(tmp_path):
    model = Player(
        write("out.txt", "heron"),
        done(1),
        call("update_task_status", task_id=2, status="failed", result="There is no more."),
        say("One of two."),
        then="All is well.",
    )
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE, MORE)
        assert found.work.pause is PauseReason.QUESTION
        assert found.work.note == (
            "1 of 2 tasks proven; these are not:\n#2 Write more: There is no more."
        )
        await app.works.resume(found.work.id, waive=[2])
        found = await settled(app)
    assert found.work.phase is WorkPhase.COMPLETE
    assert seen(found, 2) == ["waived"]
    assert (found.evidence[-1].by, found.evidence[-1].proof) == ("me", "me said so")


async def test_what_a_person_has_accepted_is_not_refuted_behind_their_back(tmp_path):
    model = Player(write("birds.txt", "heron"), done(1), done(1), done(1), then="All is well.")
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        assert found.work.pause is PauseReason.QUESTION
        await app.works.resume(found.work.id, accept=[1])
        found = await settled(app)
    assert found.work.phase is WorkPhase.COMPLETE
    assert seen(found) == ["refuted", "refuted", "refuted", "verified"]


async def test_a_criterion_changes_only_with_the_plan(tmp_path):
    looser = {"kind": "file", "path": "out.txt"}
    patch = [{"op": "change", "task": 1, "criterion": looser}]
    model = Player(
        write("out.txt", "bittern"),
        call("manage_tasks", action="update", task_id=1, criterion=looser),
        call("propose_change", reason="There are no herons.", patch=patch),
        done(1),
        say("Please agree."),
        done(1),
        say("Done."),
        then="All is well.",
    )
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        assert "is in the approved plan" in str(model.requests[2][-1].parts)
        assert found.work.note == "A change of the plan waits for an answer: There are no herons."
        assert (found.tasks[0].criterion.contains, seen(found)) == ("heron", ["refuted"])
        await app.works.approve(found.work.id)
        found = await settled(app)
    assert (found.work.phase, found.work.plan_version) == (WorkPhase.COMPLETE, 2)
    assert seen(found) == ["refuted", "verified"]
    first, _, second = found.plans
    assert first.tasks[0]["criterion"] == 'file out.txt with "heron"'
    assert second.tasks[0]["criterion"] == "file out.txt"


async def test_a_proven_task_is_looked_at_anew_when_its_criterion_has_changed(tmp_path):
    stricter = {**FILE, "contains": "bittern"}
    patch = [{"op": "change", "task": 1, "criterion": stricter}]
    model = Player(
        write("out.txt", "heron"),
        done(1),
        call("propose_change", reason="A bittern as well.", patch=patch),
        say("Please agree."),
        then="All is well.",
    )
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        await app.works.approve(found.work.id)
        found = await settled(app)
    assert found.work.pause is PauseReason.STUCK
    assert "#1 Write the file" in found.work.note


async def test_after_three_refutations_a_person_is_asked_and_told_how_far_it_is(tmp_path):
    model = Player(write("out.txt", "heron"), done(1), done(2), done(2), say("Done."), then=done(2))
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE, MORE)
    assert len(model.requests) == 6
    assert seen(found, 2) == ["refuted"] * 3
    assert (found.work.phase, found.work.pause) == (WorkPhase.EXECUTING, PauseReason.QUESTION)
    assert found.work.note.startswith("1 of 2 tasks proven; these are not:\n#2 Write more:")


async def test_a_person_who_has_looked_gives_it_three_more_tries(tmp_path):
    model = Player(done(1), done(1), done(1), write("out.txt", "heron"), done(1), then="Done.")
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        assert found.work.pause is PauseReason.QUESTION
        await app.works.resume(found.work.id)
        found = await settled(app)
    assert (found.work.phase, seen(found)[3:]) == (WorkPhase.COMPLETE, ["verified"])


async def test_what_an_answer_claims_and_no_call_has_shown_is_listed_under_it(tmp_path):
    claimed = (
        "I wrote `out.txt` and src/nest.py, ran `make test` and `ls -l`, and 12 tests passed."
        " See https://example.org/herons.html, e.g. for version 1.2 of it."
    )
    model = Player(
        write("out.txt", "heron"),
        call("shell", command="ls -l"),
        done(1),
        say("Done: 12 passed."),
        say(claimed),
    )
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        *_, last = await told(app, TurnDone)
    assert found.work.phase is WorkPhase.COMPLETE
    assert last.not_seen == ["src/nest.py", "make test", "12 tests passed"]


async def test_what_was_seen_is_not_listed(tmp_path):
    ran = "python3 -c 'print(\"12 passed\")'"
    said = f"I wrote ./out.txt and /workspace/out.txt; `{ran}` says 12 passed. It is `True`."
    model = Player(write("out.txt", "heron"), call("shell", command=ran), done(1), say(said))
    async with make_app(tmp_path, model=model) as app:
        await carried_out(app, WRITE)
        assert (await told(app, TurnDone))[0].text == said


TOUCH = {"title": "Touch", "criterion": {"kind": "command", "command": "touch ran.txt"}}
DENIED = [{"decision": "deny", "program": "touch", "reason": "nothing is touched here"}]


async def test_a_command_that_the_policy_denies_is_not_run_for_a_check(tmp_path):
    model = Player(done(1), say("Done."))
    async with make_app(tmp_path, model=model, agent__tools__rules=DENIED) as app:
        found = await carried_out(app, TOUCH)
    assert found.evidence[-1].proof == "`touch ran.txt` may not be run: nothing is touched here"
    assert not (tmp_path / "workspace" / "ran.txt").exists()


@pytest.mark.parametrize("policy", [PlanPolicy.AUTO_WITHIN_SCOPE, PlanPolicy.ASK])
async def test_a_command_that_takes_consent_is_run_if_a_person_has_approved_the_plan(
    tmp_path, policy
):
    model = Player(done(1), say("Done."), then="All is well.")
    asks = {"agent__tools__require_approval": ("shell",)}
    async with make_app(tmp_path, model=model, **asks) as app:
        found = await carried_out(app, TOUCH, policy=policy, scope=Scope())
    approved = policy is PlanPolicy.ASK
    assert [each.by for each in found.plans] == ["me" if approved else "policy"]
    assert (found.work.phase is WorkPhase.COMPLETE) is approved
    assert (tmp_path / "workspace" / "ran.txt").exists() is approved
    if not approved:
        assert "`touch ran.txt` may not be run" in found.evidence[-1].proof


async def test_a_page_that_takes_consent_is_not_fetched_for_a_plan_that_nobody_approved(tmp_path):
    plan = {"title": "Publish", "criterion": {"kind": "fetch", "url": "http://site.test/"}}
    model = Player(done(1), say("Done."))
    asks = {"agent__tools__require_approval": ("web_fetch",)}
    async with make_app(tmp_path, model=model, **asks) as app:
        found = await carried_out(app, plan, policy=PlanPolicy.AUTO_WITHIN_SCOPE)
    assert "http://site.test/ may not be fetched" in found.evidence[-1].proof
    assert found.evidence[-1].state is EvidenceState.REFUTED


SAYS = {"title": "Look", "criterion": {"kind": "command", "command": "true"}}
LISTS = {"title": "List", "criterion": {"kind": "call", "tool": "list_files"}}


@pytest.mark.parametrize("plan", [WRITE, TOUCH])
async def test_what_a_turn_was_told_to_do_is_looked_at_when_it_ends_without_a_claim(tmp_path, plan):
    model = Player(write("out.txt", "heron"), then="It is written.")
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, plan)
    assert (found.work.phase, seen(found)) == (WorkPhase.COMPLETE, ["verified"])
    assert [each.by for each in found.evidence] == ["harness"]


async def test_a_call_that_a_task_asks_for_needs_no_claim(tmp_path):
    async with make_app(tmp_path, model=Player(call("list_files"), then="Listed.")) as app:
        found = await carried_out(app, LISTS)
    assert (found.work.phase, seen(found)) == (WorkPhase.COMPLETE, ["verified"])


async def test_a_turn_that_did_nothing_proves_nothing_by_what_held_before(tmp_path):
    async with make_app(tmp_path, model=Player(call("list_files"))) as app:
        found = await carried_out(app, SAYS)
    assert (found.work.pause, found.evidence) == (PauseReason.STUCK, [])


async def test_only_the_task_that_a_turn_was_told_of_is_looked_at_unclaimed(tmp_path):
    model = Player(write("out.txt", "heron"), done(1), say("The first is done."))
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE, SAYS)
    assert (seen(found), seen(found, 2)) == (["verified"], [])


async def test_what_nobody_has_claimed_is_not_refuted(tmp_path):
    drafts = [step for n in range(5) for step in (write("out.txt", f"draft {n}"), say("More."))]
    model = Player(*drafts, write("out.txt", "heron"), then="It is written.")
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
    assert (found.work.phase, seen(found)) == (WorkPhase.COMPLETE, ["verified"])
