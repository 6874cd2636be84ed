import pytest

from long_running_agents.models.quirks import (
    ALL,
    Capabilities,
    alternating,
    answered,
    fitted,
    joined,
)

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}


def system(text):
    return {"role": "system", "content": text}


def user(text):
    return {"role": "user", "content": text}


def said(text, *calls):
    return {"role": "assistant", "content": text, **({"tool_calls": [*calls]} if calls else {})}


def result(call_id="c1", text="seen"):
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def roles(messages):
    return [message["role"] for message in messages]


def test_to_a_server_that_takes_all_nothing_is_changed():
    history = [system("a"), user("b"), user("c"), said("d", CALL), result(), system("e")]

    assert fitted(history, ALL) == answered(history) == history


@pytest.mark.parametrize("rest", [[], [user("next")], [said("next")]])
def test_every_call_gets_a_result_and_only_one(rest):
    second = {**CALL, "id": "c2"}

    assert roles(answered([said("", CALL, second), *rest])) == [
        "assistant", "tool", "tool", *roles(rest),
    ]  # fmt: skip
    complete = answered([said("", CALL, second), result("c2"), *rest])
    assert [m["tool_call_id"] for m in complete if m["role"] == "tool"] == ["c2", "c1"]
    assert answered([said("", CALL), result(), *rest]) == [said("", CALL), result(), *rest]


def test_neighbours_of_one_role_are_one_message():
    assert joined([user("a"), user("b")]) == [user("a\n\nb")]
    assert joined([said("a"), said("", CALL)]) == [said("a", CALL)]
    assert joined([result("c1"), result("c2")]) == [result("c1"), result("c2")]
    assert joined([user("a"), user([PICTURE])]) == [
        user([{"type": "text", "text": "a"}, PICTURE]),
    ]


def test_later_system_messages_become_words_in_their_place():
    history = [system("a"), user("b"), said("c"), system("d"), user("e")]

    assert fitted(history, Capabilities(later_system=False)) == [
        system("a"), user("b"), said("c"), user("d"), user("e"),
    ]  # fmt: skip


def test_a_system_message_is_put_in_front_of_the_first_words():
    without = Capabilities(system_role=False)

    assert fitted([system("a"), user("b")], without) == [user("a\n\nb")]
    assert fitted([system("a"), said("b")], without) == [user("a"), said("b")]
    assert fitted([system("a")], without) == [user("a")]
    assert fitted([], without) == []


def test_roles_take_turns():
    history = [said("hello"), user("a"), user("b"), said("", CALL), result(), user("c"), said("d")]

    ordered = alternating(history)
    assert roles(ordered) == [
        "user", "assistant", "user", "assistant", "tool", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    assert ordered[2] == user("a\n\nb")
