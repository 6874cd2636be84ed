"""What the curator puts aside, and what it leaves alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from long_running_agents.agent.memory import came_up
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import MemoryDraft, MemoryId, MemoryScope, Trust
from long_running_agents.domain.skill import Skill, SkillKind
from long_running_agents.jobs.curator import by_hand, duplicates, failing, put_aside, useless
from long_running_agents.store.learned import MemoryUse
from long_running_agents.store.memories import as_memory

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=60)


def known(content="The heron eats frogs.", number=1, at=LONG_AGO, **said):
    said = {"turn_id": TurnId("t1"), "source": "conversation", **said}
    memory = as_memory("me", MemoryDraft(content=content, **said), at)
    return replace(memory, id=MemoryId(number))


def use(memory=None, **counts):
    return MemoryUse(memory=memory or known(), **counts)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (use(shown=20), "recalled 20 times and not used for 60 days"),
        (use(shown=19), ""),
        (use(known(at=LONG_AGO + timedelta(hours=1)), shown=20), ""),
        (use(shown=20, used=1, used_at=NOW - timedelta(days=59)), ""),
        (use(shown=20, used=1, used_at=LONG_AGO), "not used for 60 days"),
        (use(known(source="user", turn_id=None), shown=99), ""),
        (use(known(source="file:knowledge.md", turn_id=None), shown=99), ""),
        (use(known(source="import:old.md", turn_id=None), shown=99), "recalled 99 times"),
        (use(shown=3, harmed=3), "3 turns whose evidence was refuted, and used in 0"),
        (use(shown=9, used=3, harmed=3), ""),
        (use(shown=9, used=0, harmed=2), ""),
        (use(known(source="user", turn_id=None), harmed=4, used=3), "4 turns"),
    ],
)
def test_a_memory_rests_that_nobody_uses_or_that_does_harm(found, why):
    said = useless(found, NOW)
    assert (why in said, bool(why)) == (True, bool(said))


def test_what_a_person_wrote_is_known_by_where_it_came_from():
    assert by_hand(known(source="user", turn_id=None))
    assert not by_hand(known(source="user"))
    assert not by_hand(known(source="user", turn_id=None, trust=Trust.AGENT))


LONG = "The harbour of Hamburg closes at ten in winter because of the ice on the river"


@pytest.mark.parametrize(
    ("older", "newer", "same"),
    [
        ("The boat lies in Hamburg.", "the boat LIES in  Hamburg", True),
        (LONG, f"{LONG} Elbe", True),
        (LONG, LONG.replace("ten", "eleven"), False),
        (LONG, LONG.replace("closes", "never closes"), False),
        (f"{LONG} 2026", LONG, False),
        ("I live in Hamburg.", "I live in Berlin.", False),
        ("The boat is red.", "The boat is not red.", False),
        ("The boat lies in Hamburg.", "The boat.", False),
        (f"{LONG} " + " ".join(f"w{i}" for i in range(40)), LONG, False),
    ],
)
def test_only_what_says_the_same_is_there_twice(older, newer, same):
    found = [known(older, 1), known(newer, 2)]
    assert [(a.id, b.id) for a, b in duplicates(found)] == ([(1, 2)] if same else [])


def test_the_better_trusted_is_kept_before_the_newer():
    trusted = known("The boat lies in Hamburg.", 1)
    said = known("The boat lies in Hamburg", 2, trust=Trust.AGENT)
    assert [(a.id, b.id) for a, b in duplicates([trusted, said])] == [(2, 1)]


def test_what_others_see_stays_beside_what_one_session_sees():
    here = known("The boat lies in Hamburg.", 1)
    there = known(
        "The boat lies in Hamburg", 2, scope=MemoryScope.SESSION, session_id=SessionId("talk")
    )
    assert list(duplicates([here, there])) == []


def test_of_three_that_say_the_same_one_is_kept():
    found = [known("The boat lies in Hamburg.", number) for number in (1, 2, 3)]
    assert {(a.id, b.id) for a, b in duplicates(found)} == {(1, 3), (2, 3)}


def test_what_rests_for_another_reason_takes_no_place_of_what_says_the_same():
    unused = use(known("The boat lies in Hamburg.", 2), shown=20)
    aside = put_aside([use(known("The boat lies in Hamburg", 1)), unused], NOW)
    assert [(memory.id, "not used" in why) for memory, why in aside] == [(2, True)]


def test_what_has_expired_rests():
    past = known(expires_at=NOW - timedelta(days=1))
    later = known("The bittern booms.", 2, expires_at=NOW + timedelta(days=1))
    assert put_aside([use(past), use(later)], NOW) == [(past, "it expired on 31 May 2026")]


@pytest.mark.parametrize(
    ("recent", "enabled", "why"),
    [
        ("x" * 9 + "." * 11, True, "it failed in 9 of its last 20 calls"),
        ("x" * 8 + "." * 12, True, ""),
        ("x" * 19, True, ""),
        ("x" * 20, False, ""),
    ],
)
def test_a_skill_rests_that_fails_too_often(recent, enabled, why):
    skill = Skill(
        owner="me",
        name="celsius",
        kind=SkillKind.FUNCTION,
        enabled=enabled,
        version=1,
        newest=1,
        proposed=None,
        description="",
        created_at=NOW,
        updated_at=NOW,
        recent=recent,
    )
    assert failing(skill) == why


@pytest.mark.parametrize(
    ("memory", "said", "did", "used"),
    [
        ("The boat lies in Hamburg.", "Where is my boat?", "It lies in Hamburg.", True),
        ("The boat lies in Hamburg.", "Where is my boat?", "I do not know.", False),
        ("The boat lies in Hamburg.", "Is the boat in Hamburg, and lies there?", "Yes.", False),
        ("Run tests with make check.", "Test it.", '{"command": "make check"}', False),
        ("Use make check for tests.", "Go.", '{"command": "make check # tests"}', True),
        ("船在汉堡港", "船在哪里", "它在汉堡港。", True),
        ("The boat lies in Hamburg.", "Where?", "", False),
    ],
)
def test_a_memory_was_used_when_its_own_words_came_up(memory, said, did, used):
    assert came_up(memory, said, did) is used
