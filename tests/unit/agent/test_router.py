"""Which agent a message is for, measured with agents and sentences that were written before."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import pytest
from tests.embedder import FakeEmbedder
from tests.unit.domain.routing_set import AGENTS, FOR_NOBODY, SENTENCES

from long_running_agents.agent.router import AgentIndex
from long_running_agents.domain.agent import AgentDraft, AgentSpec, AgentStage, ToolChoice, said_by
from long_running_agents.domain.routing import routed
from long_running_agents.domain.text import is_small_talk
from long_running_agents.memory.embedding.bundled import BundledEmbedder

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def specs(*drafts):
    return [
        AgentSpec(**said_by(each), version=1, stage=AgentStage.PUBLISHED, created_at=NOON)
        for each in drafts
    ]


async def index_of(drafts, embedder, learned=None):
    index = AgentIndex.of(1, specs(*drafts), learned or {})
    return index.embedded(await embedder.documents(index.texts))


@cache
def measured():
    """What comes of each sentence: its agent, and the routing."""

    async def work():
        embedder = BundledEmbedder()
        index = await index_of(AGENTS, embedder)
        return [
            (name, routed(index.find(text, await embedder.query(text))))
            for name, texts in SENTENCES.items()
            for text in texts
        ]

    return asyncio.run(work())


def right(name, routing):
    return bool(routing.candidates) and routing.candidates[0].agent == f"{name}@1"


def test_four_of_five_messages_find_their_agent_without_a_model():
    found = [right(name, routing) for name, routing in measured()]

    assert (len(AGENTS), len(found)) == (20, 100)
    assert sum(found) >= 80


def test_what_words_decide_is_right_nine_times_of_ten():
    sure = [right(name, routing) for name, routing in measured() if routing.by == "words"]

    assert len(sure) >= 60
    assert sum(sure) / len(sure) >= 0.9


def test_the_right_agent_is_nearly_always_on_the_list_that_a_model_chooses_from():
    listed = [
        any(each.agent == f"{name}@1" for each in routing.candidates)
        for name, routing in measured()
    ]

    assert sum(listed) >= 90


def test_every_candidate_says_why():
    for _, routing in measured():
        assert all(each.words or each.near_example for each in routing.candidates)


def found(drafts, text, *, learned=None, needs=(), vectors=True):
    async def work():
        embedder = FakeEmbedder()
        index = await index_of(drafts, embedder, learned)
        index = index if vectors else index.embedded(None)
        return index.find(text, await embedder.query(text) if vectors else None, needs)

    return asyncio.run(work())


COOK = AgentDraft(name="cook", description="Recipes for soups", examples=("Soup of leeks",))
SMITH = AgentDraft(name="smith", description="Forges iron", tools=ToolChoice(allow=("web_fetch",)))


def test_an_agent_is_found_by_its_tools_and_by_words_of_any_script():
    baker = AgentDraft(name="baker", description="Bäckt Brötchen")
    cat = AgentDraft(name="neko", description="猫の世話をします")

    for text, name in (
        ("fetch this from the web", "smith@1"),
        ("BRÖTCHEN, bitte", "baker@1"),
        ("猫の世話", "neko@1"),
    ):
        [first, *_] = found([COOK, SMITH, baker, cat], text, vectors=False)
        assert first.agent == name, text
        assert first.words or first.near_example


def test_only_agents_with_the_needed_capabilities_are_candidates():
    able = replace(SMITH, name="other", capabilities=("Fire", "metal"))

    told = found([COOK, SMITH, able], "forges iron", needs=["fire"])

    assert [each.agent for each in told] == ["other@1"]
    assert found([COOK, SMITH, able], "forges iron", needs=["fire", "web"]) == []


def test_what_a_person_said_is_for_an_agent_brings_the_same_words_to_it():
    assert found([COOK, SMITH], "quench the blade", vectors=False) == []

    told = found([COOK, SMITH], "quench my blade", learned={"smith": ["quench the blade"]})

    assert told[0].agent == "smith@1"
    assert told[0].words == ("quench", "blade")
    assert told[0].near_example == "quench the blade"


@pytest.mark.parametrize("text", ["", "   ", "and then?", "?!", "ok", "asdf", "yes please"])
def test_words_that_say_nothing_are_for_nobody(text):
    assert found([COOK, SMITH], text, vectors=False) == []


def test_nobody_is_found_where_nobody_is():
    assert found([], "forge", vectors=False) == []


def test_greetings_are_for_the_agent_of_the_home():
    assert all(is_small_talk(text) or not found(AGENTS, text, vectors=False) for text in FOR_NOBODY)


def test_among_many_agents_the_same_one_is_found():
    many = [
        AgentDraft(name=f"agent-{number}", description=f"Knows village {number} and its mill")
        for number in range(300)
    ]

    told = found([*many, COOK], "soups of leeks at the mill")

    assert told[0].agent == "cook@1"
    assert len(told) <= 5
