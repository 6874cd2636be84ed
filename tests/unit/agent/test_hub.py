"""The bell: nobody misses a fact, and nobody holds up the speaker."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from long_running_agents.agent.hub import Hub
from long_running_agents.domain.events import (
    DeltaEnvelope,
    EventEnvelope,
    TextWritten,
    WordsArrived,
)

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def fact(seq):
    return EventEnvelope(
        seq=seq, session_id="s", turn_id="t", owner="me", at=NOON, event=TextWritten(text=str(seq))
    )


def word(text):
    delta = WordsArrived(text=text, iteration=1)
    return DeltaEnvelope(session_id="s", turn_id="t", owner="me", delta=delta)


class Books:
    """A store that can be read from any number on."""

    def __init__(self, *facts):
        self.facts = list(facts)
        self.read = 0

    async def after(self, session_id, owner, seq, limit):
        self.read += 1
        return [known for known in self.facts if known.seq > seq]


async def test_whoever_attends_hears_all_owners():
    hub, heard = Hub(Books().after), []
    hub.attend(heard.append)
    hub.publish([fact(1), replace(fact(2), owner="somebody else")])
    hub.publish_delta(word("not stored"))
    assert [(each.seq, each.owner) for each in heard] == [(1, "me"), (2, "somebody else")]


async def take(listener, count):
    return [await anext(listener) for _ in range(count)]


async def test_an_ear_is_open_before_anyone_listens():
    hub = Hub(Books().after)
    listener = hub.listen("s", 0)
    hub.publish_delta(word("first"))
    [heard] = await take(listener, 1)
    assert heard.delta.text == "first"


async def test_who_listens_late_hears_the_words_between_the_facts_they_belong_to():
    hub = Hub(Books(fact(1), fact(2), fact(3)).after)
    listener = hub.listen("s", 0)
    hub.publish_delta(word("two"))
    hub.publish([fact(2)])
    hub.publish_delta(word("three"))
    hub.publish([fact(3)])
    heard = [getattr(each, "seq", None) or each.delta.text for each in await take(listener, 5)]
    assert heard == [1, "two", 2, "three", 3]


async def test_facts_come_from_the_books_and_from_the_bell_without_gap_or_double():
    books = Books(fact(1), fact(2))
    hub = Hub(books.after)
    listener = hub.listen("s", 0)
    for known in (fact(2), fact(3)):
        hub.publish([known])
    assert [heard.seq for heard in await take(listener, 3)] == [1, 2, 3]


async def test_whoever_was_away_hears_only_what_is_new():
    hub = Hub(Books(fact(1), fact(2), fact(3)).after)
    assert [heard.seq for heard in await take(hub.listen("s", 2), 1)] == [3]


async def test_a_listener_that_falls_behind_loses_words_and_no_facts():
    books = Books()
    hub = Hub(books.after)
    listener = hub.listen("s", 0)
    for number in range(1, 2501):
        books.facts.append(fact(number))
        hub.publish([fact(number)])
        hub.publish_delta(word("x"))
    facts = []
    while len(facts) < 2500:
        heard = await anext(listener)
        if isinstance(heard, EventEnvelope):
            facts.append(heard.seq)
    assert facts == list(range(1, 2501))
    assert books.read >= 1


async def test_other_sessions_are_not_heard():
    hub = Hub(Books().after)
    listener = hub.listen("another", 0)
    hub.publish_delta(word("private"))
    await listener.aclose()
    assert [heard async for heard in listener] == []


async def test_an_ear_nobody_holds_is_gone():
    hub = Hub(Books().after)
    listener = hub.listen("s", 0)
    assert len(hub._listeners["s"]) == 1
    del listener
    assert len(hub._listeners["s"]) == 0
