"""Runs every contender and prints the tables: `python -m benchmarks [--quick]`.

All workers stay alive for the whole run and take turns in shuffled order, so that noise of the
machine hits all alike. Compare ratios inside one run, never figures of two runs.
"""

import argparse
import json
import os
import platform
import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks import report, venvs
from benchmarks.contenders import CONTENDERS, NOT_STREAMED, TOOLS, steps_of
from benchmarks.processes import Model, Worker
from benchmarks.report import BARE, HISTORIES, OURS, Sample, history_kind

WARM_UPS = 2
BARE_HISTORY_EVERY = 4
"""Bare Pydantic AI needs seconds for 10,000 messages; a quarter of the rounds is enough."""


class Run:
    """One run of the benchmark: who takes part, and what was measured."""

    def __init__(self, model: Model, workers: list[Worker]) -> None:
        self.model = model
        self.workers = {worker.contender: worker for worker in workers}
        self.samples: list[Sample] = []
        self.left_out: dict[tuple[str, str], str] = {}

    def turn(self, round_number: int, contender: str, kind: str) -> None:
        """Run one turn, and keep its figures unless it is a warm-up (a round below zero)."""
        if (contender, kind) in self.left_out:
            return
        self.model.take()
        answer = self.workers[contender].ask(f"turn {kind}")
        if "left_out" in answer:
            self.left_out[contender, kind] = answer["left_out"]
            return
        traffic = self.model.take()
        check_traffic(contender, kind, traffic)
        if round_number >= 0:
            self.samples.append(Sample(round_number, contender, kind, **answer, **traffic))

    def measure(self, turns: int) -> None:
        """Warm everybody up, then take turns in a new order each round."""
        shuffle = random.Random(0).shuffle
        for round_number in range(-WARM_UPS, turns):
            entries = self.entries(round_number)
            shuffle(entries)
            for contender, kind in entries:
                self.turn(round_number, contender, kind)
            if sys.stderr.isatty():
                end = "\n" if round_number == turns - 1 else ""
                print(f"\rround {max(round_number + 1, 0)} of {turns}", end=end, file=sys.stderr)

    def entries(self, round_number: int) -> list[tuple[str, str]]:
        """Return who runs what in this round."""
        entries = [(name, TOOLS) for name in self.workers]
        for name in (BARE, OURS):
            seldom = name == BARE and round_number > 0 and round_number % BARE_HISTORY_EVERY
            if name in self.workers:
                counts = HISTORIES[:1] if seldom else HISTORIES
                entries += [(name, history_kind(count)) for count in counts]
        return entries


def check_traffic(contender: str, kind: str, traffic: dict[str, int]) -> None:
    """Refuse a turn that the model did not see as it must be."""
    needed = steps_of(kind) + 1
    streamed = 0 if contender == NOT_STREAMED else needed
    if traffic["requests"] < needed or traffic["streamed"] < streamed:
        raise SystemExit(
            f"{contender}, {kind}: {traffic['requests']} requests, {traffic['streamed']} of them"
            f" streamed; at least {needed} and {streamed} were expected."
        )


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--turns", type=int, default=20, help="measured turns each (20)")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=CONTENDERS, help="just these")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample here")
    parser.add_argument("--quick", action="store_true", help="4 turns: does it work?")
    return parser.parse_args()


def show(run: Run, names: list[str], installed: dict[str, str]) -> None:
    """Print the tables and the bars."""
    print("## Ten tool calls in one turn, streamed\n")
    print(*report.tools_table(run.samples, names), sep="\n")
    print("\n## An empty turn, in a new session and in long ones\n")
    print(*report.history_table(run.samples, names), sep="\n")
    print("\nMilliseconds are medians; a ratio is the median of the ratios of each round.")
    print("\n## Bars\n")
    print(*report.bars(run.samples), sep="\n")
    for (name, kind), reason in run.left_out.items():
        print(f"\nLeft out: {name}, {kind}: {reason}")
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    listed = ", ".join(f"{name} {version}" for name, version in installed.items())
    print(f"\n{machine}; {listed}.")


def main() -> None:
    """Install, start everybody, measure and report."""
    options = arguments()
    names = options.only or list(CONTENDERS)
    python = venvs.ready()
    installed = venvs.versions(python)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmark-")))
        model = stack.enter_context(Model(python, folder))
        workers = [stack.enter_context(Worker(python, folder, name, model.url)) for name in names]
        run = Run(model, [worker for worker in workers if worker.left_out is None])
        for worker in workers:
            if worker.left_out is not None:
                run.left_out[worker.contender, "everything"] = worker.left_out
        run.measure(4 if options.quick else options.turns)
    show(run, names, installed)
    if options.json:
        content = {"versions": installed, **report.as_json(run.samples)}
        options.json.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
