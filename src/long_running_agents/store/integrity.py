"""Whether a database can be trusted: what SQLite's errors mean, checks, and verified copies."""

import os
import shlex
import sqlite3
import struct
import sys
from array import array
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy.exc import DatabaseError

from long_running_agents.errors import CorruptData, LraError, StorageFailed, storing
from long_running_agents.home import Home
from long_running_agents.store.tables import HEAD

_LEAST_ROOM = 1_000_000
"""Bytes; a disk with less is as good as full."""
_NOT_AS_IT_WAS = (
    "Could not decode",
    "no such table",
    "no such column",
    "unsupported file format",
    "malformed",
)
FIRST = "0100"
"""The first migration; earlier numbers were those of development versions."""


@contextmanager
def storage_errors(path: Path) -> Generator[None]:
    """Turn what SQLite says into what a person can do about it."""
    try:
        yield
    except DatabaseError as error:
        raise _translate(error.orig, path) from error
    except sqlite3.DatabaseError as error:
        raise _translate(error, path) from error
    except UnicodeDecodeError as error:
        # SQLite quotes what it cannot read.
        raise damaged(path, "bytes in it are no text") from error


def _translate(error: BaseException | None, path: Path) -> LraError | BaseException:
    said = str(error)
    code = getattr(error, "sqlite_errorname", "") or ""
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or said.startswith(_NOT_AS_IT_WAS):
        # The bytes that are no text follow.
        return damaged(path, said.partition(" to UTF-8")[0])
    outside = code.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN"))
    if code.startswith("SQLITE_FULL") or "disk is full" in said or (outside and is_full(path)):
        return no_room(path)
    if code.startswith("SQLITE_READONLY"):
        return StorageFailed(f"{path} cannot be written.", hint="Check its permissions.")
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StorageFailed(
            f"Another program holds {path} locked.", hint="Close it and try again."
        )
    if outside:
        return StorageFailed(
            f"{path} cannot be read or written ({said}).",
            hint="Check the disk, the folder's permissions and the free space.",
        )
    return error or AssertionError("a database error without a cause")


def damaged(path: Path, said: str) -> CorruptData:
    """What is said of a database that cannot be trusted."""
    return CorruptData(
        f"The database {path} is damaged ({said}).", hint=f"Nothing was written. {advice(path)}"
    )


def unreadable(error: Exception) -> CorruptData:
    """What is said of a row that SQLite can read, and nobody else."""
    said = str(error).partition("\n")[0]
    hint = "Stop what uses the home; 'lra doctor --fix' then mends it, or says what is lost."
    return CorruptData(f"A stored row cannot be understood ({said}).", hint=hint)


def advice(path: Path) -> str:
    """What can be done about a damaged database, with the newest sound backup there is."""
    fix = "Stop what uses it; 'lra doctor --fix' then saves what can be read"
    good = newest_good(path)
    if good is None:
        return f"{fix}. There is no backup."
    return f"{fix}, 'lra restore {shlex.quote(str(good))}' goes back to that backup."


def no_room(path: Path) -> StorageFailed:
    """What is said when a disk is full."""
    return StorageFailed(
        f"No room left for {path}: the disk is full.",
        hint="Free some disk space; nothing was lost.",
    )


def is_full(path: Path) -> bool:
    """Whether the disk of a file has no room left, as far as it says so."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    # Some disks say nothing, in numbers.
    return disk.f_blocks > 0 and free * disk.f_frsize < _LEAST_ROOM


_INDEX = struct.Struct("=12xBxHI12x8s8x")
"""The head of the log's index: whether it is in use, the size of a page, the last frame, a salt."""
_BACKFILLED = struct.Struct("=I")
_LOG_HEAD = 32
_FRAME_HEAD = 24
_SALT = slice(16, 24)
_SUMS = struct.Struct(">2I")
_LARGE_PAGE = 65_536
_BITS = 0xFFFF_FFFF


def check_whole(path: Path, home: Home) -> None:
    """Stop at a database of which something is missing.

    Raises:
        CorruptData: It is empty although it was in use, or its log was cut off or changed.
    """
    if not path.exists():
        return
    if path == home.database and home.logs.exists() and not path.stat().st_size:
        raise CorruptData(
            f"{path} is empty, although this home was in use: its sessions are not in it.",
            hint=f"{advice(path)} Or delete {path.name} to begin anew.",
        )
    if cut := _log_fault(path, at_rest=home.owner() in (None, os.getpid())):
        raise CorruptData(
            f"{path}-wal {cut}: what was written last is missing.",
            hint=f"Put the whole file back, or go on without that. {advice(path)}",
        )


def _log_fault(path: Path, *, at_rest: bool) -> str:
    """What is wrong with the log: it has fewer frames than its index counted, or other ones."""
    last, page, salt = _log_index(path) or (None, 0, b"")
    log = path.with_name(f"{path.name}-wal")
    size = log.stat().st_size if log.exists() else 0
    if last == 0 or (last is None and size <= _LOG_HEAD):
        return ""
    head = b""
    if size:
        with log.open("rb") as file:
            head = file.read(_LOG_HEAD)
    if len(head) == _LOG_HEAD and head[_SALT] != salt and _sums(head[:24]) == head[24:]:
        # The index, if there is one, is that of another log.
        last = None
    if last is not None and size < _LOG_HEAD + last * (_FRAME_HEAD + page):
        return "was cut off"
    return "was altered" if at_rest and _is_altered(log.read_bytes(), last) else ""


def _log_index(path: Path) -> tuple[int, int, bytes] | None:
    """The last frame that is only in the log, the size of a page, and the log's salt.

    None when nobody can tell.
    """
    try:
        with path.with_name(f"{path.name}-shm").open("rb") as file:
            index, again = file.read(_INDEX.size), file.read(_INDEX.size)
            backfilled = _BACKFILLED.unpack(file.read(_BACKFILLED.size))[0]
        in_use, page, last, salt = _INDEX.unpack(index)
    except (OSError, struct.error):
        return None
    # Two copies that differ are being written right now.
    if not in_use or index != again:
        return None
    # Frames that are in the file itself may go.
    return 0 if backfilled >= last else last, _LARGE_PAGE if page == 1 else page, salt


def _is_altered(log: bytes, last: int | None) -> bool:
    """Whether frames of a log that count are not as they were written: SQLite would pass over them.

    Without an index, two transactions after the first bad frame tell: one alone may never have
    been finished.
    """
    sums, big = _sums(log[:24]), bool(log[3] & 1)
    if sums != log[24:_LOG_HEAD]:
        return True
    size = _FRAME_HEAD + int.from_bytes(log[8:12], "big")
    starts = range(_LOG_HEAD, len(log) - size + 1, size)
    frames = (log[start : start + size] for start in starts)
    valid = 0
    for frame in frames:
        sums = _sums(frame[:8] + frame[_FRAME_HEAD:], sums, big=big)
        if frame[8:16] != log[_SALT] or frame[16:24] != sums:
            break
        valid += 1
    if last is not None:
        return valid < last
    return sum(frame[8:16] == log[_SALT] and any(frame[4:8]) for frame in frames) > 1


def _sums(data: bytes, before: bytes = bytes(8), *, big: bool | None = None) -> bytes:
    """SQLite's checksum of a part of the log, continued from the part before it."""
    words = array("I", data)
    if (bool(data[3] & 1) if big is None else big) != (sys.byteorder == "big"):
        words.byteswap()
    one, two = _SUMS.unpack(before)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & _BITS
        two = (two + second + one) & _BITS
    return _SUMS.pack(one, two)


SOUND = "ok"
"""What SQLite says of a file in which it finds nothing wrong."""


def connect(path: Path, mode: str = "ro") -> sqlite3.Connection:
    """A connection beside the owner of a database; transactions are begun by whoever wants one."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)


def examine(path: Path) -> str:
    """Open a database beside its owner and check it quickly; its schema.

    Raises:
        CorruptData: The file is damaged, or none of ours.
        StorageFailed: It cannot be read.
    """
    with storage_errors(path), closing(connect(path)) as connection:
        verdict: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        known = "SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'"
        version = "SELECT version_num FROM alembic_version"
        row = connection.execute(known).fetchone() and connection.execute(version).fetchone()
    if verdict != SOUND:
        raise damaged(path, verdict)
    if row is None:
        hint = "Choose another home or move the file away."
        raise CorruptData(f"{path} is a database, but not one of ours.", hint=hint)
    return str(row[0])


def backup_folder(path: Path) -> Path:
    """Where the copies of a database lie."""
    return path.parent / "backups"


def newest_good(path: Path) -> Path | None:
    """The newest backup of a database that is sound and not of a newer version."""
    found = sorted(backup_folder(path).glob("*.db"), key=lambda each: each.stat().st_mtime)
    for backup in reversed(found):
        with suppress(LraError, sqlite3.Error):
            if FIRST <= examine(backup) <= HEAD:
                return backup
    return None


def counts(connection: sqlite3.Connection) -> dict[str, int]:
    """How many rows each table has."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {
        name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
        for (name,) in tables
    }


def copy_database(source: Path, to: Path) -> dict[str, int]:
    """Copy a database while it may be in use, check the copy, then make it appear at once.

    Returns:
        How many rows each table has.

    Raises:
        CorruptData: The copy is not sound, since the database is not.
        StorageFailed: It cannot be written.
    """
    unfinished = to.with_name(f"{to.name}.{os.getpid()}.part")
    hint = "Check the folder's permissions and the free space."
    try:
        with storing(f"The backup {to}", hint):
            to.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # What an interrupted backup left behind may be anything.
            unfinished.unlink(missing_ok=True)
            os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        found = _copied(source, unfinished)
        with storing(f"The backup {to}", hint):
            unfinished.replace(to)
    finally:
        for suffix in ("", "-journal"):
            with suppress(OSError):
                unfinished.with_name(unfinished.name + suffix).unlink()
    return found


def _copied(source: Path, to: Path) -> dict[str, int]:
    with closing(sqlite3.connect(to, isolation_level=None)) as copy:
        with storage_errors(source), closing(connect(source)) as reader:
            # One view of the source for the copy and for the counts, whoever writes meanwhile.
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
            with _written(to):
                reader.backup(copy)
            wanted = counts(reader)
        with _written(to):
            # One file, without a log beside it.
            copy.execute("PRAGMA journal_mode = DELETE")
            faults = [row[0] for row in copy.execute("PRAGMA integrity_check(1)")]
            if faults != [SOUND]:
                raise damaged(source, faults[0])
            if (found := counts(copy)) != wanted:
                raise damaged(source, "a copy has other rows than it")
    return found


@contextmanager
def _written(to: Path) -> Generator[None]:
    """Name the copy, not the source, where the copy cannot be written."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        said = _translate(error, to)
        if isinstance(said, StorageFailed):
            raise said from error
        raise
