"""Which agent a message is for, measured with agents and sentences that were written before."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from tests.unit.domain.routing_set import AGENTS, SENTENCES

from long_running_agents.agent.router import AgentIndex
from long_running_agents.domain.agent import AgentSpec, AgentStage, said_by
from long_running_agents.domain.routing import routed
from long_running_agents.memory.embedding.bundled import BundledEmbedder

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def specs(*drafts):
    return [
        AgentSpec(**said_by(each), version=1, stage=AgentStage.PUBLISHED, created_at=NOON)
        for each in drafts
    ]


async def index_of(drafts, embedder, learned=None):
    index = AgentIndex.of(1, specs(*drafts), learned or {})
    return replace(index, vectors=await embedder.documents(index.texts))


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
