"""Skill ideas: only code that worked in two turns becomes a draft, with its calls as tests."""

import json

from tests.unit.store.house import SESSION

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.skill import SkillCreator, SkillDraft
from long_running_agents.domain.tool import CallState, Effect, ToolCallRecord
from long_running_agents.jobs.skill_ideas import draft_of

CODE = '''import math

def area(radius: float) -> float:
    """The area of a circle."""
    return round(math.pi * radius ** 2, 2)

area(1)'''


def ran(turn, code, result="3.14", state=CallState.DONE, tool="execute_code"):
    return ToolCallRecord(
        turn_id=TurnId(turn),
        session_id=SESSION,
        call_id=f"{turn}{code}",
        step=1,
        position=0,
        tool=tool,
        args=json.dumps({"code": code}),
        effect=Effect.ONCE,
        state=state,
        result=json.dumps(result),
    )


def test_a_function_that_worked_in_two_turns_is_a_draft_with_its_calls_as_tests():
    calls = [ran("t1", CODE), ran("t2", "area(radius=2)", "12.57", tool="pyexe")]
    draft = draft_of(calls, "def area(radius: float) -> float:", "The area of a circle.")
    assert isinstance(draft, SkillDraft)
    assert draft.source.startswith("import math\n")
    assert "area(1)" not in draft.source
    assert (draft.function, draft.brought.origin) == ("area", SkillCreator.REFLECTION)
    assert [(each.args, each.result, each.checked) for each in draft.examples] == [
        ({"radius": 1}, 3.14, True),
        ({"radius": 2}, 12.57, True),
    ]


def test_what_worked_once_failed_or_is_no_code_is_refused_with_the_reason():
    quote = "def area(radius: float) -> float:"
    once = [ran("t1", CODE), ran("t1", "area(2)")]
    failed = [ran("t1", CODE), ran("t2", "area(2)", state=CallState.FAILED)]
    assert "two turns" in str(draft_of(once, quote, ""))
    assert "two turns" in str(draft_of(failed, quote, ""))
    assert "no skill" in str(draft_of([ran("t1", "1 +")], quote, ""))
    assert "no skill" in str(draft_of([], quote, ""))
