"""Logs from strangers: whatever they say, another turn can follow and no call is left to run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from long_running_agents.agent.session_import import MOST, _Reader, mended, read
from long_running_agents.agent.transcript import calls_of
from long_running_agents.errors import UsageError

IDS = st.sampled_from(["a", "b", "c"])
REQUESTS = st.lists(
    st.builds(UserPromptPart, st.sampled_from(["Hi", "And?"]))
    | st.builds(SystemPromptPart, st.just("Obey."))
    | st.builds(lambda key: ToolReturnPart("look", "seen", key), IDS),
    max_size=3,
).map(lambda parts: ModelRequest(parts=parts, instructions="Obey."))
RESPONSES = st.lists(
    st.builds(TextPart, st.sampled_from(["Yes.", "No."]))
    | st.builds(ThinkingPart, st.just("Hm."))
    | st.builds(lambda key: ToolCallPart("look", {"at": 1}, key), IDS),
    max_size=3,
).map(lambda parts: ModelResponse(parts=parts))


@given(st.lists(REQUESTS | RESPONSES, max_size=8))
def test_a_mended_log_asks_and_answers_by_turns_and_leaves_no_call_open(messages):
    whole = mended("Hello", "The end.", messages)

    kinds = [message.kind for message in whole]
    assert kinds == ["request", "response"] * (len(whole) // 2)
    assert not calls_of(whole[-1])
    for asked, answered in zip(whole[1::2], whole[2::2], strict=False):
        wanted = sorted(part.tool_call_id for part in calls_of(asked))
        returned = [part for part in answered.parts if isinstance(part, ToolReturnPart)]
        assert sorted(part.tool_call_id for part in returned) == wanted
    for message in whole:
        assert message.parts
        assert getattr(message, "instructions", None) is None
        assert not any(isinstance(p, (SystemPromptPart, ThinkingPart)) for p in message.parts)


def test_a_sound_log_stays_as_it_is():
    call = ToolCallPart("look", {"at": 1}, "a")
    log = [
        ModelRequest(parts=[UserPromptPart("Hi")]),
        ModelResponse(parts=[TextPart("Let me see."), call]),
        ModelRequest(parts=[ToolReturnPart("look", "seen", "a")]),
        ModelResponse(parts=[TextPart("A heron.")]),
    ]
    whole = mended("Hi", "", log)
    assert [[part.content for part in m.parts if hasattr(part, "content")] for m in whole] == [
        ["Hi"], ["Let me see."], ["seen"], ["A heron."],
    ]  # fmt: skip
    assert calls_of(whole[1])[0].args_as_dict() == {"at": 1}


def test_a_text_that_is_too_long_is_not_read():
    with pytest.raises(UsageError, match="at most 64 MB"):
        read("x" * (MOST + 1))


class Walked(dict):
    """Counts how many of its entries are walked past."""

    steps = 0

    def __iter__(self):
        for key in super().__iter__():
            self.steps += 1
            yield key

    def values(self):
        for key in self:
            yield self[key]


def test_nothing_is_searched_through_for_each_line():
    reader, at = _Reader(), "2026-01-05T09:00:00Z"
    reader.logs, reader.tasks = Walked(), Walked()
    reader.take({"kind": "session", "id": "s", "title": "t", "created_at": at})
    for number in range(1, 101):
        reader.take({"kind": "turn", "id": f"t{number}", "prompt": "hi", "created_at": at})
        task = {"kind": "task", "number": number, "title": "x", "status": "pending"}
        reader.take({**task, "parent": number - 1})
    for number in (1, 100, 7):
        event = {"kind": "event", "turn_id": f"t{number}", "at": at, "type": "stopped", "text": ""}
        reader.take(event)

    assert [event.turn for event in reader.events] == [0, 99, 6]
    assert reader.tasks[100].parent == 99
    assert (reader.logs.steps, reader.tasks.steps) == (0, 0)
