"""A small home for stories about memories in files."""

from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

from tests.embedder import FakeEmbedder
from tests.unit.store.house import house

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import (
    MemoryDraft,
    MemoryId,
    MemoryKind,
    Query,
    Selection,
    Viewer,
)
from long_running_agents.memory.service import MemoryService
from long_running_agents.memory.transfer import export_lines
from long_running_agents.store import memories as stored
from long_running_agents.testing import FrozenClock

ME = "me"
NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


@asynccontextmanager
async def shelter(home, **options):
    """Memories in a home, with an embedder that needs no model."""
    async with house(home, environ=options.pop("environ", None)) as database:
        yield MemoryService(database, FakeEmbedder(), FrozenClock(NOON), **options)


async def fact(memories, content, *, owner=ME, **fields):
    """Write a memory without asking whether something similar is known."""
    viewer = Viewer(owner=owner)
    written = await memories.write(viewer, MemoryDraft(content=content, **fields), keep_both=True)
    return written.memory


async def correct(memories, old, content):
    draft = MemoryDraft(content=content, kind=old.kind)
    written = await memories.write(Viewer(owner=old.owner), draft, supersedes=old.id)
    return written.memory


async def turns(memories, *said, session="s1", owner=ME):
    """Remember a conversation: actor and words, in turn."""
    drafts = [
        MemoryDraft(
            content=content,
            kind=MemoryKind.CONVERSATION,
            actor=actor,
            session_id=SessionId(session),
        )
        for actor, content in said
    ]
    return await memories.write_many(owner, drafts)


async def every(memories, owner=ME):
    """All memories of an owner, superseded ones included."""
    return await memories.database.read(lambda tx: stored.selected(tx, owner, Selection()))


async def contents(memories, owner=ME):
    return [memory.content for memory in await every(memories, owner)]


async def exported(memories, owner=ME):
    return [line async for line in export_lines(memories, owner)]


async def found(memories, text, owner=ME):
    answer = await memories.find(Viewer(owner=owner), Query(text=text))
    return [hit.memory.content for hit in answer.hits]


async def forget(memories, *numbers, owner=ME):
    chosen = Selection(ids=frozenset(MemoryId(number) for number in numbers))
    return await memories.forget(owner, chosen)


def anonymous(memory):
    """A memory without what changes when it moves to another home."""
    return replace(
        memory, id=0, owner="", source="", previous=None, superseded_by=None, recorded_at=NOON
    )
