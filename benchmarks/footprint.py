"""What the program itself costs: until it is ready, for one question, at rest and over many turns.

    python -m benchmarks.footprint [LRA ...] [--rounds N] [--turns N]

Each LRA is a program `lra`; two of them, of two versions, take turns, so that whatever else the
machine does falls on both. The scripted model is another process, and memory is on.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.processes import Model, environment
from benchmarks.server_load import HERTZ, our_turn, wait_until_it_answers

CLIENTS = 10
"""Turns at once, when there are many."""


class Serving:
    """`lra serve` on a new home."""

    def __init__(self, program: Path, home: Path, settings: dict[str, str]) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [str(program), "--home", str(home), "serve", "--port", "0"],
            stdout=subprocess.PIPE,
            env=settings,
            text=True,
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise SystemExit(f"{program} did not start: {line!r}")
        self.port = int(line.strip().rpartition(":")[2])
        wait_until_it_answers(self.port)
        self.ready = time.perf_counter() - began
        self.ready_cpu = self.cpu()

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / HERTZ

    def memory(self, kind: str) -> float:
        """Megabytes: "Rss" with everything that is shared with others, "Pss" with a part of it."""
        rows = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        return next(int(row.split()[1]) for row in rows if row.startswith(f"{kind}:")) / 1024

    def turns(self, count: int) -> None:
        """Have so many turns, each with new words, in sessions of fifty."""

        async def client(number: int) -> None:
            for turn in range(number, count, CLIENTS):
                words = " ".join(f"{turn * 7919 + word * 104729:x}" for word in range(20))
                session = f"session-{number}-{turn // (50 * CLIENTS)}"
                if not await our_turn(self.port, session, f"Note {words}. steps=0"):
                    raise SystemExit("A turn had no answer.")

        async def all_clients() -> None:
            await asyncio.gather(*(client(number) for number in range(min(CLIENTS, count))))

        asyncio.run(all_clients())

    def close(self) -> None:
        """End it as Ctrl-C does."""
        self.process.terminate()
        self.process.communicate(timeout=60)


def ask(program: Path, home: Path, settings: dict[str, str]) -> tuple[float, float]:
    """Return the seconds, and those of processor time, that one question takes."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(program), "--home", str(home), "ask", "Hi. steps=0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=settings,
    )
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or b"done" not in said:
        raise SystemExit(f"{program} answered {said!r} with {process.returncode}.")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def measured(program: Path, folder: Path, settings: dict[str, str], turns: int) -> dict[str, float]:
    """One round of everything."""
    serving = Serving(program, folder / "served", settings)
    try:
        figures = {"ready s": serving.ready, "ready CPU s": serving.ready_cpu}
        time.sleep(2)
        figures |= {"idle RSS MB": serving.memory("Rss"), "idle PSS MB": serving.memory("Pss")}
        serving.turns(1)
        time.sleep(2)
        figures["RSS after a turn MB"] = serving.memory("Rss")
        if turns:
            began = serving.cpu()
            for part in (1, 2):
                serving.turns(turns // 2)
                figures[f"RSS after {turns * part // 2} turns MB"] = serving.memory("Rss")
            figures["CPU ms a turn"] = (serving.cpu() - began) * 1000 / turns
    finally:
        serving.close()
    ask(program, folder / "asked", settings)
    figures["ask s"], figures["ask CPU s"] = ask(program, folder / "asked", settings)
    return figures


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("programs", metavar="LRA", type=Path, nargs="*")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--turns", type=int, default=0, help="how many for the growth of RSS")
    given = options.parse_args()
    programs = given.programs or [Path(sys.executable).parent / "lra"]
    rounds: list[list[dict[str, float]]] = [[] for _ in programs]
    folder = Path(tempfile.mkdtemp(prefix="lra-footprint-"))
    try:
        with Model(Path(sys.executable), folder) as model:
            settings = environment() | {
                "AGENT_MODEL": "scripted",
                "AGENT_MODEL_URL": model.url,
                "AGENT_MODEL_KEY": "none",
            }
            for number in range(given.rounds):
                for place, program in enumerate(programs):
                    home = folder / f"{number}-{place}"
                    rounds[place].append(measured(program, home, settings, given.turns))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{'median of ' + str(given.rounds):24}", *programs)
    for name in rounds[0][0]:
        medians = [statistics.median(each[name] for each in figures) for figures in rounds]
        print(f"{name:24}", "  ".join(f"{median:8.2f}" for median in medians))


if __name__ == "__main__":
    main()
