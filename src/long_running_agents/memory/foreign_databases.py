"""Databases of other agents: tables are known by what their columns are called."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from long_running_agents.domain.memory import Draft, Kind, Trust
from long_running_agents.memory.foreign import (
    CONTENT,
    KIND,
    MOMENT,
    SESSION,
    SPEAKER,
    Refusal,
    Told,
    told,
)
from long_running_agents.store import foreign

CHROMA_FILE = "chroma.sqlite3"
_DOCUMENT = "chroma:document"
_TITLE = "title"
_ORIGIN = "source_id"
_USED = frozenset((*CONTENT, *SPEAKER, *SESSION, *MOMENT, *KIND, _TITLE, _ORIGIN))


def is_chroma(tables: Mapping[str, Sequence[str]]) -> bool:
    """Whether these are the tables of a ChromaDB folder."""
    return "key" in tables.get("embedding_metadata", ()) and "embeddings" in tables


def is_ours(tables: Mapping[str, Sequence[str]]) -> bool:
    """Whether these are the tables of a home."""
    return "memory_entries" in tables and "alembic_version" in tables


def readable(tables: Mapping[str, Sequence[str]]) -> list[str]:
    """The tables that hold something said or remembered."""
    return [
        name
        for name, columns in tables.items()
        if _any(columns, CONTENT) and _any(columns, (*SPEAKER, *SESSION, "source_type"))
    ]


def _any(columns: Sequence[str], names: Sequence[str]) -> bool:
    return any(name in columns for name in names)


def database(path: Path) -> Iterator[Told | Refusal]:
    """What the tables of a database tell, in the order of their rows."""
    tables = foreign.columns(path)
    line = 0
    for table in readable(tables):
        wanted = [name for name in tables[table] if name in _USED]
        otherwise = _otherwise(table, wanted)
        for row in foreign.rows(path, table, wanted):
            line += 1
            source = f"import:{path.name}"
            for piece in told(line, _titled(row), source=source, otherwise=otherwise):
                yield piece if isinstance(piece, Told) else _in_table(piece, table)


def _otherwise(table: str, columns: Sequence[str]) -> Draft:
    """What rows are that do not say it themselves: an agent wrote them about a session."""
    summaries = any(word in table.lower() for word in ("summary", "summaries"))
    kind = Kind.SUMMARY if summaries else Kind.NOTE
    written = _any(columns, (*SESSION, "source_type"))
    trust = Trust.AGENT if written else Trust.TOOL
    return Draft(content="", kind=kind, trust=trust, actor="import")


def _titled(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row whose title, if it has one, is part of its content, and whose origin is its session."""
    if row.get("source_type") == "session_summary":
        return {**row, "session_id": row.get(_ORIGIN)}
    title, content = row.get(_TITLE), row.get("content")
    if title and isinstance(content, str):
        return {**row, "content": f"{title}: {content}"}
    return row


def _in_table(piece: Refusal, table: str) -> Refusal:
    return Refusal(piece.line, f"in table {table}: {piece.reason}")


def chroma(path: Path) -> Iterator[Told | Refusal]:
    """The documents of a ChromaDB folder, read from its database; no index is touched."""
    file = path / CHROMA_FILE if path.is_dir() else path
    folder = file.parent
    for line, fields in enumerate(foreign.documents(file), 1):
        # An agent that keeps sessions wrote what it found worth keeping; else it may be anything.
        trust = Trust.AGENT if _any(list(fields), SESSION) else Trust.TOOL
        otherwise = Draft(content="", kind=Kind.NOTE, trust=trust, actor="import")
        known = {name: value for name, value in fields.items() if name not in CONTENT}
        known["content"] = fields.get(_DOCUMENT)
        yield from told(line, known, source=f"import:{folder.name}", otherwise=otherwise)
