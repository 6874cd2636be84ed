from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.models.text_stream import TextCallFilter

NAMES = {"look": ["at"], "wait": []}
PIECES = st.sampled_from(
    [
        "<tool", ' name="look">', '{"at": 1}', "</tool>", "<tool_call>", "</tool_call>", "```",
        "json", '{"name": "wait"', ', "arguments": {}}', "look", "(at='x')", " ", "a", "<", "`",
        "<think>", "</think>", "<function=wait>", "</function>", "[", "]", "{", "}", "\n", "wait",
        "<tool_result",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=14).map("".join)


def outcome(text, cuts, *, names=NAMES, native=False):
    holdback = TextCallFilter(names)
    bounds = [0, *sorted({min(cut, len(text)) for cut in cuts}), len(text)]
    shown = [holdback.feed(text[a:b]) for a, b in pairwise(bounds)]
    end = holdback.end(native=native)
    said = "".join(piece.text for piece in shown) + end.text
    thought = "".join(piece.thinking for piece in shown) + end.thinking
    return said, thought, [*end.calls]


@given(TEXTS, st.lists(st.integers(0, 80), max_size=8))
def test_it_does_not_matter_where_the_pieces_of_a_stream_end(text, cuts):
    assert outcome(text, cuts) == outcome(text, [])


@given(TEXTS, st.lists(st.integers(0, 80), max_size=8))
def test_without_calls_and_thoughts_every_letter_is_shown(text, cuts):
    said, thought, calls = outcome(text, cuts)

    if not calls and "<think>" not in text:
        assert (said, thought) == (text, "")


@given(st.text(), st.lists(st.integers(0, 80), max_size=8))
def test_any_text_comes_through(text, cuts):
    assert outcome(text, cuts)[0] == text or "think" in text


@given(TEXTS)
def test_only_known_tools_are_called(text):
    assert {call.name for call in outcome(text, [])[2]} <= NAMES.keys()
    assert outcome(text, [], names={})[2] == []
