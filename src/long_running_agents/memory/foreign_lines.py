"""Lines of JSON: our own exports, transcripts of sessions, and plain lists."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import Draft, Kind, Memory, MemoryId, Trust
from long_running_agents.memory.embedding.port import well_formed
from long_running_agents.memory.exporting import MEMORY, ORIGINS
from long_running_agents.memory.foreign import Copy, Piece, Refusal, Told, told

_NUMBERS: TypeAdapter[tuple[MemoryId, ...]] = TypeAdapter(tuple[MemoryId, ...])

Object = dict[str, Any]


def objects(path: Path) -> Iterator[tuple[int, Object | Refusal]]:
    """The objects of a file, one from each line that is not blank."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                body = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                yield number, Refusal(number, f"it is not JSON ({error})")
                continue
            if isinstance(body, dict):
                yield number, cast("Object", body)
            else:
                yield number, Refusal(number, "it is not a JSON object")


def copies(path: Path) -> Iterator[Piece]:
    """The memories of an export."""
    for number, body in objects(path):
        yield body if isinstance(body, Refusal) else _copy(number, body)


def _copy(line: int, body: Object) -> Copy | Refusal:
    try:
        memory = MEMORY.validate_python(_well_formed(body))
        origins = _NUMBERS.validate_python(body.get(ORIGINS, ()))
        return Copy(line, _in_utc(memory), origins)
    except ValidationError as error:
        details = error.errors()[0]
        where = ".".join(str(part) for part in details["loc"])
        return Refusal(line, f"{where}: {details['msg']}".removeprefix(": "))
    except OverflowError:
        return Refusal(line, "its date is beyond the calendar")


def _well_formed(body: Object) -> Object:
    return {
        name: well_formed(value) if isinstance(value, str) else value
        for name, value in body.items()
    }


def _in_utc(memory: Memory) -> Memory:
    # Written by hand, a moment may lack its zone; the database takes none without.
    def aware(moment: datetime) -> datetime:
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)

    return replace(
        memory,
        event_at=aware(memory.event_at),
        recorded_at=aware(memory.recorded_at),
        valid_to=None if memory.valid_to is None else aware(memory.valid_to),
        expires_at=None if memory.expires_at is None else aware(memory.expires_at),
    )


def plain_lines(path: Path) -> Iterator[Piece]:
    """Objects with a content; whatever else they say is optional."""
    otherwise = Draft(content="", kind=Kind.FACT, trust=Trust.TOOL, actor="import")
    yield from _lines(path, otherwise)


def transcripts(path: Path) -> Iterator[Piece]:
    """The messages of a session, or of all sessions in a folder; a file is named after its own."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    for file in files:
        session = SessionId(file.stem)
        otherwise = Draft(
            content="", kind=Kind.CONVERSATION, trust=Trust.TOOL, actor="tool", session_id=session
        )
        for piece in _lines(file, otherwise):
            yield piece if len(files) == 1 else _in_file(piece, file)


def _in_file(piece: Told | Refusal, file: Path) -> Told | Refusal:
    if isinstance(piece, Refusal):
        return Refusal(piece.line, f"{file.name}: {piece.reason}")
    return piece


def _lines(path: Path, otherwise: Draft) -> Iterator[Told | Refusal]:
    for number, body in objects(path):
        if isinstance(body, Refusal):
            yield body
            continue
        named = body.get("source")
        name = named if isinstance(named, str) and named.strip() else path.name
        yield from told(number, body, source=f"import:{well_formed(name)}", otherwise=otherwise)
