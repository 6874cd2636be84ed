"""How well and how fast the embedders find what was asked for, without any keyword search.

    python -m benchmarks.embedders [--priors] [--data FILE]

Two sets: the notes beside this file, each with a question in other words, and the conversations of
LoCoMo, which may be used for evaluation only and are therefore not here. They are looked for in
`../shared/data/locomo_dev.json` beside the project, and left out when they are not there.

`--priors` compares ways to weight the tokens of the bundled embedder.
"""

import argparse
import asyncio
import json
import re
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from long_running_agents.memory.embedding import bundled
from long_running_agents.memory.embedding.bundled import BundledEmbedder

ROOT = Path(__file__).parents[1]
NOTES = Path(__file__).with_name("notes.txt")
LOCOMO = ROOT.parent / "shared" / "data" / "locomo_dev.json"
TOP = 10
ADVERSARIAL = 5
"""Questions of this category have no answer in the conversation."""


@dataclass(frozen=True)
class Quiz:
    """Texts, and questions with the places of the texts that answer them."""

    texts: list[str]
    questions: list[str]
    answers: list[set[int]]


def notes():
    lines = NOTES.read_text(encoding="utf-8").splitlines()
    texts, questions = zip(*(line.split(" | ") for line in lines), strict=True)
    return [Quiz(list(texts), list(questions), [{place} for place in range(len(texts))])]


def conversations(path, *, context, named):
    """One quiz per conversation.

    `context` puts the turn before in front of each turn; `named` keeps the speakers, in the turns
    and in the questions.
    """
    for sample in json.loads(path.read_text(encoding="utf-8")):
        turns = list(spoken(sample["conversation"]))
        told = [(f"{turn['speaker']}: " if named else "") + said(turn) for _, turn in turns]
        if context:
            told = [
                f"{told[place - 1]}\n{text}"
                if place and turns[place - 1][0] == turns[place][0]
                else text
                for place, text in enumerate(told)
            ]
        places = {turn["dia_id"]: place for place, (_, turn) in enumerate(turns)}
        people = {turn["speaker"] for _, turn in turns}
        questions, answers = [], []
        for asked in sample["qa"]:
            evidence = set(evidence_in(asked.get("evidence") or [], places))
            if evidence and asked["category"] != ADVERSARIAL:
                text = asked["question"]
                questions.append(text if named else without_names(text, people))
                answers.append(evidence)
        yield Quiz(told, questions, answers)


def spoken(conversation):
    """The turns in the order they were said, with the number of their session."""
    numbers = sorted(
        int(found.group(1))
        for key in conversation
        if (found := re.fullmatch(r"session_(\d+)", key))
    )
    for number in numbers:
        for turn in conversation[f"session_{number}"]:
            yield number, turn


def said(turn):
    picture = turn.get("blip_caption")
    return turn["text"] + (f" [image: {picture}]" if picture else "")


def evidence_in(written, places):
    """The places of the turns that are evidence; people wrote their ids in several ways."""
    for text in written:
        for session, turn in re.findall(r"D:?(\d+):(\d+)", text):
            if (name := f"D{int(session)}:{int(turn)}") in places:
                yield places[name]


async def recall(embedder, quizzes):
    """The share of the answers among the first ten texts, over all questions."""
    found = []
    for quiz in quizzes:
        rows = await embedder.documents(quiz.texts)
        for question, answers in zip(quiz.questions, quiz.answers, strict=True):
            best = np.argsort(-(rows @ await embedder.query(question)), kind="stable")[:TOP]
            found.append(len(answers & set(best.tolist())) / len(answers))
    return sum(found) / len(found)


async def first_hits(embedder, quiz):
    """How often the very first text is the answer, and how often one of the first five."""
    rows = await embedder.documents(quiz.texts)
    asked = np.stack([await embedder.query(question) for question in quiz.questions])
    likeness = asked @ rows.T
    better = (likeness > likeness.diagonal()[:, None]).sum(axis=1)
    return (better < 1).mean(), (better < 5).mean()


async def figures(embedder, path):
    """One row of the table."""
    one, five = await first_hits(embedder, notes()[0])
    row = [f"{one:.2f}", f"{five:.2f}"]
    for named in (True, False):
        for context in (False, True):
            if path is None:
                row.append("")
                continue
            quizzes = conversations(path, context=context, named=named)
            row.append(f"{await recall(embedder, quizzes):.3f}")
    return row


async def speed(embedder):
    """Texts a second in a batch, and milliseconds for a question."""
    texts = [f"{quiz} {number}" for number in range(5) for quiz in notes()[0].texts]
    await embedder.query("warm")
    began = time.perf_counter()
    await embedder.documents(texts)
    batch = time.perf_counter() - began
    began = time.perf_counter()
    for text in texts[:100]:
        await embedder.query(text)
    return [f"{len(texts) / batch:,.0f}", f"{(time.perf_counter() - began) * 10:.2f}"]


class Weighted(BundledEmbedder):
    """The bundled embedder under other weights, and perhaps without its commonest directions."""

    def __init__(self, weigh, *, removed=0):
        super().__init__()
        self._weigh = weigh
        self._removed = removed

    def _loaded(self):
        if self._table is None:
            table = super()._loaded()
            rows = table.rows.astype(np.float32)
            tokens = [table.tokenizer.id_to_token(place) for place in range(len(rows))]
            weights = self._weigh(tokens, np.linalg.norm(rows, axis=1)).astype(np.float32)
            if self._removed:
                weighted = rows * weights[:, None]
                axes = np.linalg.eigh(weighted.T @ weighted)[1][:, -self._removed :]
                rows -= rows @ axes @ axes.T
            self._table = bundled._Table(table.tokenizer, rows, weights)  # noqa: SLF001 - an experiment
        return self._table


def zipf(tokens, lengths):
    """The order of Llama's merges as a rank; its single letters, at the end, count as common."""
    del lengths
    rank = np.arange(len(tokens), dtype=float) - 258
    rank[(rank < 1) | (np.array([len(token.strip("\u2581")) for token in tokens]) < 2)] = 1
    share = 1 / (rank + 2.7)
    return 1e-3 / (1e-3 + share / share.sum())


def capped(tokens, lengths):
    del tokens
    return np.minimum(1, bundled.LONGEST / np.maximum(lengths, bundled.LONGEST))


def words(tokens, lengths):
    return bundled.token_weights(tokens, np.zeros_like(lengths))


PRIORS = {
    "plain mean": Weighted(lambda _, lengths: np.ones_like(lengths)),
    "Zipf by token id": Weighted(zipf),
    "by length of the vector": Weighted(lambda _, lengths: lengths**0.5),
    "cap only": Weighted(capped),
    "common words only": Weighted(words),
    "both, less one direction": Weighted(bundled.token_weights, removed=1),
    "both, less two directions": Weighted(bundled.token_weights, removed=2),
}


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--priors", action="store_true", help="compare weights of tokens")
    parser.add_argument("--data", type=Path, default=LOCOMO, help="the LoCoMo file")
    options = parser.parse_args()
    path = options.data if options.data.exists() else None
    if path is None:
        print("LoCoMo is not there, so only the notes are measured. --data names its file.\n")
    embedders = {**(PRIORS if options.priors else {}), "bundled": BundledEmbedder()}
    head = ["", "note 1st", "in 5", "turn", "with context", "nameless", "with context"]
    print(*head, "texts/s", "query ms", sep=" | ")
    print(*["---"] * (len(head) + 2), sep=" | ")
    for name, embedder in embedders.items():
        print(name, *await figures(embedder, path), *await speed(embedder), sep=" | ", flush=True)
        await embedder.close()


def without_names(text: str, names: Collection[str]) -> str:
    """The text without these names, or as it is when nothing would be left.

    A name says who, not what. Averaged with the few other words of a question it would draw in
    everything that person ever said; whoever knows the speakers can match those exactly.
    """
    known = sorted((re.escape(name) for name in names if name.strip()), key=len, reverse=True)
    if not known:
        return text
    named = rf"(?<!\w)(?:{'|'.join(known)})(?:['\u2019]s)?(?!\w)"
    rest = re.sub(named, " ", text, flags=re.IGNORECASE)
    rest = " ".join(rest.split())
    return rest if any(letter.isalnum() for letter in rest) else text


if __name__ == "__main__":
    asyncio.run(main())
