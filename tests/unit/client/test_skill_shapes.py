"""Skills come back from the wire as what they were, and drafts arrive as what was wished."""

import json
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from long_running_agents.client import nouns
from long_running_agents.config.settings import SkillSettings
from long_running_agents.domain.skill import (
    Attempt,
    Finding,
    Interface,
    Problem,
    Severity,
    Skill,
    SkillApproval,
    SkillCreator,
    SkillDraft,
    SkillExample,
    SkillFile,
    SkillKind,
    SkillLimits,
    SkillOrigin,
    SkillReview,
    SkillTrial,
    Version,
)
from long_running_agents.errors import Unavailable
from long_running_agents.server.routes.skills import (
    AttemptResponse,
    NewSkill,
    ProblemList,
    SkillCall,
    SkillDraftRequest,
    SkillResponse,
    SkillReviewed,
    VersionResponse,
)

NOW = datetime(2026, 11, 16, 9, 0, 0, 123456, tzinfo=UTC)
LATER = datetime(2026, 11, 17, 9, 0, 0, tzinfo=UTC)
ME = "me"

EXAMPLE = SkillExample(args={"text": "Grüße", "deep": [1, {"a": None}]}, result=[2.5], checked=True)
FINDING = Finding(message="It prints.", repair="Return.", line=3, severity=Severity.WARNING)
ATTEMPT = Attempt(
    args={"x": 1}, shown="2", error="fails", derived=True, duration_ms=1.5, memory=1 << 20
)
TRIAL = SkillTrial(at=NOW, passed=True, reason="none", attempts=(ATTEMPT,))
INTERFACE = Interface(
    function="slug",
    description="Make a slug.",
    parameters={"type": "object", "properties": {"x": {"type": "integer"}}},
    returns={"type": "string"},
    is_async=True,
    context="ctx",
)
VERSION = Version(
    owner=ME,
    name="slug",
    number=2,
    kind=SkillKind.GUIDE,
    digest="abc",
    source="def slug(): ...\n",
    interface=INTERFACE,
    limits=SkillLimits(timeout=1.5, memory=64),
    safe_mode=False,
    allowed_imports=("re", "json"),
    examples=(EXAMPLE, replace(EXAMPLE, derived=True)),
    files=(SkillFile(path="a/b.py", content="print()\n"),),
    label="1.0",
    brought=SkillOrigin(
        origin=SkillCreator.MODEL, session_id="talk", turn_id="turn_1", call_id="call_1"
    ),
    created_at=NOW,
    warnings=(FINDING,),
    trial=TRIAL,
    standing=SkillApproval.APPROVED,
    decided_by="person",
    decided_at=LATER,
)
SKILL = Skill(
    owner=ME,
    name="slug",
    kind=SkillKind.FUNCTION,
    enabled=True,
    version=2,
    newest=4,
    proposed=3,
    description="Make a slug.",
    created_at=NOW,
    updated_at=LATER,
    calls=7,
    failures=3,
    failures_in_a_row=1,
    recent="..x",
    used_at=LATER,
    note="why not",
)
DRAFT = SkillDraft(
    source="def slug(): ...\n",
    brought=SkillOrigin(origin=SkillCreator.PERSON),
    kind=SkillKind.GUIDE,
    name="slug",
    function="make_slug",
    description="Make a slug.",
    examples=(
        EXAMPLE,
        SkillExample(args={}, result=None, checked=True),
        SkillExample(args={"x": 1}),
    ),
    limits=SkillLimits(timeout=1.5, memory=64),
    safe_mode=False,
    allowed_imports=("re",),
    input_schema={"type": "object"},
    output_schema={"type": "string"},
    is_async=True,
    requires_context=False,
    label="1.0",
    files=(SkillFile(path="a.py", content="1"),),
)


def over_the_wire(told):
    return json.loads(told.model_dump_json())


@pytest.mark.parametrize(
    "thing",
    [VERSION, SKILL, DRAFT, ATTEMPT, TRIAL, INTERFACE, FINDING],
    ids=lambda thing: type(thing).__name__,
)
def test_the_things_below_have_no_field_that_a_default_could_stand_in_for(thing):
    for field in fields(thing):
        if field.default is not MISSING:
            assert getattr(thing, field.name) != field.default, field.name


def test_a_version_comes_back_whole():
    assert nouns.read(Version, over_the_wire(VersionResponse.of(VERSION)), ME) == VERSION


def test_a_version_that_nobody_has_decided_about_comes_back_whole():
    bare = replace(
        VERSION,
        interface=replace(INTERFACE, returns=None),
        standing=SkillApproval.PROPOSED,
        decided_by="",
        decided_at=None,
        brought=SkillOrigin(origin=SkillCreator.PERSON),
    )
    assert nouns.read(Version, over_the_wire(VersionResponse.of(bare)), ME) == bare


@pytest.mark.parametrize(
    "skill",
    [SKILL, replace(SKILL, enabled=False, version=None, proposed=None, used_at=None)],
    ids=["enabled", "proposed"],
)
def test_a_skill_comes_back_whole_and_tells_its_state(skill):
    told = over_the_wire(SkillResponse.of(skill))
    assert nouns.read(Skill, told, ME) == skill
    assert told["state"] == skill.state


def test_a_problem_comes_back_whole():
    problem = Problem(owner=ME, path="skills/a.py", digest="abc", error="It is empty.", seen_at=NOW)
    [told] = over_the_wire(ProblemList(problems=[problem]))["problems"]
    assert nouns.read(Problem, told, ME) == problem


def test_a_call_that_was_tried_comes_back_whole():
    assert nouns.read(Attempt, over_the_wire(AttemptResponse.of(ATTEMPT))) == ATTEMPT


@pytest.mark.parametrize("trial", [TRIAL, None], ids=["tried", "untried"])
@pytest.mark.parametrize("interface", [INTERFACE, None], ids=["known", "unknown"])
def test_a_review_comes_back_whole(trial, interface):
    examined = SkillReview(
        name="slug", findings=(FINDING,), interface=interface, examples=(EXAMPLE,)
    )
    told = over_the_wire(SkillReviewed.both(examined, trial))
    assert nouns.read(SkillReview, told) == examined
    assert nouns.read(SkillTrial | None, told["trial"]) == trial


@pytest.mark.parametrize(
    ("findings", "trial", "ok"),
    [
        ((), TRIAL, True),
        ((FINDING,), TRIAL, True),
        ((replace(FINDING, severity=Severity.ERROR),), None, False),
        ((), replace(TRIAL, passed=False), False),
    ],
    ids=["clean", "warned", "refused", "failed"],
)
def test_a_review_says_whether_it_could_be_a_skill(findings, trial, ok):
    examined = SkillReview(name="slug", findings=findings, interface=INTERFACE)
    assert SkillReviewed.both(examined, trial).ok is ok


@pytest.mark.parametrize(
    "draft",
    [DRAFT, SkillDraft(source="x", brought=SkillOrigin(origin=SkillCreator.PERSON))],
    ids=["all", "source alone"],
)
def test_a_draft_arrives_as_it_was_wished(draft):
    sent = json.loads(json.dumps(nouns.wished(draft)))
    assert SkillDraftRequest.model_validate(sent).draft(SkillSettings()) == draft
    assert NewSkill.model_validate({**sent, "enable": True}).draft(SkillSettings()) == draft


def test_whoever_brings_a_draft_over_http_is_a_person_whatever_they_call_themselves():
    draft = replace(DRAFT, brought=SkillOrigin(origin=SkillCreator.LIBRARY, session_id="talk"))
    arrived = SkillDraftRequest.model_validate(nouns.wished(draft)).draft(SkillSettings())
    assert arrived.brought == SkillOrigin(origin=SkillCreator.PERSON)


def test_a_limit_that_is_not_named_is_the_usual_one():
    usual = SkillSettings(timeout=7, memory=99)
    assert SkillDraftRequest(source="x", timeout=1).draft(usual).limits == SkillLimits(
        timeout=1, memory=99
    )
    assert SkillDraftRequest(source="x", memory=64).draft(usual).limits == SkillLimits(
        timeout=7, memory=64
    )


def test_arguments_that_are_nested_too_deeply_are_refused_before_anybody_has_to_write_them():
    deep = 0
    for _ in range(60):
        deep = [deep]
    with pytest.raises(ValidationError, match="nested deeper"):
        SkillCall(args={"x": deep})
    assert SkillCall(args={"x": deep[0][0][0][0][0][0][0][0][0][0][0][0][0]}).version is None


def test_a_skill_of_another_version_is_a_failure_and_not_a_guess():
    told = over_the_wire(VersionResponse.of(VERSION))
    del told["digest"]
    with pytest.raises(Unavailable, match="not understood"):
        nouns.read(Version, told, ME)
