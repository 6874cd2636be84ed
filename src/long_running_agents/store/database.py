"""The door to the database: one writer, a few readers, whole transactions."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError

from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import CorruptData, LraError, StorageFailed
from long_running_agents.store.prepared import Prepared, Row, all_ordered, ordered
from long_running_agents.store.worker import Worker

T = TypeVar("T")

_READERS = 2


class Transaction:
    """One transaction: a connection, and the redactor that all stored text passes through."""

    __slots__ = ("_cursor", "_dialect", "execute", "redact")

    def __init__(self, connection: Connection, redact: Redactor) -> None:
        self.execute = connection.execute
        self.redact = redact
        self._dialect = connection.dialect
        self._cursor = connection.connection.cursor()

    def run(self, prepared: Prepared, values: Mapping[str, object]) -> Row | None:
        """Run a prepared statement and return its first row, if it has any."""
        text, names = prepared.text(self._dialect)
        self._cursor.execute(text, ordered(names, values))
        return self._cursor.fetchone()

    def run_all(self, prepared: Prepared, values: Mapping[str, object]) -> list[Row]:
        """Run a prepared statement and return all its rows."""
        text, names = prepared.text(self._dialect)
        self._cursor.execute(text, ordered(names, values))
        return list(self._cursor.fetchall())

    def run_each(self, prepared: Prepared, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a prepared statement once for each row of values."""
        text, names = prepared.text(self._dialect)
        if len(rows) == 1:
            self._cursor.execute(text, ordered(names, rows[0]))
        else:
            self._cursor.executemany(text, all_ordered(names, rows))


class Database:
    """An SQLite file in WAL mode.

    SQLAlchemy runs on a writer thread and a few reader threads, so a transaction costs one hop
    between threads however many statements it has. A write is never half-cancelled: whoever is
    cancelled while one runs hears of it when the write has ended.
    """

    def __init__(
        self,
        path: Path,
        *,
        redact: Redactor,
        read_only: bool = False,
        synchronous: str = "FULL",
        busy_seconds: float = 10.0,
    ) -> None:
        self.path = path
        self.engine = _engine(path, read_only, synchronous, busy_seconds)
        self._reading = self.engine.execution_options(reading=True)
        self._connections: dict[int, Connection] = {}
        self.redact = redact
        self._broken: CorruptData | None = None
        self._writer = Worker("lra-writer")
        self._readers = Worker("lra-reader", _READERS)

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """Run work in one transaction; when this returns, the disk has it."""
        try:
            return await self._writer.do(lambda: self._run(self.engine, work))
        except asyncio.CancelledError:
            await self._writer.drain()
            raise

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run work on one consistent view of the data."""
        return await self._readers.do(lambda: self._run(self._reading, work))

    async def backup(self, to: Path) -> None:
        """Copy the whole database to a file while it may be in use."""
        await self._readers.do(lambda: copy_database(self.path, to))

    async def close(self) -> None:
        """Finish what was begun and let go of the file."""
        self._writer.close()
        self._readers.close()
        while self._connections:
            self._connections.popitem()[1].close()
        self.engine.dispose()

    def _run(self, engine: Engine, work: Callable[[Transaction], T]) -> T:
        if self._broken is not None:
            raise self._broken
        try:
            with storage_errors(self.path), self._kept(engine) as connection, connection.begin():
                return work(Transaction(connection, self.redact))
        except CorruptData as error:
            # From the first sign of damage on, nothing more is written.
            self._broken = error
            raise

    @contextmanager
    def _kept(self, engine: Engine) -> Generator[Connection]:
        """This thread's own connection: taking one from the pool costs as much as a small read."""
        thread = threading.get_ident()
        if thread not in self._connections:
            self._connections[thread] = engine.connect()
        try:
            yield self._connections[thread]
        except BaseException:
            # Whatever state it is in now, the next transaction does not find out: the pool rolls
            # back what was begun, also by a transaction whose beginning failed.
            self._connections.pop(thread).close()
            raise


def _engine(path: Path, read_only: bool, synchronous: str, busy_seconds: float) -> Engine:
    # Built, not written: a path may have a '?' or a '#' in it.
    url = (
        URL.create("sqlite", database=path.as_uri(), query={"mode": "ro", "uri": "true"})
        if read_only
        else URL.create("sqlite", database=str(path))
    )
    engine = create_engine(
        url,
        connect_args={"check_same_thread": False, "timeout": busy_seconds},
        pool_size=_READERS + 1,
    )

    def prepare(connection: sqlite3.Connection, _: object) -> None:
        # Transactions are begun by us, so that DDL is inside them too.
        connection.isolation_level = None
        if not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")

    def begin(connection: Connection) -> None:
        reading = read_only or connection.get_execution_options().get("reading")
        # A writer takes its lock at once, so that it waits at the start and never fails half-way.
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


@contextmanager
def storage_errors(path: Path) -> Generator[None]:
    """Turn what SQLite says into what a person can do about it."""
    try:
        yield
    except DatabaseError as error:
        raise _translate(error.orig, path) from error
    except sqlite3.DatabaseError as error:
        raise _translate(error, path) from error


def _translate(error: BaseException | None, path: Path) -> LraError | BaseException:
    text = str(error)
    code = getattr(error, "sqlite_errorname", "") or ""
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return CorruptData(
            f"The database {path} is damaged ({text}).",
            hint="Nothing was written. Move it away and restore the newest file of 'backups/'.",
        )
    if code.startswith("SQLITE_FULL") or "disk is full" in text:
        return StorageFailed(
            f"No room left for {path}.", hint="Free some disk space; nothing was lost."
        )
    if code.startswith("SQLITE_READONLY"):
        return StorageFailed(f"{path} cannot be written.", hint="Check its permissions.")
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StorageFailed(
            f"Another program holds {path} locked.", hint="Close it and try again."
        )
    if code.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN")):
        return StorageFailed(
            f"{path} cannot be read or written ({text}).",
            hint="Check the disk, the folder's permissions and the free space.",
        )
    return error or AssertionError("a database error without a cause")


def copy_database(source: Path, to: Path) -> None:
    """Copy a database file with SQLite's own online backup, then make the copy appear at once."""
    unfinished = to.with_suffix(".part")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        # What an interrupted backup left behind may be anything.
        unfinished.unlink(missing_ok=True)
        with (
            storage_errors(source),
            closing(sqlite3.connect(source)) as reader,
            closing(sqlite3.connect(unfinished)) as writer,
        ):
            reader.backup(writer)
        unfinished.replace(to)
    except OSError as error:
        raise StorageFailed(
            f"The backup {to} cannot be written: {error.strerror}.",
            hint="Check the folder's permissions and the free space.",
        ) from error
