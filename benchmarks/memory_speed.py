"""Measures how long memories take: `python -m benchmarks.memory_speed [--sizes N …] [--million]`.

All contenders hold the same vectors of the same made-up memories and take turns, so that noise of
the machine hits all alike. Compare ratios inside one run, never figures of two runs. We answer
with a whole search, words and meaning and structure and the memories themselves; the others with
the numbers of the nearest vectors. Every insert is on disk before the next step.
"""

import argparse
import asyncio
import gc
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import venvs
from benchmarks.memory_corpus import Corpus, WordVectors
from benchmarks.report import Bar

SIZES = (10_000, 100_000)
MILLION = 1_000_000
RIVALS_UP_TO = 100_000
QUESTIONS = 200
BLOCK = 20
WRITES = 20
_PART = 10_000
_OWNER = "me"


@dataclass(slots=True)
class Figures:
    """What was measured of one contender at one size, in milliseconds."""

    build_seconds: float = 0.0
    opening: float = 0.0
    queries: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    """The processor's time for each query: what it would take on an idle machine."""
    inserts: list[float] = field(default_factory=list)
    after_inserts: list[float] = field(default_factory=list)
    megabytes: float = 0.0

    def row(self, name: str) -> str:
        """One line of the table."""
        slowest = sorted(self.queries)[len(self.queries) * 99 // 100]
        return (
            f"| {name} | {self.build_seconds:.0f} | {self.opening / 1000:.2f}"
            f" | {_middle(self.queries)} | {_middle(self.busy)} | {slowest:.1f}"
            f" | {_middle(self.inserts)} | {_middle(self.after_inserts)}"
            f" | {f'{self.megabytes:.0f}' if self.megabytes else '-'} |"
        )


def _middle(values: list[float]) -> str:
    return f"{median(values):.2f}" if values else "-"


class Ours:
    """This project: one call from a question to the memories that answer it."""

    name = "ours, whole search"

    def __init__(self, corpus: Corpus, vectors: WordVectors, folder: Path) -> None:
        from benchmarks.memory_adapter import opened  # noqa: PLC0415 - the parent needs it not

        self._opened = opened
        self._corpus, self._vectors, self._folder = corpus, vectors, folder
        self._loop = asyncio.new_event_loop()

    def build(self, size: int) -> None:
        """Write so many memories."""
        self._memories = self._opened(self._folder, self._vectors, "OFF")
        for first in range(0, size, _PART):
            drafts = self._corpus.drafts(min(_PART, size - first), first, seed=first)
            self._loop.run_until_complete(self._memories.write_many(_OWNER, drafts))
        self.close()

    def open(self) -> None:
        """Open what was built."""
        self._memories = self._opened(self._folder, self._vectors)

    def ask(self, question: str) -> int:
        """Search, and say how many hits there were."""
        from long_running_agents.domain.memory import Query, Viewer  # noqa: PLC0415 - as above

        asked = Query(text=question)
        found = self._loop.run_until_complete(self._memories.find(Viewer(owner=_OWNER), asked))
        return len(found.hits)

    def insert(self, number: int) -> None:
        """Write one memory, and have it on disk."""
        drafts = self._corpus.drafts(1, number, seed=number)
        self._loop.run_until_complete(self._memories.write_many(_OWNER, drafts))

    def close(self) -> None:
        """Let go of the database."""
        self._loop.run_until_complete(self._memories.database.close())


class Chroma:
    """ChromaDB: the nearest vectors, with their texts stored beside them."""

    name = "ChromaDB, vectors only"

    def __init__(self, corpus: Corpus, vectors: WordVectors, folder: Path) -> None:
        self._corpus, self._vectors, self._folder = corpus, vectors, folder
        self._collection: Any = None

    def build(self, size: int) -> None:
        """Add so many texts and their vectors."""
        self.open()
        for first in range(0, size, _PART):
            self._add(first, list(self._corpus.texts(min(_PART, size - first), seed=first)))

    def _add(self, first: int, texts: list[str]) -> None:
        for start in range(0, len(texts), 2000):
            part = texts[start : start + 2000]
            self._collection.add(
                ids=[str(first + start + place) for place in range(len(part))],
                embeddings=self._vectors.embedded(part),
                documents=part,
            )

    def open(self) -> None:
        """Open what was built."""
        import chromadb  # noqa: PLC0415 - a rival is loaded only when it takes part

        self._client = chromadb.PersistentClient(str(self._folder))
        self._collection = self._client.get_or_create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def ask(self, question: str) -> int:
        """The nearest ten."""
        vector = self._vectors.embedded([question])
        return len(self._collection.query(query_embeddings=vector, n_results=10)["ids"][0])

    def insert(self, number: int) -> None:
        """Add one text with its vector."""
        self._add(number, list(self._corpus.texts(1, seed=number)))

    def close(self) -> None:
        """Let go of the files."""
        self._client.close()


class Matrix:
    """The plain design: words by FTS5 with triggers, vectors in a matrix of unit rows that is made
    again after each write, both lists joined by rank.
    """

    name = "matrix made again"

    def __init__(self, corpus: Corpus, vectors: WordVectors, folder: Path) -> None:
        self._corpus, self._vectors, self._folder = corpus, vectors, folder
        self._matrix: Any = None

    def build(self, size: int) -> None:
        """Write so many texts and vectors."""
        self.open()
        self._rows.executescript(_MATRIX_TABLES)
        for first in range(0, size, _PART):
            texts = list(self._corpus.texts(min(_PART, size - first), seed=first))
            vectors = self._vectors.embedded(texts)
            rows = [(text, row.tobytes()) for text, row in zip(texts, vectors, strict=True)]
            self._rows.executemany("INSERT INTO memory (text, vector) VALUES (?, ?)", rows)
            self._rows.commit()
        self.close()

    def open(self) -> None:
        """Open what was built."""
        self._rows = sqlite3.connect(self._folder / "matrix.db")
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = FULL")
        self._matrix = None

    def ask(self, question: str) -> int:
        """The best ten of both lists."""
        if self._matrix is None:
            self._make_again()
        words = " ".join(f'"{word}"' for word in question.rstrip("?").split())
        by_words = self._rows.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 20", (words,)
        )
        ranks = {number: 1 / (61 + place) for place, (number,) in enumerate(by_words)}
        scores = self._matrix @ self._vectors.embedded([question])[0]
        near = np.argpartition(-scores, 20)[:20]
        for place, row in enumerate(near[np.argsort(-scores[near])]):
            number = self._ids[row]
            ranks[number] = ranks.get(number, 0) + 1 / (61 + place)
        best = sorted(ranks, key=lambda number: -ranks[number])[:10]
        marks = ",".join("?" * len(best))
        query = f"SELECT id, text FROM memory WHERE id IN ({marks})"
        return len(self._rows.execute(query, best).fetchall())

    def _make_again(self) -> None:
        rows = self._rows.execute("SELECT id, vector FROM memory").fetchall()
        self._ids = [row[0] for row in rows]
        matrix = np.array([np.frombuffer(row[1], np.float32) for row in rows])
        self._matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    def insert(self, number: int) -> None:
        """Write one text with its vector."""
        text = next(self._corpus.texts(1, seed=number))
        vector = self._vectors.embedded([text])[0].tobytes()
        with self._rows:
            self._rows.execute("INSERT INTO memory (text, vector) VALUES (?, ?)", (text, vector))
        self._matrix = None

    def close(self) -> None:
        """Let go of the file."""
        self._rows.close()


_MATRIX_TABLES = """
CREATE TABLE memory (id INTEGER PRIMARY KEY, text TEXT, vector BLOB);
CREATE VIRTUAL TABLE words USING fts5(text, content=memory, content_rowid=id);
CREATE TRIGGER added AFTER INSERT ON memory BEGIN
    INSERT INTO words (rowid, text) VALUES (new.id, new.text);
END;
"""


def timed(work: Callable[[], object]) -> float:
    """How many milliseconds something takes."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def measured(size: int, classes: list[type[Any]], folder: Path) -> dict[str, Figures]:
    """Build everybody's store, then let them take turns."""
    corpus = Corpus.make()
    vectors = WordVectors(corpus)
    questions = corpus.questions(QUESTIONS, seed=7)
    contenders: dict[str, Any] = {}
    figures = {kind.name: Figures() for kind in classes}
    for kind in classes:
        place = folder / f"{kind.__name__}-{size}"
        place.mkdir()
        contender = contenders[kind.name] = kind(corpus, vectors, place)
        figures[kind.name].build_seconds = timed(lambda built=contender: built.build(size)) / 1000
    for name, contender in contenders.items():
        figures[name].opening = timed(lambda ready=contender: _first(ready, questions[0]))
    gc.collect()
    # In blocks: one query at a time would measure how cold the others left the machine.
    for start in range(0, QUESTIONS, BLOCK):
        for name, contender in contenders.items():
            _ask(contender, questions[start : start + BLOCK], figures[name])
    for name, contender in contenders.items():
        _write(contender, questions[:WRITES], 10 * size, figures[name])
    for contender in contenders.values():
        contender.close()
    own_place = folder / f"{Ours.__name__}-{size}"
    figures[Ours.name].megabytes = _resident(own_place)
    return figures


def _ask(contender: Any, questions: list[str], own: Figures) -> None:
    contender.ask(questions[0])
    for question in questions:
        busy = time.process_time()
        own.queries.append(timed(lambda text=question: contender.ask(text)))
        own.busy.append((time.process_time() - busy) * 1000)


def _write(contender: Any, questions: list[str], first: int, own: Figures) -> None:
    for number, question in enumerate(questions, first):
        own.inserts.append(timed(lambda which=number: contender.insert(which)))
        own.after_inserts.append(timed(lambda text=question: contender.ask(text)))


def _first(contender: Any, question: str) -> None:
    contender.open()
    contender.ask(question)


def _resident(folder: Path) -> float:
    """The memory of a process that does nothing but open our store and search it."""
    command = [sys.executable, "-m", "benchmarks.memory_speed", "--resident", str(folder)]
    output = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(output.stdout)


def resident(folder: Path) -> None:
    """Open, search, and print the most memory it took in megabytes."""
    corpus = Corpus.make()
    ours = Ours(corpus, WordVectors(corpus), folder)
    ours.open()
    for question in corpus.questions(20, seed=9):
        ours.ask(question)
    # Not what getrusage says: that counts the process that started this one as well.
    status = Path("/proc/self/status").read_text()
    print(next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) / 1024)
    ours.close()


def bars(all_figures: dict[int, dict[str, Figures]]) -> Iterator[Bar]:
    """Hold our figures against what we promise."""
    middle = 100_000
    if figures := all_figures.get(middle):
        ours, chroma, matrix = (figures[kind.name] for kind in (Ours, Chroma, Matrix))
        query = median(ours.queries)
        yield Bar("milliseconds of a whole search at 100,000", query, 10.0)
        yield Bar("a whole search to ChromaDB's, at 100,000", query / median(chroma.queries), 3.0)
        after = median(matrix.after_inserts) / median(ours.after_inserts)
        yield Bar("the matrix's query after an insert to ours", after, 50.0, at_least=True)
        insert = median(chroma.inserts) / median(ours.inserts)
        yield Bar("ChromaDB's durable insert to ours", insert, 3.0, at_least=True)
    if figures := all_figures.get(MILLION):
        ours = figures[Ours.name]
        yield Bar("seconds to open and search once at a million", ours.opening / 1000, 5.0)
        yield Bar("gigabytes in memory at a million", ours.megabytes / 1000, 1.5)
        yield Bar("milliseconds of a whole search at a million", median(ours.queries), 60.0)


def told(bar: Bar) -> str:
    """One line about a promise; the name says what the number counts."""
    sign = "at least" if bar.at_least else "at most"
    return f"- {bar.verdict}: {bar.name}: {bar.value:.2f} ({sign} {bar.limit:g} promised)"


def growth(all_figures: dict[int, dict[str, Figures]]) -> Iterator[str]:
    """Say how our costs grow from size to size."""
    sizes = sorted(all_figures)
    for small, large in pairwise(sizes):
        less, more = (all_figures[size][Ours.name] for size in (small, large))
        query = median(more.queries) / median(less.queries)
        insert = median(more.inserts) / median(less.inserts)
        yield (
            f"- {small:,} to {large:,}, {large / small:.0f} times as many:"
            f" a search takes {query:.1f}x, an insert {insert:.1f}x"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How long memories take, side by side.")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--million", action="store_true", help="ours with a million as well")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--resident", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.resident:
        return resident(options.resident)
    if not options.inside:
        # Everybody in one environment, so that all share the same libraries.
        python = str(venvs.ready())
        # One thread each: a library's idle threads would slow down whoever comes next.
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(python, [python, "-m", "benchmarks.memory_speed", "--inside", *sys.argv[1:]])
    sizes = sorted({*options.sizes, *([MILLION] if options.million else [])})
    folder = Path(tempfile.mkdtemp(prefix="memory-speed-"))
    all_figures: dict[int, dict[str, Figures]] = {}
    try:
        for size in sizes:
            classes = [Ours, Chroma, Matrix] if size <= RIVALS_UP_TO else [Ours]
            all_figures[size] = measured(size, classes, folder)
            load = os.getloadavg()[0]
            print(f"\n## {size:,} memories (load {load:.1f} on {os.cpu_count()} processors)\n")
            print(
                "| contender | build s | open + first s | query p50 ms | CPU ms | p99 ms"
                " | insert ms | query after it ms | RSS MB |"
            )
            print("|---" * 9 + "|")
            for name, figures in all_figures[size].items():
                print(figures.row(name), flush=True)
    finally:
        shutil.rmtree(folder)
    print("\n## Growth and promises\n")
    for line in [*growth(all_figures), *map(told, bars(all_figures))]:
        print(line)
    return None


if __name__ == "__main__":
    main()
