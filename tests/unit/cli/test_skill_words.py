"""Skills in words: what they take, how they fared, what waits."""

from datetime import UTC, datetime

import pytest

from long_running_agents.cli import skill_output as showing
from long_running_agents.cli.output import block, visible
from long_running_agents.cli.skill_output import arguments_in_words, in_words
from long_running_agents.domain.skill import (
    Attempt,
    Finding,
    Interface,
    Severity,
    Skill,
    SkillApproval,
    SkillCreator,
    SkillKind,
    SkillLimits,
    SkillOrigin,
    SkillTrial,
    Version,
)

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
NESTED = {"type": "array", "items": {}}
for _ in range(40):
    NESTED = {"type": "array", "items": NESTED}


def skill(name, **given):
    usual = {"enabled": False, "version": None, "newest": 1, "proposed": None}
    return Skill(
        owner="me",
        name=name,
        kind=SkillKind.FUNCTION,
        description="",
        created_at=NOW,
        updated_at=NOW,
        **{**usual, **given},
    )


def version(**given):
    usual = {
        "interface": Interface(function="double", description="Twice.", parameters={}),
        "warnings": (),
        "allowed_imports": (),
        "safe_mode": True,
    }
    return Version(
        owner="me",
        name="double",
        number=1,
        kind=SkillKind.FUNCTION,
        digest="d",
        source="def double(): ...",
        limits=SkillLimits(),
        examples=(),
        files=(),
        label="",
        brought=SkillOrigin(origin=SkillCreator.MODEL, session_id="s1"),
        created_at=NOW,
        trial=SkillTrial(at=NOW, passed=True),
        standing=SkillApproval.PROPOSED,
        **{**usual, **given},
    )


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": "array", "items": {"type": "number"}}, "list of number"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "whole number or nothing"),
        ({"type": ["string", "null"]}, "text or nothing"),
        ({"enum": ["up", "down"]}, '"up", "down"'),
        ({"const": 3}, "3"),
        (
            {"type": "object", "additionalProperties": {"type": "boolean"}},
            "object of true or false",
        ),
        ({"type": "object", "properties": {"a": {}, "b": {}}}, "object with a, b"),
        ({"$ref": "#/$defs/Point"}, "object with x"),
        ({"$ref": "#/$defs/Missing"}, "anything"),
        ({"$ref": "#/$defs/Loop"}, "anything"),
        ({}, "anything"),
        (True, "anything"),
        (None, "anything"),
    ],
)
def test_a_schema_is_told_in_words(schema, words):
    whole = {
        "$defs": {
            "Point": {"type": "object", "properties": {"x": {}}},
            "Loop": {"$ref": "#/$defs/Loop"},
        }
    }
    assert in_words(schema, whole) == words


def test_a_schema_without_end_is_told_up_to_where_anybody_reads():
    assert in_words(NESTED) == "list of " * 7 + "anything"


def test_arguments_are_needed_or_have_a_value_of_their_own():
    parameters = {
        "properties": {
            "prices": {"type": "array", "description": "Closing prices."},
            "period": {"type": "integer", "default": 14},
            "unit": {"type": "string"},
        },
        "required": ["prices"],
    }
    assert arguments_in_words(parameters) == [
        ("prices", "list, needed", "Closing prices."),
        ("period", "whole number, else 14", ""),
        ("unit", "text", ""),
    ]
    assert arguments_in_words({}) == []


def test_what_waits_is_one_line():
    assert showing.waiting_line([skill("a")]) == ""
    one = showing.waiting_line([skill("a"), skill("b", proposed=2, version=1, enabled=True)])
    assert one == "1 skill waits for approval: lra skills approve b"
    many = showing.waiting_line([skill(f"s{n}", proposed=1) for n in range(7)], "/skills")
    assert many == "7 skills wait for approval: /skills approve NAME (s0, s1, s2, s3, s4, …)"
    assert showing.problems_line(0) == ""
    assert showing.problems_line(1) == "1 file cannot be a skill: lra skills problems"


def test_a_trial_tells_all_that_was_asked_for_and_a_little_of_the_rest():
    given = Attempt(args={"n": 2}, shown="4", duration_ms=3.2)
    made = [Attempt(args={"n": n}, error="" if n else "fails: E", derived=True) for n in range(4)]
    lines = list(showing.trial_lines("f", SkillTrial(at=NOW, passed=True, attempts=(given, *made))))
    assert lines == [
        "  trial      passed",
        "             f(n=2) gave 4 (3 ms)",
        "             f(n=0) fails: E, made from the signature",
        "             f(n=1) gave , made from the signature",
        "             and 2 more made from the signature; 2 gave a result",
    ]
    [failed] = showing.trial_lines("f", SkillTrial(at=NOW, passed=False, reason="it broke"))
    assert failed == "  trial      not passed: it broke"


def test_a_version_says_where_it_came_from_and_what_to_mind():
    warning = Finding(message="It is odd.", repair="Look.", line=3, severity=Severity.WARNING)
    lines = "\n".join(showing.about(version(warnings=(warning,), safe_mode=False)))
    assert "from       model, in s1, 20" in lines
    assert "imports    anything" in lines
    assert "takes      nothing" in lines
    assert "mind       line 3: It is odd. Look." in lines


def test_a_finding_can_be_jumped_to():
    finding = Finding(message="No type.", repair="Write one.", line=4)
    assert showing.finding_line(finding, "a.py") == "a.py:4: error: No type. Write one."
    assert showing.finding_line(Finding(message="M.", repair=""), "a.py") == "a.py: error: M."


def test_nothing_in_code_hides_from_its_reader():
    hostile = "a\x1b[2J = 1 # \u202egnp.exe\u200b \ud800"
    assert visible(hostile).isprintable()
    assert "\\u202egnp.exe\\u200b \\ud800" in visible(hostile)
    assert block("\n\nx\n\ny\n").splitlines() == ["    x", "    ", "    y"]
