"""What clients say was said: read, compared, taken over."""

import time

import pytest

from long_running_agents.errors import UsageError
from long_running_agents.server.openai.history import (
    MOST_CHARACTERS,
    MOST_EXCHANGES,
    MOST_INSTRUCTIONS,
    HistoryEntry,
    SpeakerRole,
    digest,
    exchanges,
    instructions,
    newest,
)


def user(text):
    return HistoryEntry(role=SpeakerRole.USER, text=text)


def assistant(text="", *calls):
    return HistoryEntry(role=SpeakerRole.ASSISTANT, text=text, calls=calls)


def system(text):
    return HistoryEntry(role=SpeakerRole.SYSTEM, text=text)


def result(call_id, text=""):
    return HistoryEntry(role=SpeakerRole.TOOL, text=text, call_id=call_id)


TALK = [user("Hi there"), assistant("Let me see.", "c1"), result("c1", "42"), assistant("It is.")]


@pytest.mark.parametrize(
    "told",
    [
        [system("It is noon."), *TALK],
        [user("  Hi\nthere "), *TALK[1:]],
        [TALK[0], TALK[1], assistant("It is.")],
        [TALK[0], TALK[1], result("c1", "pruned"), TALK[3]],
        [TALK[0], assistant("Let me see."), assistant("", "c1"), result("c1"), TALK[3]],
        [*TALK[:3], assistant("<details>\n<summary>x</summary>y</details>It is.")],
        [*TALK, assistant("")],
    ],
)
def test_the_same_conversation_told_another_way_has_the_same_name(told):
    assert digest(told) == digest(TALK)


@pytest.mark.parametrize(
    "told",
    [
        TALK[:1],
        [user("Hi"), *TALK[1:]],
        [TALK[0], assistant("Let me see.", "c2"), *TALK[2:]],
        [TALK[0], assistant("Let me see."), *TALK[2:]],
        [*TALK[:3], assistant("It is not.")],
        [assistant("Hi there"), *TALK[1:]],
        [],
    ],
)
def test_another_conversation_has_another_name(told):
    assert digest(told) != digest(TALK)


def test_half_a_character_does_not_hurt():
    assert digest([user("\ud800")]) == digest([user("?")])


def test_what_is_folded_without_end_takes_no_time():
    began = time.perf_counter()
    digest([user("<details " * 100_000)])
    assert time.perf_counter() - began < 2


def test_what_is_new_follows_the_last_words_of_the_assistant():
    new = newest([*TALK, system("Be brief."), user("One."), user("Two.")])
    assert (new.words, new.results) == (("One.", "Two."), {})
    assert list(new.before) == TALK


def test_results_are_new_too():
    new = newest([user("x"), assistant("", "a", "b"), result("a", "1"), result("b", "2")])
    assert (new.words, new.results) == ((), {"a": "1", "b": "2"})


@pytest.mark.parametrize(
    "told",
    [[], [system("x")], TALK, [user("  ")], [result("a", "1"), result("a", "2")]],
)
def test_nothing_new_or_two_results_of_one_call_are_refused(told):
    with pytest.raises(UsageError):
        newest(told)


def test_only_words_are_taken_over():
    told = [*TALK, user("And"), user("now?"), assistant("", "c9"), result("c9", "x"), user("Bye")]
    assert exchanges(told) == [("Hi there", "Let me see.\n\nIt is.")]


def test_what_is_taken_over_is_bounded_and_the_newest():
    told = [each for n in range(200) for each in (user(f"q{n}"), assistant(f"a{n}"))]
    kept = exchanges(told)
    assert len(kept) == MOST_EXCHANGES
    assert kept[-1] == ("q199", "a199")
    long = [each for _ in range(9) for each in (user("q"), assistant("a" * (MOST_CHARACTERS // 4)))]
    assert len(exchanges(long)) == 3


def test_instructions_are_joined_and_cut():
    assert instructions([system(" a "), user("x"), system("b")], "first") == "first\n\na\n\nb"
    assert len(instructions([system("a" * 2 * MOST_INSTRUCTIONS)])) < MOST_INSTRUCTIONS + 50
