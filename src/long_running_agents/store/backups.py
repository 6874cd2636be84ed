"""Backups of a home: made, put back, made every day; and a damaged database, verified and saved."""

import asyncio
import difflib
import json
import logging
import os
import re
import shlex
import shutil
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Column, LargeBinary, String, Table

from long_running_agents.config import LoadedSettings
from long_running_agents.domain.approval import Approval
from long_running_agents.domain.memory import Memory
from long_running_agents.domain.ports import Clock
from long_running_agents.domain.session import Session
from long_running_agents.domain.task import Task
from long_running_agents.domain.tool import ToolCallRecord
from long_running_agents.domain.turn import Turn
from long_running_agents.domain.work import Evidence, Work
from long_running_agents.errors import CorruptData, LraError, NotFound, Taken, UsageError, storing
from long_running_agents.home import Home
from long_running_agents.store import integrity
from long_running_agents.store.integrity import (
    backup_folder,
    check_whole,
    connect,
    copy_database,
    newest_good,
)
from long_running_agents.store.job_tables import SCHEMA
from long_running_agents.store.memory_index import UNMATCHED
from long_running_agents.store.schema import building, database_path, refuse_unknown
from long_running_agents.store.sql import enum_fields
from long_running_agents.store.tables import HEAD, Moment

log = logging.getLogger(__name__)

_PARTS = ("", "-wal", "-shm")
_MOMENT = "%Y%m%d-%H%M%S"


def back_up(
    loaded: LoadedSettings, now: datetime, to: Path | None = None, *, kind: str = "backup"
) -> tuple[Path, int]:
    """Copy a home to one file, while it may be in use; where it is, and how many rows it has."""
    home, path = Home(loaded.home), database_path(loaded)
    if not path.exists():
        raise NotFound(f"There is nothing in {home.path} yet.", hint="Begin with 'lra chat'.")
    to = to or backup_folder(path) / f"{kind}-{now:{_MOMENT}}.db"
    if to.is_dir():
        raise UsageError(f"{to} is a folder.", hint=f"Name a file, such as {to / 'backup.db'}.")
    if to.exists():
        raise Taken(f"{to} is there already.", hint="Choose another name: nothing is overwritten.")
    check_whole(path, home)
    return to, _rows_of(copy_database(path, to))


def _rows_of(counts: Mapping[str, int]) -> int:
    """How many rows there are, without those of indexes."""
    return sum(counts.get(name, 0) for name in SCHEMA.tables)


_DAY, _HOUR, _SOON = 86_400.0, 3_600.0, 60.0
_DAILY = "daily-????????-??????.db"


async def back_up_daily(loaded: LoadedSettings, clock: Clock) -> None:
    """Back up once a day, for ever, and keep as many as the settings say."""
    folder, keep = backup_folder(database_path(loaded)), loaded.settings.storage.backups
    while keep:
        await clock.sleep(_until_due(sorted(folder.glob(_DAILY)), clock.now()))
        try:
            await asyncio.to_thread(back_up, loaded, clock.now(), kind="daily")
            for old in sorted(folder.glob(_DAILY))[:-keep]:
                old.unlink()
        except (LraError, OSError, sqlite3.Error) as error:
            log.warning("no backup was made today: %s", error)
            await clock.sleep(_HOUR)


def _until_due(made: list[Path], now: datetime) -> float:
    """The seconds until the next one; a server that begins is not held up by it."""
    try:
        last = datetime.strptime(made[-1].stem, f"daily-{_MOMENT}").replace(tzinfo=UTC)
    except (IndexError, ValueError):
        return _SOON
    return min(max((last + timedelta(seconds=_DAY) - now).total_seconds(), _SOON), _DAY)


def restore(loaded: LoadedSettings, file: Path, now: datetime) -> tuple[int, Path | None]:
    """Make the database what it was at a backup, if nobody uses it.

    Returns:
        How many rows it has; and where what was there is kept, if there was one.

    Raises:
        HomeBusy: A process has it open.
        CorruptData: The file is not sound, or no backup of ours.
    """
    home, path = Home(loaded.home), database_path(loaded)
    if not file.exists():
        raise NotFound(f"There is no file {file}.", hint=f"Backups lie in {backup_folder(path)}.")
    if file.is_dir() or file.absolute() == path:
        raise UsageError(f"{file} is no backup.", hint=f"Backups lie in {backup_folder(path)}.")
    with home.owned():
        _expect_backup(file, path)
        new = path.with_name(f"{path.name}.new")
        rows = _rows_of(copy_database(file, new))
        kept = replace_database(new, path, now)
    return rows, kept if kept.exists() else None


def _expect_backup(file: Path, path: Path) -> None:
    other = newest_good(path)
    hint = "" if other in (None, file) else f" The newest sound backup is {other}."
    try:
        refuse_unknown(integrity.examine(file), file)
    except CorruptData as error:
        raise CorruptData(error.message, hint=f"Nothing was changed.{hint}") from error


def replace_database(new: Path, path: Path, now: datetime, why: str = "replaced") -> Path:
    """Put a database in the place of another one; the folder in which that one is kept.

    A death on the way leaves one or the other, or one that is refused since its log is missing.
    """
    kept = backup_folder(path) / f"{why}-{now:{_MOMENT}}"
    with storing(path):
        for part in filter(Path.exists, [path.with_name(path.name + each) for each in _PARTS]):
            if (kept / part.name).exists():
                continue
            kept.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                os.link(part, kept / part.name)
            except OSError:
                # Another disk, or one without links.
                shutil.copy2(part, kept / part.name)
        path.with_name(f"{path.name}-wal").unlink(missing_ok=True)
        new.replace(path)
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    return kept


RowReader = Callable[[Mapping[str, Any]], object]
"""Reads a row, or raises ValueError or CorruptData."""

_SHAPES: dict[str, object] = {
    "sessions": Session,
    "turns": Turn,
    "tool_calls": ToolCallRecord,
    "approvals": Approval,
    "tasks": Task,
    "works": Work,
    "evidence": Evidence,
    "memories": Memory,
}
_ENUMS = {
    f"{table}.{name}": [str(each) for each in kind]
    for table, shape in _SHAPES.items()
    for name, kind in enum_fields(shape)
}
_JSON = {
    *("approvals.offer", "grants.scope", "memory_trash.body", "skill_versions.about"),
    *("tool_calls.result", "turns.client_tools", "tasks.criterion", "tasks.depends_on"),
    *("tasks.notes", "tasks.scope", "works.scope", "plans.tasks", "plans.frozen"),
}
_LATEST = 253_402_300_799_000_000
"""No calendar goes farther, in microseconds."""
_UNREADABLE = (sqlite3.DatabaseError, UnicodeError)
"""What SQLite raises; a message of its own may quote bytes that are no text."""
_MISSES = 4_096
"""Places of a table that are looked at in vain before the rest of it is given up."""
_END = 2**62
_DERIVED = ("memory_changes", "memory_entries", "memory_vectors")
_COUNTERS = {
    "last_turn": "max(number) FROM turns",
    "last_message": "max(seq) FROM messages",
    "last_event": "max(seq) FROM events",
}


def _mended(table: Table, row: tuple[Any, ...], reader: RowReader | None) -> list[Any] | None:
    """A row as it can be understood: the same if it was sound, None when there is no way."""
    values: dict[str, Any] = {}
    try:
        for column, value in zip(table.columns, row, strict=True):
            if value is not None:
                values[column.name] = _fitting(column, value)
            elif column.nullable:
                values[column.name] = None
            else:
                return None
        if reader is not None:
            reader(values)
    except (ValueError, TypeError, CorruptData):
        return None
    return list(values.values())


def _fitting(column: Column[Any], value: Any) -> Any:
    """The value of a column, or the one that it probably was.

    Raises:
        ValueError or TypeError: There is none.
    """
    kind, name = column.type, f"{column.table.name}.{column.name}"
    if isinstance(kind, String) and isinstance(value, str):
        if not value.isascii():
            value = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        if name in _JSON:
            json.loads(value)
        known = _ENUMS.get(name)
        # A letter of a name may have changed; the nearest is what it was.
        return difflib.get_close_matches(value, known, 1, 0.0)[0] if known else value
    if isinstance(kind, LargeBinary) and isinstance(value, bytes):
        return value
    if isinstance(kind, String | LargeBinary) or not isinstance(value, int | float):
        raise TypeError(name)
    return 0 if isinstance(kind, Moment) and not 0 <= value <= _LATEST else value


class _TableReader:
    """Reads the rows of one table that may be damaged."""

    def __init__(self, connection: sqlite3.Connection, table: Table) -> None:
        self._execute = connection.execute
        self._table = table
        self.stumbled = False
        """Whether a place was met that cannot be read."""
        # Bytes that are no text are found, not stumbled over.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Every row that can be read, whatever lies between them."""
        names = ", ".join(f'"{column.name}"' for column in self._table.columns)
        among = "WHERE rowid > ? AND rowid < ? ORDER BY rowid"
        query = f'SELECT rowid, {names} FROM "{self._table.name}" {among}'
        gaps, misses = deque([(0, _END)]), 0
        # The widest gaps first: where nothing is found all over them, there is nothing.
        while gaps and misses < _MISSES:
            low, high = gaps.popleft()
            misses += 1
            with suppress(*_UNREADABLE):
                for number, *row in self._execute(query, (low, high)):
                    if number <= low:
                        # Pages that point at each other would give rows for ever.
                        break
                    low, misses = number, 0
                    yield tuple(row)
                else:
                    continue
            self.stumbled = True
            with suppress(*_UNREADABLE):
                for number, *row in self._execute(f"{query} DESC", (low, high)):
                    if number >= high:
                        break
                    high, misses = number, 0
                    yield tuple(row)
            # Without an end nobody knows how far it goes; not much farther than one looks.
            high = low + _MISSES * 8 if high == _END else high
            middle = (low + high) // 2
            if low < middle < high - 1:
                gaps += [(low, middle + 1), (middle, high)]

    def count(self) -> int:
        """How many rows its indexes know of, as far as these can be read."""
        most, name = 0, self._table.name
        with suppress(*_UNREADABLE):
            for index in self._execute(f'PRAGMA index_list("{name}")').fetchall():
                query = f'SELECT count(*) FROM "{name}" INDEXED BY "{index[1]}"'
                with suppress(*_UNREADABLE):
                    most = max(most, self._execute(query).fetchone()[0])
        return most


class DatabaseFaults(NamedTuple):
    """What a thorough look at a database found: damage, and what can be made again."""

    damage: list[str]
    indexes: list[str]


def verify(path: Path, home: Home, readers: Mapping[str, RowReader]) -> DatabaseFaults:
    """Look at every page, reference, index and row of a database, beside its owner.

    Raises:
        LraError: It is sound and of another version.
    """
    try:
        check_whole(path, home)
        schema = integrity.examine(path)
    except CorruptData as error:
        return DatabaseFaults([error.message], [])
    if schema != HEAD:
        refuse_unknown(schema, path)
        hint = "'lra chat' upgrades it, after a backup."
        raise UsageError(f"{path} has schema {schema}, not {HEAD}.", hint=hint)
    try:
        with integrity.storage_errors(path), closing(connect(path)) as connection:
            damage = _damage(connection, readers)
        if damage:
            return DatabaseFaults(damage, [])
        with integrity.storage_errors(path), closing(connect(path, "rw")) as connection:
            return DatabaseFaults([], _index_faults(connection))
    except CorruptData as error:
        return DatabaseFaults([error.message], [])


def _damage(connection: sqlite3.Connection, readers: Mapping[str, RowReader]) -> list[str]:
    found = [row[0] for row in connection.execute("PRAGMA integrity_check(10)")]
    found = [] if found == [integrity.SOUND] else found
    lost = Counter(row[0] for row in connection.execute("PRAGMA foreign_key_check"))
    found += [f"{name}: {count} rows without their parents" for name, count in lost.items()]
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    made = re.compile(r"CREATE (?:UNIQUE |VIRTUAL )?(?:TABLE|INDEX) (\w+)")
    named = [name[1] for name in map(made.match, building()) if name]
    found += [f"{name} is not there" for name in named if name not in there]
    for table in () if found else SCHEMA.sorted_tables:
        rows = _TableReader(connection, table).rows()
        reader = readers.get(table.name)
        if bad := sum(_mended(table, row, reader) != list(row) for row in rows):
            found.append(f"{table.name}: {bad} rows cannot be understood")
    return found


def _index_faults(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the index of memories, which is made from them."""
    try:
        connection.execute("INSERT INTO memory_words (memory_words) VALUES ('integrity-check')")
    except _UNREADABLE as error:
        # A file that nobody may write is not asked: the order counts as writing.
        if "readonly" not in str(error):
            return [f"the index of words is damaged ({error})"]
    unmatched = connection.execute(UNMATCHED).fetchone()[0]
    return ["the index of memories does not match them"] if unmatched else []


def repair(path: Path, now: datetime, readers: Mapping[str, RowReader]) -> str:
    """Put what can be read of a damaged database in its place; what was done, in words.

    Raises:
        CorruptData: Nothing can be read.
    """
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        with integrity.storage_errors(new):
            rows, lost, mended = _salvage(path, new, readers)
        if not rows:
            good = newest_good(path)
            hint = f"There is no backup. Move {path.name}* out of {path.parent} to begin anew."
            if good is not None:
                hint = f"'lra restore {shlex.quote(str(good))}' goes back to the newest backup."
            raise CorruptData(f"Nothing can be read from {path}.", hint=hint)
        new.chmod(0o600)
        kept = replace_database(new, path, now, "damaged")
    finally:
        new.unlink(missing_ok=True)
    told = [f"lost from {name}: at least {count:,}" for name, count in sorted((+lost).items())]
    told = told or ["no row of the file is missing"]
    told += [f"mended in {name}: {count:,}" for name, count in sorted((+mended).items())]
    return "; ".join([f"{rows:,} rows were saved", *told, f"the damaged file is kept in {kept}"])


def _salvage(
    source: Path, to: Path, readers: Mapping[str, RowReader]
) -> tuple[int, Counter[str], Counter[str]]:
    """Copy what can be read to a new database: how many rows; by table, those lost and mended."""
    lost, mended = Counter[str](), Counter[str]()
    with closing(sqlite3.connect(to, isolation_level=None)) as new:
        for statement in building():
            new.execute(statement)
        new.execute("BEGIN")
        with closing(connect(source)) as damaged:
            there = set[str]()
            with suppress(*_UNREADABLE):
                # Then pages that are missing at the end are no reason to stop.
                damaged.execute("PRAGMA writable_schema = ON")
                there.update(row[0] for row in damaged.execute("SELECT name FROM sqlite_master"))
            lost.update(SCHEMA.tables.keys() - there)
            for table in (each for each in SCHEMA.sorted_tables if each.name in there):
                reader, name = _TableReader(damaged, table), table.name
                marks = ", ".join("?" * len(table.columns))
                insert = f'INSERT OR IGNORE INTO "{name}" VALUES ({marks})'
                before, seen = new.total_changes, 0
                for row in reader.rows():
                    seen += 1
                    if (values := _mended(table, row, readers.get(name))) is not None:
                        new.execute(insert, values)
                        mended[name] += values != list(row)
                missing = max(seen, reader.count()) - (new.total_changes - before)
                lost[name] = max(missing, int(reader.stumbled))
            with suppress(*_UNREADABLE):
                for name, last in damaged.execute("SELECT name, seq FROM sqlite_sequence"):
                    query = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?"
                    new.execute(query, (last, name))
        _close_gaps(new, lost)
        rows = _rows_of(integrity.counts(new))
        new.execute("COMMIT")
    for name in _DERIVED:
        del lost[name]
    return rows, lost, mended


def _close_gaps(new: sqlite3.Connection, lost: Counter[str]) -> None:
    """Let what was saved fit together again."""
    new.execute(
        "INSERT OR IGNORE INTO sessions (id, title, mode, created_at, updated_at, owner)"
        " SELECT session_id, 'Recovered', 'bounded', min(created_at), max(created_at), min(owner)"
        " FROM turns GROUP BY session_id"
    )
    while broken := new.execute("PRAGMA foreign_key_check").fetchall():
        for name, number in {(row[0], row[1]) for row in broken}:
            new.execute(f'DELETE FROM "{name}" WHERE rowid = ?', (number,))
            lost[name] += 1
    for counter, latest in _COUNTERS.items():
        newest = f"(SELECT {latest} WHERE session_id = sessions.id)"
        new.execute(f"UPDATE sessions SET {counter} = max({counter}, coalesce({newest}, 0))")
    if lost["messages"]:
        # A call without its result is refused by models: what is left is to be read, not sent.
        new.execute(
            "UPDATE sessions SET cleared = last_message WHERE last_message <>"
            " (SELECT count(*) FROM messages WHERE session_id = sessions.id)"
        )
