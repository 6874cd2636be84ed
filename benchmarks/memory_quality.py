"""Measures what is found: `python -m benchmarks.memory_quality [--data FILE] [--reference FILE]`.

The data is a file in the format of LoCoMo: conversations of many sessions, and questions with the
turns that answer them. It may not be shipped with this project, so it is looked for in a folder
`shared` beside the checkout unless it is named. All contenders get the same memories and, where
they need one, the same embedder.
"""

import argparse
import importlib.util
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import venvs

SHARED = venvs.ROOT.parent / "shared"
DATA = SHARED / "data" / "locomo_dev.json"
REFERENCE = SHARED / "prototypes" / "memory" / "memory_ref_adapter.py"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""The fifth holds questions that nothing answers."""
FOUND = 10
NOTES_FOUND = 3
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the memories that answer it."""

    text: str
    category: str
    conversation: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Store:
    """Memories that are searched together, and the questions about them."""

    memories: list[dict[str, Any]]
    questions: list[Question]


def conversations(path: Path) -> list[Store]:
    """Read a file in the format of LoCoMo, a store for each conversation."""
    return [_conversation(sample) for sample in json.loads(path.read_text())]


def _conversation(sample: dict[str, Any]) -> Store:
    name, talk = sample["sample_id"], sample["conversation"]
    memories: list[dict[str, Any]] = []
    for key in sorted(filter(re.compile(r"session_\d+").fullmatch, talk), key=_number):
        when = talk.get(f"{key}_date_time", "")
        memories += [_memory(name, _number(key), when, turn) for turn in talk[key]]
    known = {memory["id"] for memory in memories}
    questions = [
        Question(
            entry["question"],
            CATEGORIES[entry["category"]],
            name,
            frozenset(_answers(name, entry.get("evidence")) & known),
        )
        for entry in sample["qa"]
        if entry["category"] in CATEGORIES
    ]
    return Store(memories, [question for question in questions if question.answers])


def _number(key: str) -> int:
    return int(key.split("_")[1])


def _memory(name: str, session: int, when: str, turn: dict[str, Any]) -> dict[str, Any]:
    text, caption = (turn.get("text") or "").strip(), (turn.get("blip_caption") or "").strip()
    shown = f" [image: {caption}]" if caption else ""
    return {
        "id": f"{name}/{turn['dia_id']}",
        "scope": name,
        "session": session,
        "speaker": turn["speaker"],
        "text": text,
        "caption": caption,
        "date": _date(when),
        "content": f"{when} | {turn['speaker']}: {text}{shown}",
    }


def _date(when: str) -> str:
    try:
        return datetime.strptime(when.strip().upper(), "%I:%M %p ON %d %B, %Y").isoformat()  # noqa: DTZ007 - it has none
    except ValueError:
        return ""


def _answers(name: str, evidence: Sequence[str] | None) -> set[str]:
    found = _EVIDENCE.findall(" ".join(map(str, evidence or ())))
    return {f"{name}/D{int(session)}:{int(turn)}" for session, turn in found}


def pooled(stores: Sequence[Store]) -> list[Store]:
    """All memories in one store, with nothing to tell the conversations apart."""
    return [
        Store(
            [memory for store in stores for memory in store.memories],
            [question for store in stores for question in store.questions],
        )
    ]


def notes() -> list[Store]:
    """The notes that belong to no conversation."""
    from benchmarks.memory_notes import notes as all_notes  # noqa: PLC0415 - only for this

    memories = [
        {
            "id": str(place),
            "scope": "notes",
            "session": 0,
            "speaker": "",
            "caption": "",
            "date": "",
            "text": note.content,
            "content": note.content,
        }
        for place, note in enumerate(all_notes())
    ]
    questions = [
        Question(note.question, "notes", "notes", frozenset({str(place)}))
        for place, note in enumerate(all_notes())
    ]
    return [Store(memories, questions)]


def recalls(adapter: Callable[[], Any], stores: Sequence[Store], found: int) -> list[float]:
    """For each question the share of its answers among the first so many hits."""
    shares: list[float] = []
    for store in stores:
        contender = adapter()
        contender.build(store.memories)
        for question in store.questions:
            hits = contender.search(question.text, found)
            shares.append(len(question.answers.intersection(hits)) / len(question.answers))
        if hasattr(contender, "close"):
            contender.close()
    return shares


def contenders(reference: Path) -> dict[str, Callable[[], Any]]:
    """All who take part, by name."""
    from benchmarks import memory_adapter  # noqa: PLC0415 - needs the environment of the rivals

    found: dict[str, Callable[[], Any]] = {
        "ours": memory_adapter.Ours,
        "ours, no embedder": memory_adapter.OursWithoutEmbedder,
        "ours, RRF": memory_adapter.OursRrf,
        "FTS5 alone": memory_adapter.Fts5,
        "ChromaDB": memory_adapter.Chroma,
    }
    if reference.exists():
        spec = importlib.util.spec_from_file_location("reference", reference)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found["reference"] = module.HybridRef
    return found


def table(
    stores: Sequence[Store], rows: dict[str, Callable[[], Any]], *, whole: bool
) -> Iterator[str]:
    """Yield the lines of the table of conversations, by category and conversation."""
    questions = [question for store in stores for question in store.questions]
    groups = [*sorted(CATEGORIES.values())]
    if not whole:
        groups += list(dict.fromkeys(question.conversation for question in questions))
    yield f"| contender | recall@{FOUND} | {' | '.join(groups)} |"
    yield "|---" * (len(groups) + 2) + "|"
    for name, adapter in rows.items():
        shares = recalls(adapter, stores, FOUND)
        by_group: dict[str, list[float]] = defaultdict(list)
        for question, share in zip(questions, shares, strict=True):
            by_group[question.category].append(share)
            by_group[question.conversation].append(share)
        cells = [f"{mean(by_group[group]):.3f}" if by_group[group] else "-" for group in groups]
        yield f"| {name} | **{mean(shares):.3f}** | {' | '.join(cells)} |"


def notes_table(rows: dict[str, Callable[[], Any]]) -> Iterator[str]:
    """Yield the lines of the table of notes."""
    yield f"| contender | recall@{NOTES_FOUND} | recall@1 |"
    yield "|---|---|---|"
    for name, adapter in rows.items():
        few, one = (mean(recalls(adapter, notes(), count)) for count in (NOTES_FOUND, 1))
        yield f"| {name} | {few:.3f} | {one:.3f} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What is found, side by side.")
    parser.add_argument("--data", type=Path, default=DATA, help="a file in LoCoMo's format")
    parser.add_argument("--reference", type=Path, default=REFERENCE, help="a pipeline to compare")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        # Everybody in one environment, so that all share the same libraries.
        python = str(venvs.ready())
        os.execv(python, [python, "-m", "benchmarks.memory_quality", "--inside", *sys.argv[1:]])
    rows = contenders(options.reference)
    if "reference" not in rows:
        print(f"There is no reference pipeline at {options.reference}; it is left out.")
    if options.data.exists():
        stores = conversations(options.data)
        count = sum(len(store.questions) for store in stores)
        print(f"\n## {count} questions about {len(stores)} conversations\n")
        for line in table(stores, rows, whole=False):
            print(line, flush=True)
        print("\n## The same, all conversations in one store\n")
        for line in table(pooled(stores), rows, whole=True):
            print(line, flush=True)
    else:
        print(f"There are no conversations at {options.data}: they are not measured.")
        print("Name a file in LoCoMo's format with --data.")
    print(f"\n## {len(notes()[0].questions)} notes, each asked for in other words\n")
    for line in notes_table(rows):
        print(line, flush=True)


if __name__ == "__main__":
    main()
