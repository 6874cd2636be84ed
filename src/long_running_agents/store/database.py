"""The database connection: one writer thread, a few readers, whole transactions."""

import asyncio
import sqlite3
import threading
from collections import namedtuple
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar, cast

from sqlalchemy import URL, Connection, Dialect, Engine, Insert, create_engine, event, text
from sqlalchemy.sql import Executable
from sqlalchemy.sql.elements import ClauseElement

from long_running_agents.domain.redaction import Redactor
from long_running_agents.errors import CorruptData, StorageFailed
from long_running_agents.store.integrity import is_full, no_room, storage_errors

Row = tuple[Any, ...]


class Prepared:
    """One statement, compiled for each dialect it is used with.

    Args:
        statement: What to run; its parameters are named with ``bindparam``.
        columns: The columns an insert fills.
    """

    def __init__(self, statement: Executable, columns: Sequence[str] = ()) -> None:
        self._statement = statement
        self._columns = list(columns)
        self._compiled: dict[str, tuple[str, list[str]]] = {}
        self._named: dict[str, Callable[[Row], Any]] = {}

    def text(self, dialect: Dialect) -> tuple[str, list[str]]:
        """The SQL, and the names of its parameters in their order."""
        if dialect.name not in self._compiled:
            assert isinstance(self._statement, ClauseElement)  # noqa: S101 - what compile needs
            keys = self._columns if isinstance(self._statement, Insert) else None
            compiled: Any = self._statement.compile(dialect=dialect, column_keys=keys)
            self._compiled[dialect.name] = (str(compiled), list(compiled.positiontup))
        return self._compiled[dialect.name]

    def named(self, dialect: Dialect) -> Callable[[Row], Any]:
        """Makes of a row of the driver what SQLAlchemy would: named, each value of its type."""
        if dialect.name not in self._named:
            statement: Any = self._statement
            columns = list(statement.selected_columns)
            kinds = [column.type.dialect_impl(dialect) for column in columns]
            found = enumerate(kind.result_processor(dialect, None) for kind in kinds)
            typed = [(place, process) for place, process in found if process is not None]
            keys = [column.key for column in columns]
            make = cast("Any", namedtuple)("Named", keys)._make  # noqa: PYI024 - made at run time

            def named(row: Row) -> Any:
                values = list(row)
                for place, process in typed:
                    values[place] = process(values[place])
                return make(values)

            self._named[dialect.name] = named
        return self._named[dialect.name]


def ordered(names: Sequence[str], values: Mapping[str, object]) -> list[object]:
    """Values in the order a statement wants them."""
    return [values[name] for name in names]


Job: TypeAlias = Callable[..., Any]
Outcome: TypeAlias = tuple[BaseException | None, Any]
"""Why a job failed, or None and its result."""
_Entry = tuple[Job, asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


def outcome(job: Job, *given: object) -> Outcome:
    """Do a job, whatever comes of it."""
    try:
        return None, job(*given)
    except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller
        return error, None


def _each(jobs: Sequence[Job]) -> list[Outcome]:
    return [outcome(job) for job in jobs]


class DatabaseThreads:
    """A few threads with one line of jobs.

    A plain executor does the same for three times the price: it makes a second future for every
    job and chains the two. With one thread, jobs are done one after another in their order.

    ``perform`` does the jobs that wait, in their order, and never raises; ``most`` is how many it
    is given at once, more than one only with one thread.
    """

    def __init__(
        self,
        name: str,
        threads: int = 1,
        *,
        perform: Callable[[Sequence[Job]], Sequence[Outcome]] = _each,
        most: int = 1,
    ) -> None:
        self._perform = perform
        self._most = most
        self._jobs: SimpleQueue[_Entry | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        self._begun = False
        self._closed = False

    async def do(self, job: Job) -> Any:
        """Have a job done; if the caller is cancelled, the job is done all the same.

        Raises:
            RuntimeError: The worker is closed; the job would wait for ever.
        """
        if self._closed:
            raise RuntimeError("The database is closed.")
        if not self._begun:
            self._begun = True
            for thread in self._threads:
                thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._jobs.put((job, loop, future))
        return await future

    async def drain(self) -> None:
        """Wait until everything asked for so far is done, however often one is cancelled.

        Only meaningful with one thread.
        """
        barrier = asyncio.ensure_future(self.do(lambda *_: None))
        while not barrier.done():
            try:
                await asyncio.wait([barrier])
            except asyncio.CancelledError:
                continue
        # That it failed is of no interest: whoever asked for what came before is told.
        barrier.exception()

    def close(self) -> None:
        """Finish the line and end the threads."""
        self._closed = True
        if self._begun:
            for _ in self._threads:
                self._jobs.put(None)
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        while entries := self._waiting():
            self._do(entries)
            # Do not keep the jobs' objects alive while waiting for the next.
            del entries

    def _do(self, entries: Sequence[_Entry]) -> None:
        outcomes = self._perform([job for job, _, _ in entries])
        for (_, loop, future), done in zip(entries, outcomes, strict=True):
            # A loop that is gone has nobody left to tell.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_tell, future, *done)

    def _waiting(self) -> list[_Entry]:
        """The next jobs, as many as wait already; none when the line has ended."""
        entries: list[_Entry] = []
        while (entry := self._jobs.get()) is not None:
            entries.append(entry)
            if len(entries) == self._most or self._jobs.empty():
                return entries
        if entries:
            # The end of the line: for the next time.
            self._jobs.put(None)
        return entries


def _tell(future: "asyncio.Future[Any]", error: BaseException | None, result: object) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


T = TypeVar("T")

_READERS = 2
_ROOM = 250_000
"""Bytes that are asked for to find out whether there is room."""
_TOGETHER = 64
"""Writes that share one transaction, at most."""


class Transaction:
    """One transaction: a connection, and the redactor that all stored text passes through."""

    __slots__ = ("_cursor", "_dialect", "close", "control", "execute", "redact")

    def __init__(self, connection: Connection, redact: Redactor) -> None:
        self.execute = connection.execute
        self.redact = redact
        self.close = connection.close
        self._dialect = connection.dialect
        self._cursor = connection.connection.cursor()
        self.control = self._cursor.execute
        """Begins and ends transactions: by way of SQLAlchemy it costs as much as a small read."""

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

    def first(self, prepared: Prepared, values: Mapping[str, object]) -> Any | None:
        """The first row of a prepared query, by the names and types of its columns."""
        row = self.run(prepared, values)
        return None if row is None else prepared.named(self._dialect)(row)

    def all(self, prepared: Prepared, values: Mapping[str, object]) -> list[Any]:
        """All rows of a prepared query, by the names and types of its columns."""
        return [prepared.named(self._dialect)(row) for row in self.run_all(prepared, values)]

    def run_each(self, prepared: Prepared, rows: Sequence[Mapping[str, object]]) -> None:
        """Run a prepared statement once for each row of values."""
        text, names = prepared.text(self._dialect)
        if len(rows) == 1:
            self._cursor.execute(text, ordered(names, rows[0]))
        else:
            self._cursor.executemany(text, [ordered(names, row) for row in rows])


class Database:
    """An SQLite file in WAL mode.

    SQLAlchemy runs on a writer thread and a few reader threads, so a transaction costs one hop
    between threads however many statements it has. A write is never half-cancelled: whoever is
    cancelled while one runs hears of it when the write has ended. Writes that wait share one
    transaction and so one wait for the disk; one that fails takes back only itself.
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
        # A writer takes its lock at once, so that it waits at the start and never fails half-way.
        self._begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"
        self._kept_open: dict[int, Transaction] = {}
        self.redact = redact
        self._broken: CorruptData | None = None
        self._refused: StorageFailed | None = None
        """Why a write was not taken, until there is room for sure: a small one may still fit."""
        self._writer = DatabaseThreads("lra-writer", perform=self._write_together, most=_TOGETHER)
        self._readers = DatabaseThreads("lra-reader", _READERS)

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """Run work in one transaction; when this returns, the disk has it."""
        try:
            return await self._writer.do(work)
        except asyncio.CancelledError:
            await self._writer.drain()
            raise
        except StorageFailed as error:
            self._refused = error
            raise

    async def check_room(self) -> None:
        """Find out whether the disk takes more.

        Raises:
            StorageFailed: It does not.
        """
        if is_full(self.path):
            raise no_room(self.path)
        if self._refused is not None:
            await self.write(_try_room)
            self._refused = None

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run work on one consistent view of the data."""
        return await self._readers.do(lambda: self._run("BEGIN", work))

    async def close(self) -> None:
        """Finish what was begun and let go of the file."""
        self._writer.close()
        self._readers.close()
        while self._kept_open:
            self._kept_open.popitem()[1].close()
        self.engine.dispose()

    def _write_together(self, works: Sequence[Job]) -> Sequence[Outcome]:
        if len(works) == 1:
            return [outcome(self._run, self._begin, works[0])]

        def together(tx: Transaction) -> list[Outcome]:
            return [self._apart(tx, work) for work in works]

        error, done = outcome(self._run, self._begin, together)
        return done if error is None else [(error, None)] * len(works)

    def _apart(self, tx: Transaction, work: Job) -> Outcome:
        """Do one of several writes of a transaction so that it can be taken back alone."""
        tx.control("SAVEPOINT one")
        error, result = outcome(storage_errors(self.path)(work), tx)
        if isinstance(error, StorageFailed | CorruptData):
            # The disk, not the work: SQLite may have taken all of it back by itself.
            raise error
        if error is not None:
            tx.control("ROLLBACK TO one")
        tx.control("RELEASE one")
        return error, result

    def _run(self, begin: str, work: Callable[[Transaction], T]) -> T:
        if self._broken is not None:
            raise self._broken
        try:
            with storage_errors(self.path), self._kept() as tx:
                tx.control(begin)
                result = work(tx)
                tx.control("COMMIT")
                return result
        except CorruptData as error:
            # From the first sign of damage on, nothing more is written.
            self._broken = error
            raise

    @contextmanager
    def _kept(self) -> Generator[Transaction]:
        """This thread's own connection: taking one from the pool costs as much as a small read."""
        thread = threading.get_ident()
        if thread not in self._kept_open:
            connection = self.engine.connect().execution_options(kept=True)
            self._kept_open[thread] = Transaction(connection, self.redact)
        try:
            yield self._kept_open[thread]
        except BaseException:
            # Whatever state it is in now, the next transaction does not find out: the pool rolls
            # back what was begun, also by a transaction whose beginning failed.
            self._kept_open.pop(thread).close()
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
        # What is kept open begins by itself; this is for migrations and the like.
        if not connection.get_execution_options().get("kept"):
            connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return engine


def _try_room(tx: Transaction) -> None:
    """Need more pages, and give them back: a small change may still find room in the log."""
    tx.execute(text(f"CREATE TABLE room AS SELECT zeroblob({_ROOM})"))
    tx.execute(text("DROP TABLE room"))
