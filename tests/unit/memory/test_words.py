import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.memory import words
from long_running_agents.memory.words import forms


def test_a_question_is_asked_by_the_words_that_tell_something():
    assert words.asked("When did Ada go to the Opera?") == ["ada", "go", "opera"]


def test_a_question_of_little_words_alone_is_asked_by_them():
    assert words.asked("Who are you?") == ["who", "are", "you"]


def test_a_word_is_asked_once():
    assert words.asked("tea, Tea and TEA") == ["tea"]


def test_a_pasted_page_is_not_a_question():
    page = " ".join(f"word{number}" for number in range(1000))
    assert len(words.asked(page)) == words.MOST_WORDS


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("我昨天在图书馆看书", "图书馆"),
        ("明日は東京で会議があります", "東京"),
        ("우리는 서울에서 만났다", "서울"),
        ("แมวของฉันชื่อมะลิ", "มะลิ"),
        ("我住在柏林", "林"),
    ],
)
def test_writing_without_spaces_is_found_by_any_part_of_it(text, part):
    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE found USING fts5(words)")
    index.execute("INSERT INTO found VALUES (?)", (words.searchable(text),))

    query = " AND ".join(f'"{piece}"' for piece in words.asked(part))

    assert index.execute("SELECT count(*) FROM found WHERE found MATCH ?", (query,)).fetchone()[0]
    index.close()


def test_a_long_text_tells_more_than_a_short_one_and_a_question_less():
    short, long = "We went out.", "We went out to the lake " + "and swam " * 20
    assert words.telling(short) < words.telling(long)
    assert words.telling("Did we go out?") < words.telling(short)


def test_names_tell_something_and_talk_about_the_listener_less():
    assert words.telling("we met at the Grand Hotel") > words.telling("we met at the grand hotel")
    assert words.telling("you and your plans for you") < words.telling("me and my plans for me")


@pytest.mark.parametrize(
    ("content", "signs"),
    [
        ("We sail.", 0),
        ("Do we sail?", words.QUESTION),
        ("We sailed last week.", words.TIME),
        ("We have three boats.", words.NUMBER),
        ("在2023年?", words.QUESTION | words.TIME | words.NUMBER),
    ],
)
def test_a_text_shows_signs_of_what_is_asked_for(content, signs):
    assert words.signs(content) == signs


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Where is Ada?", 0),
        ("When did Ada sail?", words.TIME),
        ("How long has she been away?", words.TIME),
        ("How many boats has she?", words.NUMBER),
    ],
)
def test_a_question_says_which_signs_its_answer_should_have(question, wanted):
    assert words.wanted(question) == wanted


@given(st.text())
def test_any_text_can_be_indexed(content):
    indexed = words.indexed(content)
    assert indexed.length == len(words.spoken(content))
    assert -2 <= indexed.telling <= 2
    assert 0 <= indexed.signs < 8


def test_what_was_said_before_is_the_context():
    assert words.in_context("", "Yes.") == "Yes."
    assert words.in_context("Tea?", "Yes.") == "Tea?\nYes."


def test_a_word_has_its_irregular_forms():
    assert set(forms("went")) == {"went", "go", "gone"}
    assert forms("child") == ("child", "children")


def test_a_form_of_two_words_brings_both():
    assert {"lie", "lain", "lying"} <= set(forms("lie"))


def test_a_regular_word_is_all_of_its_forms():
    assert forms("paint") == ("paint",)
