"""Skills at the prompt of a conversation."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from long_running_agents.cli import follow, slash
from long_running_agents.domain.approval import Approval, ApprovalState
from long_running_agents.domain.skill import (
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
from long_running_agents.errors import Busy, NotFound, ServerAway, UsageError

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)
SOURCE = 'def double(number: int) -> int:\n    """Twice."""\n    return 2 * number\n'
WARNING = Finding(message="It is odd.", repair="Look.", severity=Severity.WARNING)
VERSION = Version(
    owner="me",
    name="double",
    number=1,
    kind=SkillKind.FUNCTION,
    digest="d",
    source=SOURCE,
    interface=Interface(function="double", description="Twice.", parameters={}),
    limits=SkillLimits(),
    safe_mode=True,
    allowed_imports=(),
    examples=(),
    files=(),
    label="",
    brought=SkillOrigin(origin=SkillCreator.MODEL, session_id="s", call_id="call_1"),
    created_at=NOW,
    warnings=(),
    trial=SkillTrial(at=NOW, passed=True),
    standing=SkillApproval.PROPOSED,
)
SKILL = Skill(
    owner="me",
    name="double",
    kind=SkillKind.FUNCTION,
    enabled=False,
    version=None,
    newest=1,
    proposed=1,
    description="Twice.",
    created_at=NOW,
    updated_at=NOW,
)


class FakeSkills:
    """One skill with one version, in the test's hand."""

    def __init__(self, skill=SKILL, version=VERSION):
        self.skill = skill
        self.only = version

    async def every(self):
        return [self.skill]

    async def get(self, name):
        assert name == "double"
        return self.skill

    async def version(self, name, number=None):
        assert (name, number) in (("double", 1), ("double", None))
        return self.only

    async def problems(self):
        return []

    async def approve(self, name, number=None, *, by):
        assert (name, number, by) == ("double", 1, "person")
        self.skill = replace(self.skill, enabled=True, version=1, proposed=None)
        return self.skill

    async def disable(self, name, note="", *, by):
        assert (name, note, by) == ("double", "", "person")
        self.skill = replace(self.skill, enabled=False)
        return self.skill


class Away:
    async def every(self):
        raise ServerAway("Gone.")


class FakeAgent:
    def __init__(self, skills):
        self.skills = skills


class FakeTalk:
    """A conversation of which only the notes are kept."""

    def __init__(self, skills):
        self.agent = FakeAgent(skills)
        self.screen = self
        self.notes = []

    async def note(self, text):
        self.notes.append(text)

    async def type(self, text):
        command = slash.parse(text)
        await command.act(self, command.rest)
        return self.notes[-1]


def asked(tool="promote_skill", args='{"file_path": "a.py"}', call_id="call_1"):
    return Approval(
        id="approval_1",
        session_id="s",
        turn_id="t",
        call_id=call_id,
        tool=tool,
        args=args,
        question="May double (version 1) be used?",
        state=ApprovalState.OPEN,
        asked_at=NOW,
    )


async def test_the_code_of_a_file_is_shown_before_it_is_allowed():
    shown = await follow.code_asked_about(FakeAgent(FakeSkills()), asked())
    assert shown.splitlines() == [
        "double, version 1:",
        "    def double(number: int) -> int:",
        '        """Twice."""',
        "        return 2 * number",
    ]


async def test_code_that_the_arguments_show_is_not_shown_again_but_its_warnings_are():
    args = json.dumps({"code": SOURCE.strip()})
    agent = FakeAgent(FakeSkills())
    assert await follow.code_asked_about(agent, asked("generate_tool", args)) == ""
    agent = FakeAgent(FakeSkills(version=replace(VERSION, warnings=(WARNING,))))
    shown = await follow.code_asked_about(agent, asked("generate_tool", args))
    assert shown == "double, version 1:\nwarning: It is odd. Look."
    other = asked("generate_tool", '{"code": "return 2 * number"}')
    assert "    def double(number: int)" in await follow.code_asked_about(agent, other)


@pytest.mark.parametrize(
    ("skills", "approval"),
    [
        (FakeSkills(), asked(tool="shell")),
        (FakeSkills(), asked(call_id="another")),
        (FakeSkills(skill=replace(SKILL, proposed=None)), asked()),
        (None, asked()),
        (Away(), asked()),
    ],
)
async def test_other_questions_show_no_code(skills, approval):
    assert await follow.code_asked_about(FakeAgent(skills), approval) == ""


async def test_what_waits_is_said_unless_nobody_knows():
    line = await follow.waiting_at(FakeAgent(FakeSkills()), "/skills")
    assert line == "1 skill waits for approval: /skills approve double"
    assert await follow.waiting_at(FakeAgent(None)) == ""
    assert await follow.waiting_at(FakeAgent(Away())) == ""


async def test_skills_are_listed_approved_and_disabled_by_a_slash():
    talk = FakeTalk(FakeSkills())
    assert await talk.type("/skills") == (
        "  double  proposed, version 1, 0 calls  Twice.\n"
        "1 skill waits for approval: /skills approve double"
    )
    assert "    return 2 * number" in await talk.type("/skills show double")
    assert await talk.type("/skills approve double") == "skill double is enabled, version 1"
    assert "        return 2 * number" in talk.notes[-2]
    assert await talk.type("/skills disable double") == "skill double is disabled, version 1"
    with pytest.raises(Busy, match="waits for an answer"):
        await talk.type("/skills approve double")


async def test_what_is_not_understood_is_said():
    talk = FakeTalk(FakeSkills())
    for text in ("/skills approve", "/skills dance", "/skills approve a b"):
        with pytest.raises(UsageError, match="is not understood"):
            await talk.type(text)
    with pytest.raises(NotFound):
        await talk.type("/skills disable ../x")
    with pytest.raises(UsageError, match="switched off"):
        await FakeTalk(None).type("/skills")
