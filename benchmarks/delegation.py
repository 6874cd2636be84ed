"""CPU for each delegation, and what is left of four delegates after a kill.

    python -m benchmarks.delegation [--rounds 9] [--only NAME ...]

One scripted model hands four parts out in one step with a contender's own tool; each delegate
writes one file and says so. All contenders take turns in one run. CPU is that of a contender's
process and all below it. Compare ratios inside one run.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field

from benchmarks import venvs
from benchmarks.contenders.deep_tools import CONTENDERS as FILES
from benchmarks.contenders.deep_tools import path, text
from benchmarks.deep_work import OURS, Bench, middle, to_ours
from long_running_agents.testing import ScriptedServer, call, calls, hang, say
from long_running_agents.testing.script import estimate_tokens

PARTS = 4
HUNG = 3
"""The delegate that is not answered when its process is to die; the first two have ended then."""
SAID = "All four parts are written."
TASK = re.compile(r"Write part (\d) of (r\d+)")
WRITTEN = 0.3
"""Seconds in which a contender stores what it has been answered."""


def by_agent(task):
    return call("delegate", agent="coder", task=task)


def by_subagent(task):
    return call("task", description=task, subagent_type="coder")


def by_member(task):
    return call("delegate_task_to_member", member_id="coder", task=task)


CONTENDERS = {OURS: by_agent, "deepagents": by_subagent, "agno": by_member}


@dataclass
class Leader:
    """The scripted model of a parent and of its delegates, by what it is shown alone."""

    name: str
    run: str
    kill: asyncio.Event | None = None
    """Set when the process is to die; one delegate is not answered."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by each request."""
    begun: Counter[int] = field(default_factory=Counter)
    """How often each part was begun, after the death if there is one."""
    ended: set[int] = field(default_factory=set)
    """The parts whose delegates have had their last words."""
    kept: frozenset[int] = frozenset()
    """Those that had ended before the death."""
    requests: int = 0
    hangs: bool = False

    @property
    def goal(self):
        return f"Hand the four parts of {self.run} out."

    def reply_for(self, messages, served=None):
        del served
        self.requests += 1
        self.asked.set()
        last = max(n for n, each in enumerate(messages) if each["role"] == "user")
        acted = any(each.get("tool_calls") for each in messages[last:])
        task = TASK.search(str(messages[last]["content"]))
        reply = self.part(int(task[1]), acted=acted) if task else self.leader(acted=acted)
        if self.kill is not None and self.hangs and {1, 2} <= self.ended and not self.kept:
            self.kept = frozenset(self.ended)
            asyncio.get_running_loop().call_later(WRITTEN, self.die)
        return reply

    def die(self):
        self.begun.clear()
        self.kill.set()

    @property
    def again(self):
        """How many delegates were begun once more that had ended before the death."""
        return sum(self.begun[number] > 0 for number in self.kept)

    def leader(self, *, acted):
        if acted:
            return say(SAID)
        tasks = (f"Write part {number} of {self.run}." for number in range(1, PARTS + 1))
        return calls(*map(CONTENDERS[self.name], tasks))

    def part(self, number, *, acted):
        if not acted:
            self.begun[number] += 1
            return FILES[self.name].write(path(self.run, number), text(number))
        if self.kill is not None and number == HUNG:
            self.hangs = True
            return hang()
        self.ended.add(number)
        return say(f"Part {number} is written.")


@dataclass(frozen=True)
class Outcome:
    """What became of one run, and what it took."""

    finished: int
    said: bool
    requests: int
    sent: int
    cpu_ms: float = 0.0
    again: int = 0
    """Delegates that had ended before the death and were begun once more."""
    kept: int = 0
    by_itself: bool = False


class Teams(Bench):
    """All contenders with delegates."""

    kind = "team"

    def author(self, name, how="", kill=None):
        del how
        self.runs += 1
        leader = Leader(name, f"r{self.runs}", kill)
        self.server.use(leader)
        return leader

    def outcome(self, name, author, claim, **more):
        requests = self.server.requests[-author.requests :]
        sent = [json.dumps([each["messages"], each.get("tools")]) for each in requests]
        files = self.folder / name / "files"
        wanted = {files / path(author.run, n): text(n) for n in range(1, PARTS + 1)}
        return Outcome(
            finished=sum(
                file.is_file() and file.read_text() == want for file, want in wanted.items()
            ),
            said=SAID in claim["answer"],
            requests=author.requests,
            sent=sum(estimate_tokens(len(each)) for each in sent),
            kept=len(author.kept),
            **more,
        )


async def measured(bench, names, rounds):
    """Warm everybody up, then take turns in a new order each round; the deaths apart."""
    names, shuffle = list(names), random.Random(0).shuffle
    straight, killed = ({name: [] for name in names} for _ in range(2))
    for name in names:
        await bench.start(name)
        await bench.run(name)
    for found, measure in ((straight, bench.run), (killed, bench.killed)):
        for _ in range(rounds):
            shuffle(names)
            for name in names:
                found[name].append(await measure(name))
    return straight, killed


def show(straight, killed):
    """Print the tables."""
    print(f"## {PARTS} delegates side by side\n")
    print("| contender | parts written | requests | tokens sent | CPU ms for each | to lra |")
    print("|---" * 6 + "|")
    for name, runs in straight.items():
        print(f"| {name} | {finished(runs)} | {middle(runs, lambda each: each.requests):.0f}"
              f" | {middle(runs, lambda each: each.sent):,.0f}"
              f" | {middle(runs, lambda each: each.cpu_ms / PARTS):.1f}"
              f" | {to_ours(straight, name, lambda each: each.cpu_ms)} |")  # fmt: skip
    print("\n## Killed with -9 when two of them had ended\n")
    print("| contender | goes on by itself | answered at last | ended ones begun again |")
    print("|---" * 4 + "|")
    for name, runs in killed.items():
        alone, said = (sum(getattr(each, what) for each in runs) for what in ("by_itself", "said"))
        again, kept = (sum(getattr(each, what) for each in runs) for what in ("again", "kept"))
        lost = f"{again} of {kept}" if said else "the run is gone"
        print(f"| {name} | {alone} of {len(runs)} | {said} of {len(runs)} | {lost} |")


def finished(runs):
    return f"{sum(each.finished for each in runs)} of {PARTS * len(runs)}"


async def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.delegation", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="measured runs of each kind (9)")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=CONTENDERS, help="just these")
    options = parser.parse_args()
    python = await asyncio.to_thread(venvs.ready)
    async with ScriptedServer(Leader(OURS, "r0")) as server:
        with ExitStack() as stack:
            bench = Teams(server, python, stack)
            found = await measured(bench, options.only or CONTENDERS, options.rounds)
    show(*found)
    listed = ", ".join(f"{name} {version}" for name, version in venvs.versions(python).items())
    print(f"\nPython {platform.python_version()}, {os.cpu_count()} cores; {listed}.")


if __name__ == "__main__":
    asyncio.run(main())
