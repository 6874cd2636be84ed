"""How fast a sandbox is, beside an ipykernel: `python -m benchmarks.sandbox [--rounds 15]`.

Both take turns in the same run, so that whatever else the machine does falls on both. Of processor
time, which says more on a busy machine, all processes of each side are counted.
"""

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path
from statistics import median

from long_running_agents.clock import SystemClock
from long_running_agents.sandbox.base import MEGABYTE, SandboxLimits, SandboxSpec
from long_running_agents.sandbox.bubblewrap import BubblewrapBackend
from long_running_agents.sandbox.factory import Pool

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-bench-kernel"
REQUIREMENTS = ("ipykernel==7.4.0",)
CELLS = 40
BLOCK = 5
SPEC = SandboxSpec(limits=SandboxLimits(memory=512 * MEGABYTE))
HARD_ENDS = {
    "time-out": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "segmentation fault": "import ctypes; ctypes.string_at(0)",
    "os._exit": "import os; os._exit(1)",
    "out of memory": "import os; os.kill(os.getpid(), 9)",
}
"""The last is what the machine does to a process that uses too much."""
BARS = {
    "cold start": 200,
    "pooled start and first cell": 10,
    "cell": 5,
    "shell": 10,
    "function call": 10,
}
RATIOS = {"cold start": 8, "cell": 3}


class Peer:
    """The other kernel, in a process of its own."""

    def __init__(self):
        python = FOLDER / "bin" / "python"
        stamp = FOLDER / ".ready"
        if not stamp.exists():
            print("Installing ipykernel into .venv-bench-kernel …", file=sys.stderr)
            venv.EnvBuilder(with_pip=True, clear=True).create(FOLDER)
            subprocess.run([python, "-m", "pip", "install", "-q", *REQUIREMENTS], check=True)
            stamp.touch()
        self.process = subprocess.Popen(
            [python, Path(__file__).with_name("sandbox_peer.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def processor(self):
        """Milliseconds of processor time that it has used."""
        return processor(tree(self.process.pid))

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


async def timed(work):
    begun = time.perf_counter()
    result = await work
    return (time.perf_counter() - begun) * 1000, result


def tree(top):
    """A process and all below it."""
    found = [top]
    for process in found:
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, task.read_text().split())
    return found


def processor(processes):
    """Milliseconds of processor time of these, and of their children that have ended."""
    tick = 1000 / os.sysconf("SC_CLK_TCK")
    return tick * sum(
        sum(map(int, line.rpartition(")")[2].split()[11:15])) for line in stats(processes)
    )


def stats(processes):
    """What the system says of each that is still there: a cell's may end meanwhile."""
    for process in processes:
        with contextlib.suppress(OSError):
            yield Path(f"/proc/{process}/stat").read_text()


class Ours:
    """Our side of a round."""

    def __init__(self):
        self.backend = BubblewrapBackend(SystemClock())
        self.times = {name: [] for name in BARS}
        self.sandbox = None

    async def start(self):
        await self.cold()
        await self.pooled()
        self.sandbox = await self.backend.create(SPEC)
        await self.sandbox.execute("x = 1")

    async def cells(self, count):
        await self.work("cell", count, lambda: self.sandbox.execute("x = 1"))

    async def stop(self):
        await self.work("shell", CELLS, lambda: self.sandbox.shell("true"))
        call = "def f(): return 1"
        await self.work("function call", CELLS, lambda: self.sandbox.call(call, "f", {}))
        await self.sandbox.destroy()

    async def work(self, name, count, make):
        for _ in range(count):
            spent, result = await timed(make())
            assert result.success, result.error
            self.times[name].append(spent)

    def processor(self):
        """Milliseconds of processor time that we and the sandbox have used."""
        return processor([os.getpid(), *tree(self.sandbox.watcher.process)])

    async def cold(self):
        spent, sandbox = await timed(self.backend.create(SPEC))
        self.times["cold start"].append(spent)
        await sandbox.destroy()

    async def pooled(self):
        pool = Pool(self.backend, SPEC, SystemClock(), size=1)
        await pool.filled()
        begun = time.perf_counter()
        sandbox = await pool.create(SPEC)
        await sandbox.execute("x = 1")
        self.times["pooled start and first cell"].append((time.perf_counter() - begun) * 1000)
        await sandbox.destroy()
        await pool.close()

    async def keeps(self, code, times):
        """How often the state is still there after a hard end."""
        sandbox = await self.backend.create(SPEC)
        await sandbox.execute("kept = 41")
        kept = 0
        for _ in range(times):
            await sandbox.execute(f"kept = 0\n{code}", 0.5)
            result = await sandbox.execute("kept")
            kept += bool(result.display) and result.display[0]["text/plain"] == "41"
        await sandbox.destroy()
        return kept


async def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandbox", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--alone", action="store_true", help="without ipykernel")
    options = parser.parse_args()
    ours = Ours()
    peer = None if options.alone else Peer()
    theirs = {"cold start": [], "cell": []}
    await asyncio.to_thread(ours.backend.probe)
    spent = {"ours": 0.0, "theirs": 0.0}
    for _ in range(options.rounds):
        await ours.start()
        if peer is not None:
            theirs["cold start"].append(peer.ask("start"))
            peer.ask("cell")
        for _ in range(CELLS // BLOCK):
            before = ours.processor()
            await ours.cells(BLOCK)
            spent["ours"] += ours.processor() - before
            if peer is not None:
                before = peer.processor()
                theirs["cell"] += [peer.ask("cell") for _ in range(BLOCK)]
                spent["theirs"] += peer.processor() - before
        await ours.stop()
    missed = show(ours.times, theirs)
    cells = len(ours.times["cell"])
    print(f"\nProcessor time of a cell: ours {spent['ours'] / cells:.2f} ms", end="")
    print("." if peer is None else f", ipykernel {spent['theirs'] / cells:.2f} ms.")
    print("\n| state kept after | ours | ipykernel |\n|---|---|---|")
    for name, code in HARD_ENDS.items():
        times = 2 if name == "time-out" else 10
        kept = await ours.keeps(code, times)
        other = "-" if peer is None else ("yes" if peer.ask("keeps", json.dumps(code)) else "no")
        print(f"| {name} | {kept} of {times} | {other} |")
        missed |= kept < times
    if peer is not None:
        peer.close()
    return int(missed)


def show(times, theirs):
    missed = False
    print("| | ours, ms (best) | bar | | ipykernel, ms (best) | times faster | bar | |")
    print("|---|---|---|---|---|---|---|---|")
    for name, bar in BARS.items():
        own, other = median(times[name]), theirs.get(name)
        met = "met" if own <= bar else "MISSED"
        line = f"| {name} | {own:.1f} ({min(times[name]):.1f}) | {bar} | {met} |"
        if other:
            ratio = median(other) / own
            verdict = "met" if ratio >= RATIOS[name] else "MISSED"
            line += f" {median(other):.1f} ({min(other):.1f}) | {ratio:.1f} |"
            line += f" {RATIOS[name]} | {verdict} |"
            missed |= verdict == "MISSED"
        else:
            line += " | | | |"
        missed |= met == "MISSED"
        print(line)
    print("\nMedians, with the best in brackets. The bars in milliseconds are for an idle machine.")
    return missed


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
