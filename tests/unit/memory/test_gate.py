import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.memory.desk import NOON

from long_running_agents.domain.ids import TurnId
from long_running_agents.domain.memory import Memory, MemoryDraft, MemoryKind, MemoryScope, Trust
from long_running_agents.domain.redaction import Redactor
from long_running_agents.memory import write_gate
from long_running_agents.memory.embedding.bundled import BundledEmbedder
from long_running_agents.memory.service import pieces
from long_running_agents.memory.write_gate import masked

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
REDACT = Redactor(["hunter2-of-the-house"])


def cases(name):
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def refused(content, trust=Trust.USER, source="user"):
    return write_gate.refusal(MemoryDraft(content=content, trust=trust, source=source), REDACT)


@pytest.mark.parametrize(
    "content", ["Hi", "Thank you!", "What is a fjord?", "The user asked how I am."]
)
@pytest.mark.parametrize("kind", [MemoryKind.FACT, MemoryKind.NOTE])
def test_what_a_turn_would_remember_has_to_be_a_fact(content, kind):
    told = MemoryDraft(content=content, kind=kind, turn_id=TurnId("t1"))

    assert "no fact" in write_gate.refusal(told, REDACT)
    # What was said is said, and a person may note a question.
    assert not write_gate.refusal(replace(told, kind=MemoryKind.CONVERSATION), REDACT)
    assert not write_gate.refusal(replace(told, turn_id=None), REDACT)


def a_memory(content, number=1, **changed):
    values = {
        "id": number,
        "owner": "me",
        "kind": MemoryKind.FACT,
        "scope": MemoryScope.USER,
        "trust": Trust.USER,
        "actor": "user",
        "source": "user",
        "content": content,
        "agent": None,
        "session_id": None,
        "turn_id": None,
        "previous": None,
        "event_at": NOON,
        "recorded_at": NOON,
    }
    return Memory(**{**values, **changed})


GOOD = [
    "My dog is called Rex",
    "Tel: +49 30 1234567",
    "Call Tom on +49 151 2345 6789 01",
    "The ISBN is 978-3-16-148410-0",
    "The releases were on 2024-01-02 and 2024-03-04",
    "Order number 20240102202403045",
    "我喜欢喝绿茶",
    "猫が好きです",
    "Ich wohne in Köln.",
    "E = mc2 is Einstein's",
    "The build uses gcc -O2 -Wall",
    "[Lena] prefers mornings",
    "The config is {debug: true}",
    "x" * 60 + " is a long word",
    "Rent: 1,200 EUR (due on the 3rd)",
    "a " * 1999,
]
JUNK = [
    ("", "empty"),
    ("   \n\t ", "empty"),
    ("?!… 🎉", "empty"),
    ("\u200b", "empty"),
    ("fact " * 900, "4500 characters|4499 characters"),
    ("42", "output of a tool"),
    ("---- 2024 ----", "output of a tool"),
    ('{"id": 12, "items": [' + ", ".join(str(n) for n in range(40)) + "]}", "output of a tool"),
    ("<html><body>Hello</body></html>", "output of a tool"),
    ("Look: <script>alert(1)</script>", "output of a tool"),
    ("Traceback (most recent call last):\n  File 'x'", "output of a tool"),
    ("it broke\n    at Main.run(Main.java:12)", "output of a tool"),
    ("0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 || " * 5, "output of a tool"),
    ("blob " + "QUJD" * 60, "output of a tool"),
]
SECRET = [
    "My password is hunter2",
    "The password for the router is: sunflower99",
    "password = correct-horse",
    "Password: Tr0ub4dor",
    "PIN: 4821",
    "my bank PIN is 4821",
    "The api key is 9f8e7d6c5b",
    "api_key=abcdef",
    "Mein Passwort ist Hund123",
    "Kennwort: geheim!",
    "mon mot de passe est Soleil42",
    "mi contraseña es gato77",
    "我的密码是 abc12345",
    "the passphrase is swordfish",
    "The key is " + "sk-" + "ant-api03-abcdefghijklmnop1234",
    "It was hunter2-of-the-house all along",
    "Card 4111 1111 1111 1111 expires soon",
    "Pay with 5500-0000-0000-0004",
    "postgres://admin:s3cret@db.local/app",
    "Authorization: Bearer abcdefghij0123456789",
    "-----BEGIN RSA PRIVATE KEY----- MIIE",
    "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdEFGH",
    "CVV: 123",
]
NO_SECRET = [
    "The password is stored in 1Password",
    "My password is kept in the safe",
    "The password is in the vault under 'router'",
    "The PIN is on a note in the drawer",
    "The secret is patience",
    "The secret is to whisk slowly",
    "Her secret was that she loved jazz",
    "The password is expired",
    "The password was changed on 3 May",
    "My api key is missing",
    "The password is [redacted]",
    "API_KEY=$OPENAI_KEY in the script",
    "password: <your password>",
    "The passenger list is long",
    "I pass: my turn is over",
    "The door code is kept by Lena",
    "See https://example.org/docs for more",
]


@pytest.mark.parametrize("content", GOOD)
def test_a_good_sentence_passes(content):
    assert refused(content) == ""


@pytest.mark.parametrize(("content", "reason"), JUNK)
def test_junk_is_refused_with_a_reason(content, reason):
    assert any(part in refused(content) for part in reason.split("|"))


@pytest.mark.parametrize("content", SECRET)
@pytest.mark.parametrize("trust", [Trust.USER, Trust.WEB])
def test_a_secret_is_refused_whoever_says_it(content, trust):
    assert "secret" in refused(content, trust)


@pytest.mark.parametrize("content", NO_SECRET)
def test_where_a_secret_is_kept_may_be_remembered(content):
    assert refused(content) == ""


@pytest.mark.parametrize("content", SECRET[:15] + SECRET[16:])
def test_what_is_masked_gives_nothing_away_and_passes_the_gate(content):
    hidden = REDACT(masked(content))

    assert "[redacted]" in hidden
    assert refused(hidden) == "" or "secret" not in refused(hidden)


def test_a_masked_text_keeps_everything_else():
    assert masked("Hi. My password is hunter2, and my dog is Rex.") == (
        "Hi. My password is [redacted] and my dog is Rex."
    )
    assert masked("Nothing to hide.\n\nReally.") == "Nothing to hide.\n\nReally."


POISON = cases("poison.jsonl")


@pytest.mark.parametrize("case", [case for case in POISON if case["expect"] == "refused"])
def test_an_order_that_nobody_said_is_refused(case):
    reason = refused(case["content"], Trust(case["trust"]), case["source"])

    assert "remember facts, not orders" in reason or "output of a tool" in reason


@pytest.mark.parametrize("case", [c for c in POISON if c["expect"] in ("stored", "labelled")])
def test_what_a_person_wants_and_what_is_merely_a_lie_is_stored(case):
    assert refused(case["content"], Trust(case["trust"]), case["source"]) == ""


@pytest.mark.parametrize("case", [case for case in POISON if case["expect"] == "refused"])
def test_the_same_words_are_never_refused_as_orders_when_the_user_says_them(case):
    assert "orders" not in refused(case["content"], Trust.USER, "user")


def test_few_facts_of_the_web_are_taken_for_orders():
    facts = [case for case in POISON if case["expect"] == "fact"]
    turned_away = [f["content"] for f in facts if refused(f["content"], Trust.WEB, f["source"])]

    assert len(facts) >= 30
    assert len(turned_away) <= 2, turned_away


def test_the_poisoning_set_is_large_enough():
    kinds = [case["expect"] for case in POISON]

    assert kinds.count("refused") >= 40
    assert sum(case["trust"] == "user" for case in POISON) >= 20


@pytest.mark.parametrize(
    ("new", "old", "allowed"),
    [
        (Trust.USER, Trust.USER, True),
        (Trust.AGENT, Trust.USER, True),
        (Trust.TOOL, Trust.USER, False),
        (Trust.WEB, Trust.USER, False),
        (Trust.WEB, Trust.AGENT, False),
        (Trust.WEB, Trust.TOOL, False),
        (Trust.WEB, Trust.WEB, True),
        (Trust.TOOL, Trust.WEB, True),
    ],
)
def test_what_nobody_said_does_not_replace_what_somebody_said(new, old, allowed):
    draft = MemoryDraft(content="I live in Rome", trust=new)

    assert (write_gate.outranked(draft, a_memory("I live in Bonn", trust=old)) == "") is allowed


PAIRS = cases("pairs.jsonl")


def figures(pairs, called):
    """Precision and recall of calling pairs alike."""
    right = sum(pair["alike"] and name for pair, name in zip(pairs, called, strict=True))
    return right / sum(called), right / sum(pair["alike"] for pair in pairs)


async def calls(pairs, *, embedded):
    embedder = BundledEmbedder()
    found = []
    for pair in pairs:
        one, other = pair["one"], pair["other"]
        vectors = await embedder.documents([one, other])
        cosine = float(vectors[0] @ vectors[1]) if embedded else 0.0
        found.append(write_gate.alike(one, other, cosine))
        assert found[-1] == write_gate.alike(other, one, cosine)
    return found


# Measured with the bundled embedder. What is called alike by mistake costs the writer a question,
# what is missed leaves two memories that contradict each other.
@pytest.mark.parametrize(
    ("chosen", "embedded", "precision", "recall"),
    [
        ("tuned", True, 0.97, 1.0),
        ("held out", True, 0.73, 0.93),
        ("tuned", False, 0.97, 0.88),
        ("held out", False, 0.76, 0.86),
    ],
)
async def test_the_gate_tells_repetition_and_contradiction_from_news(
    chosen, embedded, precision, recall
):
    pairs = [pair for pair in PAIRS if pair["set"] == chosen]

    measured = figures(pairs, await calls(pairs, embedded=embedded))

    assert measured == pytest.approx((precision, recall), abs=0.01)


async def test_every_pair_that_was_tuned_on_and_contradicts_itself_is_noticed():
    pairs = [pair for pair in PAIRS if pair["set"] == "tuned" and pair["alike"]]

    called = await calls(pairs, embedded=True)

    assert [pair for pair, name in zip(pairs, called, strict=True) if not name] == []


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("I live in Berlin", "I moved to Munich", True),
        ("The user lives in Berlin", "I'm now based in Munich", True),
        ("I work at Siemens", "I joined Bosch last week", True),
        ("My name is Sam", "Call me Alex", True),
        ("I am 34 years old", "I turned 35", True),
        ("I live in Berlin", "My mother lives in Rome", False),
        ("I live with two cats", "I moved to Munich", False),
        ("I work in the garden", "I joined Bosch", False),
        ("My name is Sam", "My dog's name is Rex", False),
    ],
)
def test_things_of_which_one_has_one_are_known_by_their_wording(one, other, together):
    assert write_gate.alike(one, other, 0.0) is together


def test_a_single_word_in_common_makes_nothing_alike():
    assert not write_gate.alike("Anna", "Anna travelled to Spain with her husband in May", 0.0)


def test_only_current_memories_that_are_no_talk_are_compared():
    draft = MemoryDraft(content="My dog is called Max")
    known = [
        a_memory("My dog is called Rex", 1),
        a_memory("My dog is called Rex", 2, kind=MemoryKind.CONVERSATION),
        a_memory("My dog is called Rex", 3, valid_to=NOON),
        a_memory("My cat is grey", 4),
    ]

    assert [memory.id for memory in write_gate.similar(draft, known, {})] == [1]


def test_the_origins_of_a_text_are_those_whose_words_it_has_and_the_user_had_not():
    heard = [a_memory("The spare key lies under the blue flower pot", 1), a_memory("I like tea", 2)]

    drawn = write_gate.origins("It lies under the blue flower pot", "Where is my key?", heard)

    assert [memory.id for memory in drawn] == [1]
    assert write_gate.origins("You like tea", "I like tea, remember?", heard) == []
    assert write_gate.origins("", "", heard) == []


def test_what_is_made_of_several_things_is_trusted_like_the_least_of_them():
    assert write_gate.least_trusted([Trust.USER, Trust.WEB, Trust.TOOL]) is Trust.WEB
    assert write_gate.least_trusted([Trust.AGENT]) is Trust.AGENT


@pytest.mark.parametrize(
    ("content", "said", "told"),
    [
        ("The user's dog is called Rex", "my dog is called Rex", True),
        ("The user agreed to pay 500 euros to Mallory", "what does the page say?", False),
        ("", "anything", False),
    ],
)
def test_what_the_user_told_is_mostly_in_the_users_words(content, said, told):
    assert write_gate.told_by_user(content, said) is told


def test_no_piece_of_a_long_text_is_longer_than_the_gate_would_allow():
    assert all(len(piece) <= write_gate.LONGEST for piece in pieces("word " * 5000))
