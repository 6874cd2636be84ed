"""The memories of this project and their rivals, all behind the same three calls.

A scorer makes an adapter, lets it `build` a store from memories, asks it to `search`, and closes
it. A memory is a mapping with `id`, `text`, `speaker`, `caption`, `session`, `scope`, `date` and
`content`, the last being all of it in one text.
"""

import asyncio
import re
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from long_running_agents.clock import SystemClock
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import Fusion, MemoryDraft, MemoryKind, Query, Viewer
from long_running_agents.domain.redaction import Redactor
from long_running_agents.memory.embedding.base import Embedder
from long_running_agents.memory.embedding.bundled import BundledEmbedder
from long_running_agents.memory.service import MemoryService
from long_running_agents.store import schema
from long_running_agents.store.database import Database

Row = Mapping[str, Any]
OWNER = "me"
LITTLE = """
a about an and are as at be been by did do does for from had has have he her him his how i in is it
its me my of on or our s she t that the their them they this to us was we were what when where
which who whom whose why will with would you your
"""
START = datetime(2026, 1, 1, tzinfo=UTC)


def opened(folder: Path, embedder: Embedder | None, synchronous: str = "FULL") -> MemoryService:
    """Memories in a database of their own, made now if it is not there."""
    path = folder / "lra.db"
    database = Database(path, redact=Redactor(), synchronous=synchronous)
    schema.prepare(database.engine, path, backups=folder / "backups", now=START)
    return MemoryService(database, embedder, SystemClock())


def draft(memory: Row) -> MemoryDraft:
    """A memory as this project writes it: who said it, in which session, and when."""
    shown = f" [image: {memory['caption']}]" if memory.get("caption") else ""
    said = memory.get("speaker")
    session = f"{memory['scope']}-{memory['session']}"
    return MemoryDraft(
        content=f"{memory['text']}{shown}".strip() or "-",
        kind=MemoryKind.CONVERSATION if said else MemoryKind.NOTE,
        actor=said or "user",
        source="conversation" if said else "user",
        session_id=SessionId(session) if said else None,
        event_at=_moment(memory.get("date")),
    )


def _moment(written: str | None) -> datetime | None:
    return datetime.fromisoformat(written).replace(tzinfo=UTC) if written else None


class Ours:
    """Everything on: words, meaning and structure, with the bundled embedder."""

    fusion: Fusion = "weights"

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._folder = tempfile.TemporaryDirectory()
        self._memories = opened(Path(self._folder.name), self.embedder(), "OFF")
        self._names: dict[int, str] = {}

    def embedder(self) -> Embedder | None:
        """Where vectors come from."""
        return BundledEmbedder()

    def build(self, memories: Sequence[Row]) -> None:
        """Store all memories."""
        drafts = [draft(memory) for memory in memories]
        stored = self._loop.run_until_complete(self._memories.write_many(OWNER, drafts))
        pairs = zip(stored, memories, strict=True)
        self._names = {known.id: memory["id"] for known, memory in pairs}

    def search(self, query: str, k: int) -> list[str]:
        """The ids of the best memories."""
        asked = Query(text=query, limit=k, fusion=self.fusion)
        found = self._loop.run_until_complete(self._memories.find(Viewer(owner=OWNER), asked))
        return [self._names[hit.memory.id] for hit in found.hits]

    def close(self) -> None:
        """Delete everything."""
        self._loop.run_until_complete(self._memories.database.close())
        self._loop.close()
        self._folder.cleanup()


class OursWithoutEmbedder(Ours):
    """Words and structure alone."""

    def embedder(self) -> Embedder | None:
        """None."""
        return None


class OursRrf(Ours):
    """Fused by reciprocal ranks, without structure."""

    fusion: Fusion = "rrf"


class Fts5:
    """SQLite's full-text search alone: stemmed words, any of them, ranked by BM25."""

    def build(self, memories: Sequence[Row]) -> None:
        """Index all memories."""
        self._index = sqlite3.connect(":memory:")
        self._index.execute(
            "CREATE VIRTUAL TABLE found USING fts5"
            "(id UNINDEXED, content, tokenize = 'porter unicode61')"
        )
        rows = [(memory["id"], memory["content"]) for memory in memories]
        self._index.executemany("INSERT INTO found VALUES (?, ?)", rows)

    def search(self, query: str, k: int) -> list[str]:
        """The ids of the best memories."""
        words = re.findall(r"\w+", query.lower())
        telling = [word for word in words if word not in LITTLE.split()] or words
        if not telling:
            return []
        either = " OR ".join(f'"{word}"' for word in dict.fromkeys(telling))
        statement = "SELECT id FROM found WHERE found MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in self._index.execute(statement, (either, k))]

    def close(self) -> None:
        """Forget the index."""
        self._index.close()


class Chroma:
    """ChromaDB with vectors of the same embedder, by cosine."""

    def __init__(self) -> None:
        import chromadb  # noqa: PLC0415 - a rival is loaded only when it takes part

        self._loop = asyncio.new_event_loop()
        self._embedder = BundledEmbedder()
        self._folder = tempfile.TemporaryDirectory()
        self._client = chromadb.PersistentClient(self._folder.name)
        self._collection = self._client.create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def build(self, memories: Sequence[Row]) -> None:
        """Embed and store all memories."""
        contents = [memory["content"] for memory in memories]
        vectors = self._loop.run_until_complete(self._embedder.documents(contents))
        for start in range(0, len(memories), 1000):
            part = slice(start, start + 1000)
            self._collection.add(
                ids=[memory["id"] for memory in memories[part]],
                embeddings=vectors[part],
                documents=contents[part],
            )

    def search(self, query: str, k: int) -> list[str]:
        """The ids of the best memories."""
        vector = self._loop.run_until_complete(self._embedder.query(query))
        return self._collection.query(query_embeddings=[vector], n_results=k)["ids"][0]

    def close(self) -> None:
        """Delete everything."""
        self._loop.close()
        self._client.close()
        self._folder.cleanup()
