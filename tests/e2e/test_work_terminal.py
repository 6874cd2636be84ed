"""Deep work in a terminal: planned, revised, approved, paused, raised, resumed and declined."""

import json

import pytest
from tests.e2e.terminals import leave, say_to

from long_running_agents.testing import Rule, Script, ToolCall, say

pytestmark = pytest.mark.timeout(900)
FOR_EVER = 3600.0
CRITERION = {"kind": "file", "path": "out.txt", "contains": "heron"}


def manage(action, **given):
    return say("", calls=(ToolCall("manage_tasks", {"action": action, **given}),))


WRITE = say("", calls=(ToolCall("write_file", {"path": "out.txt", "content": "a heron"}),))
SCRIPT = Script(
    (
        Rule("^herons", (manage("create", title="Write it", criterion=CRITERION), say("One."))),
        Rule("^shorter", (say("It is short."),)),
        Rule("^endless", (manage("create", title="Wait", criterion=CRITERION), say("Wait."))),
        Rule("Next is task #1: Wait", (say("alpha beta", chunk_delay=FOR_EVER),)),
        Rule(
            "Next is task #1",
            (WRITE, manage("complete", task_id=1, result="written"), say("Written.")),
        ),
        Rule("Review the work", (say("All is well."),)),
        Rule("", (say("Hello there, friend."),)),
    )
)


def test_a_work_is_revised_and_approved_in_a_chat(terminal):
    chat = terminal()
    say_to(chat, "/deep herons")
    chat.expect("a plan of 1 tasks waits for you")
    say_to(chat, "/plan revise shorter")
    chat.expect("It is short")
    chat.expect("a plan of 1 tasks waits for you")
    say_to(chat, "/plan approve")
    chat.expect("#1 verified: out.txt")
    chat.expect("complete")
    assert leave(chat) == 0


def test_a_work_is_paused_and_declined_in_a_chat(terminal, lra):
    chat = terminal()
    say_to(chat, "/deep endless")
    chat.expect("waits for you")
    say_to(chat, "/plan approve")
    chat.expect("alpha")
    say_to(chat, "/plan pause")
    chat.expect(r"paused \(person\)")
    say_to(chat, "/plan abandon")
    chat.expect("abandoned")
    say_to(chat, "/plan dance")
    chat.expect("not understood")
    assert leave(chat) == 0
    assert json.loads(lra("work", "list", "--json")[1]) == []


def test_a_limit_pauses_a_work_and_resume_raises_it(lra):
    code, _, err = lra("work", "start", "herons", "--steps", "3")
    assert (code, "lra work approve" in err) == (0, True)
    [work] = json.loads(lra("work", "list", "--json")[1])
    code, out, _ = lra("work", "approve", work["id"])
    assert (code, "paused: limit" in out) == (5, True)
    code, out, _ = lra("work", "resume", work["id"], "--steps", "10")
    assert (code, "complete; 1 of 1 tasks proven" in out) == (0, True)
    assert lra("work", "resume", work["id"])[0] == 75
    assert lra("work", "show", "nothing")[0] == 3
    assert "| #1 Write it | verified |" in lra("work", "report", work["id"])[1]
