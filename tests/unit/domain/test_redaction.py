import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_running_agents.domain.redaction import MARK, Redactor

KEYS = [
    "sk-ant-api03-abcdefghijklmnop1234",
    "sk-or-v1-abcdefghijklmnop1234",
    "sk-proj-abcdefghijklmnopqrstuv",
    "sk-abcdefghijklmnopqrstuv1234",
    "AIza" + "a1" * 17,
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1" * 18,
    "xoxb-1234567890-abcdef",
    "AKIAABCDEFGHIJKLMNOP",
    "hf_" + "a1" * 17,
]
SECRETS = st.text(
    alphabet=st.characters(blacklist_categories=("Cs",)), min_size=6, max_size=40
).filter(lambda text: text.strip() and text not in MARK)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "around", ["{}", "key={}", "Bearer {}.", "'{}',", "a\n{}\n", "({})", "x:{}"]
)
def test_whatever_looks_like_a_providers_key_is_hidden(key, around):
    text = around.format(key)

    assert key not in Redactor()(text)
    assert MARK in Redactor()(text)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("before", ["\n", "\t", "\r", "\u001b", '"', "\\"])
def test_a_key_is_hidden_inside_json_text_whatever_comes_before_it(key, before):
    once = json.dumps({"text": f"look:{before}{key}"})
    twice = json.dumps({"args": once})

    assert key not in Redactor()(once)
    assert key not in Redactor()(twice)


@pytest.mark.parametrize(
    "text",
    [
        "risk-free",
        "task-list",
        "sk-short",
        "ask-me-anything-about-the-weather",
        "AKIAlower",
        "hf_x",
    ],
)
def test_ordinary_words_are_left_alone(text):
    assert Redactor()(text) == text


@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_never_comes_through(secret, before, after):
    assert secret not in Redactor([secret])(before + secret + after).replace(MARK, "\0")


@given(SECRETS, st.booleans(), st.booleans())
def test_a_known_secret_never_comes_through_json_however_deep(secret, ascii_once, ascii_twice):
    once = json.dumps({"a": secret}, ensure_ascii=ascii_once)
    twice = json.dumps([once], ensure_ascii=ascii_twice)

    for redact in (Redactor([secret]), Redactor([secret]).json):
        assert json.loads(redact(once)) == {"a": MARK}
        assert json.loads(json.loads(redact(twice))[0]) == {"a": MARK}


@given(st.text(max_size=5), st.text())
def test_short_values_are_left_alone(secret, text):
    plain = Redactor()(text)

    assert Redactor([secret])(text) == plain


def test_the_longest_secret_goes_first_so_that_none_is_half_hidden():
    redact = Redactor(["secret", "secret-and-more"])

    assert redact("secret-and-more, secret") == f"{MARK}, {MARK}"


def test_json_stays_json_of_the_same_shape():
    redact = Redactor(["1234567", "request", "content"])
    text = json.dumps(
        {
            "kind": "request",
            "content": "a request of 1234567",
            "tokens": 12345678,
            "args": '{"chat": 1234567, "note": "request"}',
        }
    )

    assert json.loads(redact.json(text)) == {
        "kind": "request",
        "content": f"a {MARK} of {MARK}",
        "tokens": 12345678,
        "args": f'{{"chat":1234567,"note":"{MARK}"}}',
    }


def test_json_without_secrets_is_not_touched():
    text = '{ "a":1,\n "b" : "ä" }'

    assert Redactor(["secret-value"]).json(text) is text


def test_what_is_no_json_is_hidden_all_the_same():
    assert Redactor(["secret-value"]).json('{"a": secret-value') == f'{{"a": {MARK}'
