"""What goes over the wire comes back as what it was."""

import json
from datetime import UTC, datetime

import pytest

from long_running_agents.client import nouns
from long_running_agents.domain.approval import Approval, ApprovalState, GrantScope
from long_running_agents.domain.events import (
    ApprovalRequested,
    DeltaEnvelope,
    EventEnvelope,
    FellBehind,
    MemoriesRecalled,
    MessageAccepted,
    RecalledMemory,
    RequestRetried,
    SessionRenamed,
    StepBegan,
    ToolCalled,
    TurnDone,
    TurnFailed,
    UsageTotals,
    WordsArrived,
)
from long_running_agents.errors import Unavailable

NOW = datetime(2026, 11, 16, 9, 0, 0, 123456, tzinfo=UTC)
ME = "me"


def recorded(event, turn_id="turn_1"):
    return EventEnvelope(seq=7, session_id="talk", turn_id=turn_id, owner=ME, at=NOW, event=event)


def passing(delta):
    return DeltaEnvelope(session_id="talk", turn_id="turn_1", owner=ME, delta=delta)


@pytest.mark.parametrize(
    "heard",
    [
        recorded(MessageAccepted(content="Grüße", origin="user")),
        recorded(ToolCalled(tool="shell", input={"a": [1]}, tool_call_id="c", effect="once")),
        recorded(
            ApprovalRequested(
                approval_id="a",
                tool="shell",
                input={},
                tool_call_id="c",
                question="",
                expires_at=NOW,
            )
        ),
        recorded(
            MemoriesRecalled(
                memories=[
                    RecalledMemory(id=1, kind="fact", trust="user", source="user", at=NOW, text="x")
                ]
            )
        ),
        recorded(SessionRenamed(title="Herons"), turn_id=None),
        recorded(
            TurnDone(
                text="Hi.",
                iterations=1,
                model="m",
                usage=UsageTotals(input_tokens=1, output_tokens=2, cost=None),
                mode="bounded",
            )
        ),
        recorded(TurnFailed(code="model_unavailable", message="no", hint="wait")),
        passing(StepBegan(iteration=1)),
        passing(WordsArrived(text="Hi", iteration=1)),
        passing(RequestRetried(model="m", reason="503", wait_seconds=1.5, iteration=1)),
        passing(FellBehind()),
    ],
    ids=lambda heard: type(getattr(heard, "event", None) or heard.delta).__name__,
)
def test_events_and_deltas_survive_the_wire(heard):
    assert nouns.heard(json.dumps(heard.wire()), ME) == heard


@pytest.mark.parametrize(
    "aside",
    [
        {"type": "connected", "session_id": "talk", "last_seq": 3},
        {"type": "pong"},
        {"type": "error", "code": "busy", "message": "Nothing is running.", "hint": ""},
        {"type": "catch_up", "lost": 3},
        {"type": "something_newer", "turn_id": "turn_1"},
    ],
)
def test_what_is_said_to_this_client_alone_is_no_event(aside):
    assert nouns.heard(json.dumps(aside), ME) is None


def test_an_event_of_another_version_is_a_failure_and_not_silence():
    told = {**recorded(SessionRenamed(title="x")).wire(), "colour": "red"}
    with pytest.raises(Unavailable, match="not understood"):
        nouns.heard(json.dumps(told), ME)


def test_a_question_keeps_the_words_of_what_a_lasting_answer_covers():
    told = {
        "id": "approval_1",
        "session_id": "talk",
        "turn_id": "turn_1",
        "tool_call_id": "call_1",
        "tool": "shell",
        "input": {"command": "git push"},
        "question": "it sends data out",
        "state": "open",
        "reason": "",
        "scope": "shell with git push",
        "lasting": "once",
        "asked_at": NOW.isoformat(),
        "answered_at": None,
        "expires_at": None,
    }
    found = nouns.read(Approval, told)
    assert found == Approval(
        id="approval_1",
        session_id="talk",
        turn_id="turn_1",
        call_id="call_1",
        tool="shell",
        args='{"command": "git push"}',
        question="it sends data out",
        state=ApprovalState.OPEN,
        asked_at=NOW,
        offer=GrantScope(tool="shell with git push"),
    )
    assert str(found.offer) == "shell with git push"
    assert nouns.read(Approval, {**told, "scope": ""}).offer is None
