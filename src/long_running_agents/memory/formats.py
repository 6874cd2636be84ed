"""Formats: what a file of memories is, found out by looking into it."""

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path

from long_running_agents.errors import NotFound, UsageError
from long_running_agents.memory.exporting import ORIGINS
from long_running_agents.memory.foreign import CONTENT, Piece, Refusal, first
from long_running_agents.memory.foreign_databases import (
    CHROMA_FILE,
    chroma,
    database,
    is_chroma,
    is_ours,
    readable,
)
from long_running_agents.memory.foreign_lines import copies, objects, plain_lines, transcripts
from long_running_agents.memory.foreign_notes import notes
from long_running_agents.memory.markdown import items
from long_running_agents.store import foreign


class Format(StrEnum):
    """What can be imported."""

    EXPORT = "export"
    """Lines that 'lra memory export' wrote."""
    LINES = "lines"
    """Lines of JSON with a content each."""
    TRANSCRIPT = "transcript"
    """Lines of JSON with a role and a content each, or a folder of such files: one a session."""
    DATABASE = "database"
    """An SQLite file with tables of messages or memories."""
    CHROMA = "chroma"
    """A folder of ChromaDB."""
    NOTES = "notes"
    """Markdown: knowledge.md, learnings.md and the like."""


_KNOWN = "Known are: JSON lines, SQLite databases, ChromaDB folders, Markdown notes."
_SQLITE = b"SQLite format 3\0"
_PICKLES = (".pkl", ".pickle")
_PROTOCOLS = tuple(bytes([0x80, number]) for number in range(2, 6))
_LOOKED_AT = 20


def read(path: Path, form: Format) -> Iterator[Piece]:
    """Everything a file of some format tells."""
    readers = {
        Format.EXPORT: copies,
        Format.LINES: plain_lines,
        Format.TRANSCRIPT: transcripts,
        Format.DATABASE: database,
        Format.CHROMA: chroma,
        Format.NOTES: notes,
    }
    _refuse_pickle(path)
    try:
        yield from readers[form](path)
    except OSError as error:
        raise _unreadable(path, error) from error


def detect(path: Path) -> Format:
    """Find out what a file or folder is.

    Raises:
        UsageError: It is nothing that can be imported; the hint says what could be.
    """
    if not path.exists():
        raise NotFound(f"There is no {path}.", hint="Name a file or a folder that is there.")
    _refuse_pickle(path)
    try:
        form = _in_folder(path) if path.is_dir() else _in_file(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if form is None:
        raise UsageError(f"{path} is nothing that can be imported.", hint=_KNOWN)
    return form


def _refuse_pickle(path: Path) -> None:
    if not path.is_file():
        return
    with path.open("rb") as file:
        pickled = file.read(2) in _PROTOCOLS
    if pickled or path.suffix in _PICKLES:
        raise UsageError(
            f"{path} is a pickle: reading it would run whatever code it holds.",
            hint="Let the program that wrote it save its texts as lines of JSON, "
            'such as {"content": "…"}, and import those.',
        )


def _in_folder(path: Path) -> Format | None:
    if (path / CHROMA_FILE).is_file():
        return Format.CHROMA
    return Format.TRANSCRIPT if any(path.glob("*.jsonl")) else None


def _in_file(path: Path) -> Format | None:
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(_SQLITE):
        return _in_database(path)
    if b"\0" in head:
        return None
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _in_lines(path)
    text = path.read_text(encoding="utf-8", errors="replace")
    noted = any(item.heading for item in items(text)) or text.lstrip().startswith(("- ", "* "))
    return Format.NOTES if noted or path.suffix == ".md" else None


def _in_database(path: Path) -> Format | None:
    tables = foreign.columns(path)
    if is_ours(tables):
        raise UsageError(
            f"{path} is the database of a home.",
            hint="Run 'lra memory export' there, and import what it writes.",
        )
    if is_chroma(tables):
        return Format.CHROMA
    return Format.DATABASE if readable(tables) else None


def _in_lines(path: Path) -> Format | None:
    for _, body in islice(objects(path), _LOOKED_AT):
        if isinstance(body, Refusal):
            continue
        if {"id", "trust", "recorded_at", ORIGINS} <= body.keys():
            return Format.EXPORT
        if "role" in body and "content" in body:
            return Format.TRANSCRIPT
        if first(body, CONTENT) is not None:
            return Format.LINES
    return None


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.")
