from collections import Counter
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.text import WordIndex, about, keywords

WORDS = ["read", "reading", "file", "mail", "send", "price", "the", "of"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
NAMES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map("_".join)


def plainly(query, texts):
    """The scores as one would write them down, thing by thing."""
    found = {
        name: Counter(keywords(text)) + Counter(keywords(name) * 3) for name, text in texts.items()
    }
    spread = Counter(word for words in found.values() for word in words)
    return {
        name: sum(
            log(1 + len(texts) / spread[word]) * min(words[word], 4)
            for word in set(keywords(query))
            if words[word]
        )
        for name, words in found.items()
    }


@given(query=TEXTS, texts=st.dictionaries(NAMES, TEXTS, max_size=6))
def test_the_index_finds_what_the_plain_sum_finds(query, texts):
    scores = WordIndex(texts).scores(query)
    wanted = plainly(query, texts)
    assert set(scores) == {name for name, score in wanted.items() if score > 0}
    assert all(scores[name] == pytest.approx(wanted[name]) for name in scores)


def test_a_rare_word_counts_more_than_a_common_one_and_a_name_more_than_a_text():
    files = {f"{verb}_file": "A file." for verb in ("read", "write", "copy")}
    scores = WordIndex({**files, "send_mail": "A mail.", "fetch": "Gets a mail."}).scores(
        "a mail or a file"
    )
    assert scores["send_mail"] > scores["read_file"] > 0
    assert scores["send_mail"] > scores["fetch"] > 0


def test_words_that_say_nothing_find_nothing():
    assert WordIndex({"read_file": "Read the file."}).scores("what is the") == {}
    assert WordIndex({}).scores("file") == {}


def test_a_tool_is_found_by_its_arguments_too():
    assert about("Sends.", {"properties": {"to": {}, "body": {}}}) == "Sends. to body"
    assert about("Sends.", {}) == "Sends."
