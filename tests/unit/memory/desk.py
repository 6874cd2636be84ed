"""Small furnishings for the memory's stories."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from sqlalchemy import text
from tests.embedder import FakeEmbedder
from tests.unit.store.house import house

from long_running_agents.domain.budget import Spent
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.memory import MemoryDraft, MemoryKind, Query, Selection, Viewer
from long_running_agents.domain.turn import Turn, TurnOrigin, TurnStatus
from long_running_agents.memory.service import MemoryService
from long_running_agents.store import memory_index
from long_running_agents.store.job_tables import SCHEMA
from long_running_agents.testing import FrozenClock

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ME = Viewer(owner="me")
YOU = Viewer(owner="you")
TALK = SessionId("talk")

_SHADOWS = ("memory_words", "memory_words_content", "memory_words_data", "memory_words_idx")


@asynccontextmanager
async def desk(home, *, embedder=None, environ=None, silent=False):
    """The memory of a home, with an embedder of its own unless it shall be silent."""
    async with house(home, environ=environ) as database:
        chosen = None if silent else embedder or FakeEmbedder()
        yield MemoryService(database, chosen, FrozenClock(NOON))


async def remember(memories, turn, agent, heard=()):
    """Remember a turn that came to rest."""
    said = await memories.database.read(lambda tx: memories.said(tx, turn, agent, heard))
    return await memories.keep_turns([said])


def a_turn(name="t1", *, prompt="Where do we meet?", answer="At the old mill.", **changed):
    values = {
        "id": TurnId(name),
        "session_id": TALK,
        "number": 1,
        "prompt": prompt,
        "origin": TurnOrigin.USER,
        "attended": True,
        "status": TurnStatus.DONE,
        "model": None,
        "answer": answer,
        "spent": Spent(),
        "created_at": NOON,
        "ended_at": NOON + timedelta(minutes=1),
    }
    return Turn(**{**values, **changed})


def said(content, session=TALK, **changed):
    values = {"kind": MemoryKind.CONVERSATION, "session_id": session, "source": "conversation"}
    return MemoryDraft(content=content, **{**values, **changed})


def ids(*memories):
    return Selection(ids=frozenset(memory.id for memory in memories))


async def stored(memories, content, viewer=ME, **changed):
    """A memory, written whatever it is like."""
    written = await memories.write(viewer, MemoryDraft(content=content, **changed), keep_both=True)
    return written.memory


async def found(memories, question, viewer=ME, **asked):
    """What a search brings up, as texts."""
    result = await memories.find(viewer, Query(text=question, **asked))
    return [hit.memory.content for hit in result.hits]


async def everything(memories):
    """Every row of every table of the database, shadow tables included, as one text."""

    def read(tx):
        tables = [table.name for table in SCHEMA.sorted_tables]
        return "\n".join(
            # Bytes as they are: words and names are found in them all the same.
            str([bytes(v).decode("latin-1") if isinstance(v, bytes) else v for v in row])
            for name in (*tables, *_SHADOWS)
            for row in tx.execute(text(f"SELECT * FROM {name}"))
        )

    return await memories.database.read(read)


async def rows(memories, query, **values):
    def read(tx):
        return [tuple(row) for row in tx.execute(text(query), values)]

    return await memories.database.read(read)


async def orphans(memories):
    """What hangs on memories that are not there, and memories that lack something."""
    problems = []
    for table, column in (
        ("memory_vectors", "memory_id"),
        ("memory_entries", "memory_id"),
        ("memory_links", "memory_id"),
        ("memory_links", "derived_from"),
    ):
        query = f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT id FROM memories)"
        [(count,)] = await rows(memories, query)
        problems += [f"{count} orphans in {table}"] if count else []
    if not await memories.database.read(memory_index.sound):
        problems.append("words and memories differ")
    return problems
