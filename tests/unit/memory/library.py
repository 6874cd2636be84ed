"""Small furnishings for stories about finding memories."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime

from tests.embedder import FakeEmbedder
from tests.unit.store.house import house

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import MemoryDraft, MemoryKind, Query, Viewer
from long_running_agents.memory.service import MemoryService
from long_running_agents.testing import FrozenClock

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ME = Viewer()
YOU = Viewer(owner="you")


@asynccontextmanager
async def library(home, *, embedder=None):
    """Memories in a home of their own; without an embedder unless one is given."""
    async with house(home) as database:
        yield MemoryService(database, embedder, FrozenClock(NOON))


@asynccontextmanager
async def full_library(home):
    async with library(home, embedder=FakeEmbedder()) as memories:
        yield memories


def talk(*lines, session="s1", **changed):
    """Turns of a conversation, written as 'who: what'."""
    turns = (line.split(": ", 1) for line in lines)
    return [
        MemoryDraft(
            content=content,
            kind=MemoryKind.CONVERSATION,
            actor=actor,
            session_id=SessionId(session),
            **changed,
        )
        for actor, content in turns
    ]


def notes(*contents, **changed):
    return [MemoryDraft(content=content, kind=MemoryKind.NOTE, **changed) for content in contents]


async def found(memories, question, viewer=ME, **asked):
    """What a search brings up, as texts."""
    result = await memories.find(viewer, Query(text=question, **asked))
    return [hit.memory.content for hit in result.hits]
