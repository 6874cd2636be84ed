from datetime import UTC, datetime
from decimal import Decimal
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from long_running_agents.domain.events import (
    CLOSING,
    EVENT,
    DeltaEnvelope,
    Event,
    EventEnvelope,
    TextWritten,
    TurnDone,
    UsageTotals,
    WordsArrived,
)
from long_running_agents.domain.ids import SessionId, TurnId

KINDS = get_args(get_args(Event)[0])
NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
VALUES = {
    "expires_at": NOON,
    "faults": ["it is cut off"],
    "input": {"path": "ä.txt", "deep": [1, None, {"x": True}]},
    "memories": [
        {"id": 1, "kind": "fact", "trust": "web", "source": "web:x", "at": NOON, "text": "ä"},
    ],
    "pause": "question",
    "routed": {"to": "coder@1", "by": "words", "margin": 0.4},
    "tasks": [{"number": 1, "title": "t", "status": "pending", "parent": None}],
    "not_seen": ["a.md", "12 passed"],
    "usage": {"input_tokens": 1, "output_tokens": 2, "cost": None},
}


def example(kind):
    """An event of a kind with every field filled."""
    values = {}
    for name, field in kind.model_fields.items():
        if name in VALUES:
            values[name] = VALUES[name]
        elif name != "type":
            plain = {str: f"some {name}", int: 7, float: 0.5, bool: False, Decimal: Decimal(1)}
            values[name] = plain[field.annotation]
    return kind(**values)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_from_the_disk_as_it_was(kind):
    event = example(kind)

    assert EVENT.validate_json(event.model_dump_json()) == event


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_event_with_a_field_nobody_knows_is_refused(kind):
    known = example(kind).model_dump(mode="json")

    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        EVENT.validate_python({**known, "surprise": 1})


def test_every_event_has_a_type_of_its_own():
    types = [kind.model_fields["type"].default for kind in KINDS]

    assert len(set(types)) == len(types) >= 14


def test_an_event_of_an_unknown_type_is_refused():
    with pytest.raises(ValidationError):
        EVENT.validate_json('{"type": "gossip"}')


def test_events_cannot_be_changed_afterwards():
    with pytest.raises(ValidationError, match="frozen"):
        TextWritten(text="said").text = "unsaid"


def test_five_kinds_close_a_turn():
    assert {kind.model_fields["type"].default for kind in CLOSING} == {
        "done", "stopped", "limit", "error", "steered",
    }  # fmt: skip


def test_listeners_outside_are_told_number_session_turn_and_time():
    event = TurnDone(
        text="Hi",
        iterations=1,
        model="m",
        usage=UsageTotals(input_tokens=1, output_tokens=1, cost=0.5),
        mode="bounded",
    )
    recorded = EventEnvelope(
        seq=4, session_id=SessionId("s"), turn_id=TurnId("t"), owner="me", at=NOON, event=event
    ).wire()

    assert recorded["type"] == "done"
    assert (recorded["seq"], recorded["session_id"], recorded["turn_id"]) == (4, "s", "t")
    assert recorded["at"] == "2026-01-05T12:00:00+00:00"
    assert recorded["usage"]["cost"] == 0.5
    TypeAdapter(dict[str, object]).dump_json(recorded)


def test_passing_news_has_no_number():
    passing = DeltaEnvelope(
        session_id=SessionId("s"),
        turn_id=TurnId("t"),
        owner="me",
        delta=WordsArrived(text="a", iteration=2),
    )

    assert passing.wire() == {
        "type": "text_delta", "text": "a", "iteration": 2, "session_id": "s", "turn_id": "t",
    }  # fmt: skip
