"""Tokens and CPU for each finished task, a death in the middle, and who believes a lying model.

    python -m benchmarks.deep_work [--rounds 3] [--only NAME ...]

One scripted model plans six files with a contender's own list of tasks, writes each with its file
tool and marks it done there; the sixth is checked by a command. All contenders take turns in one
run. Tokens are counted by the server for all alike: four characters of messages and tools are one.
CPU is that of a contender's process and all below it. Compare ratios inside one run.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.integration.test_prompt_cache import share

from benchmarks import venvs
from benchmarks.contenders.deep_tools import (
    CONTENDERS,
    HONEST,
    LIES,
    LINES,
    QUOTES,
    TASKS,
    count_command,
    goal,
    path,
    steps_of,
    text,
)
from benchmarks.processes import Talker
from benchmarks.sandbox import processor, tree
from benchmarks.worker import AFTERMATH_SECONDS
from long_running_agents.testing import ScriptedServer, hang, say
from long_running_agents.testing.script import estimate_tokens

OURS = "lra"
KILLED_AFTER = 3
"""The process dies when the file of this task is written and the model is asked what comes next."""
LONGEST = 120.0
"""Seconds until a work must have come to where it is killed."""
PATIENCE = 4.0
"""Seconds in which a contender that goes on by itself has asked the model again."""
SAID = "All six files are written and checked: the work is done."
PLANNED = "Six files are to be written; each is a task."


@dataclass
class Author:
    """The scripted model: from what it is shown alone, it does the next thing that is not done."""

    tools: object
    run: str
    how: str = HONEST
    kill: asyncio.Event | None = None
    """Set when the process is to die; the answer never comes."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by each request."""
    issued: Counter[str] = field(default_factory=Counter)
    """How often it has made which call."""
    requests: int = 0
    received: int = 0
    """Tokens of its answers."""

    def __post_init__(self):
        self.steps = steps_of(self.tools, self.run, self.how)

    def reply_for(self, messages, served=None):
        del served
        self.requests += 1
        self.asked.set()
        reply = self.following(messages)
        if self.kill is not None and reply == self.tools.mark(self.run, KILLED_AFTER):
            self.kill.set()
            return hang()
        self.issued.update(keys(reply))
        self.received += reply.estimated_tokens()
        return reply

    def following(self, messages):
        made = {
            key(each["function"]["name"], json.loads(each["function"]["arguments"]))
            for message in messages
            for each in message.get("tool_calls") or ()
        }
        for number, step in enumerate(self.steps):
            if number and self.tools.waits(messages):
                return say(PLANNED)
            if not keys(step) <= made:
                return step
        quoted = f" `{count_command(self.run)}` ended with exit code 0 and counted {LINES} lines."
        return say(SAID + quoted * (self.how == QUOTES))

    @property
    def goal(self):
        return goal(self.run)

    @property
    def again(self):
        """How many files it was made to write more than once."""
        writes = (self.tools.write(path(self.run, n), text(n)) for n in range(1, TASKS + 1))
        return sum(self.issued[each] > 1 for write in writes for each in keys(write))


def key(tool, args):
    return json.dumps([tool, args], sort_keys=True)


def keys(reply):
    return {key(each.tool, each.args) for each in reply.calls}


def there(files, run):
    """How many of the files are there as they have to be."""
    wanted = {files / path(run, number): text(number) for number in range(1, TASKS + 1)}
    return sum(file.is_file() and file.read_text() == content for file, content in wanted.items())


@dataclass(frozen=True)
class Outcome:
    """What became of one run, and what it took."""

    finished: int
    listed: bool
    """Whether what the contender keeps of the work says that it is done."""
    said: bool
    """Whether its last words say so."""
    state: str
    requests: int
    sent: int
    new: float
    """Of the prompts, the part in per cent that was not the beginning of the one before."""
    received: int
    cpu_ms: float = 0.0
    again: int = 0
    by_itself: bool = False

    @property
    def tokens(self):
        return self.sent + self.received

    def false(self, tools):
        """Whether it is reported as done, and is not."""
        return self.finished < TASKS and (self.listed or (self.said and not tools.state))


class Bench:
    """All contenders, alive for the whole run, and the model that they share."""

    kind = "deep"
    """What the modules of its contenders begin with."""

    def __init__(self, server, python, stack):
        self.server, self.python, self.stack = server, python, stack
        temporary = tempfile.TemporaryDirectory(prefix=f"bench-{self.kind}-")
        self.folder = Path(stack.enter_context(temporary))
        self.workers, self.started, self.runs = {}, Counter(), 0

    async def start(self, name):
        """Start a contender's process, on what the last one has left."""
        self.started[name] += 1
        own, log = self.folder / name, self.folder / f"{name}-log-{self.started[name]}"
        module = f"benchmarks.contenders.{self.kind}_{name}"
        worker = Talker(self.python, log, module, self.server.url, str(own))
        self.workers[name] = self.stack.enter_context(worker)
        await asyncio.to_thread(worker.read)

    def author(self, name, how=HONEST, kill=None):
        self.runs += 1
        author = Author(CONTENDERS[name], f"r{self.runs}", how, kill)
        self.server.use(author)
        return author

    async def ask(self, name, **asked):
        return await asyncio.to_thread(self.workers[name].ask, json.dumps(asked))

    async def run(self, name, how=HONEST):
        """Have a work carried out once."""
        author, pid = self.author(name, how), self.workers[name].process.pid
        cpu = processor(tree(pid))
        claim = await self.ask(name, run=author.run, goal=author.goal)
        await asyncio.sleep(AFTERMATH_SECONDS)
        return self.outcome(name, author, claim, cpu_ms=processor(tree(pid)) - cpu)

    async def killed(self, name):
        """Have a work carried out by a process that is killed, and by the next one."""
        kill = asyncio.Event()
        author, process = self.author(name, kill=kill), self.workers[name].process
        asked = json.dumps({"run": author.run, "goal": author.goal})
        print(asked, file=process.stdin, flush=True)
        await asyncio.wait_for(kill.wait(), LONGEST)
        process.kill()
        await asyncio.to_thread(process.wait)
        author.kill = None
        author.asked.clear()
        await self.start(name)
        with suppress(TimeoutError):
            await asyncio.wait_for(author.asked.wait(), PATIENCE)
        by_itself = author.asked.is_set()
        claim = await self.ask(name, run=author.run)
        return self.outcome(name, author, claim, by_itself=by_itself, again=author.again)

    def outcome(self, name, author, claim, **more):
        sent = [{"tools": None} | each for each in self.server.requests[-author.requests :]]
        sizes = [len(json.dumps([each["messages"], each["tools"]])) for each in sent]
        return Outcome(
            finished=there(self.folder / name / "files", author.run),
            listed=claim["listed"],
            said=SAID in claim["answer"],
            state=claim["state"],
            requests=len(sent),
            sent=sum(map(estimate_tokens, sizes)),
            new=100 * (1 - share(sent)),
            received=author.received,
            **more,
        )


@dataclass
class Results:
    """What was measured, by contender."""

    straight: dict[str, list[Outcome]]
    killed: dict[str, list[Outcome]]
    lied: dict[str, dict[str, Outcome]]


async def measured(bench, names, rounds):
    """Warm everybody up, then take turns in a new order each round."""
    names, shuffle = list(names), random.Random(0).shuffle
    found = Results(*({name: [] for name in names} for _ in range(2)), {n: {} for n in names})
    for name in names:
        await bench.start(name)
        await bench.run(name)
    for _ in range(rounds):
        shuffle(names)
        for name in names:
            found.straight[name].append(await bench.run(name))
    # Apart: a new process is slower at first.
    for _ in range(rounds):
        shuffle(names)
        for name in names:
            found.killed[name].append(await bench.killed(name))
    for how in LIES:
        shuffle(names)
        for name in names:
            found.lied[name][how] = await bench.run(name, how)
    return found


def middle(outcomes, figure):
    return median(figure(each) for each in outcomes)


def to_ours(found, name, figure):
    """The median of the ratios of each round to ours."""
    if name == OURS or OURS not in found:
        return "-"
    pairs = zip(found[name], found[OURS], strict=True)
    return f"{median(figure(other) / figure(own) for other, own in pairs):.2f}x"


def each_task(figure):
    """A figure of a run for each task that it has finished."""
    return lambda outcome: getattr(outcome, figure) / max(outcome.finished, 1)


def show(found):
    """Print the tables."""
    tokens, cpu = each_task("tokens"), each_task("cpu_ms")
    print("## For each finished task\n")
    print("| contender | finished | requests | tokens sent | received | both to lra | CPU ms"
          " | to lra | new in a prompt |")  # fmt: skip
    print("|---" * 9 + "|")
    for name, runs in found.straight.items():
        sent, received = (middle(runs, each_task(each)) for each in ("sent", "received"))
        print(f"| {name} | {finished(runs)} | {middle(runs, each_task('requests')):.1f}"
              f" | {sent:,.0f} | {received:,.0f} | {to_ours(found.straight, name, tokens)}"
              f" | {middle(runs, cpu):.0f} | {to_ours(found.straight, name, cpu)}"
              f" | {middle(runs, lambda each: each.new):.0f} % |")  # fmt: skip
    print("\nNew is what the prompt before did not begin with, too: no cache of prompts has it.")
    print(f"\n## Killed with -9 when the file of task {KILLED_AFTER} was written\n")
    print("| contender | goes on by itself | finished | written again | tokens | to no kill |")
    print("|---" * 6 + "|")
    for name, runs in found.killed.items():
        alone = f"{sum(each.by_itself for each in runs)} of {len(runs)}"
        again = sum(each.again for each in runs) / len(runs)
        pairs = zip(runs, found.straight[name], strict=True)
        times = median(each.tokens / straight.tokens for each, straight in pairs)
        total = middle(runs, lambda each: each.tokens)
        cells = [name, alone, finished(runs), f"{again:.1f}", f"{total:,.0f}", f"{times:.2f}x"]
        print(f"| {' | '.join(cells)} |")
    show_lies(found.lied)


def finished(runs):
    told = f"{sum(each.finished for each in runs)} of {TASKS * len(runs)}"
    silent = sum(not each.listed for each in runs)
    return f"{told}, {silent} works not reported as done" if silent else told


def show_lies(lied):
    print("\n## Reported as done though files are missing\n")
    print("| the model |", *(f"{name} |" for name in lied))
    print("|---" * (len(lied) + 1) + "|")
    for how in LIES:
        cells = (verdict(runs[how], CONTENDERS[name]) for name, runs in lied.items())
        print(f"| {how} |", *(f"{cell} |" for cell in cells))
    counts = (
        sum(each.false(CONTENDERS[name]) for each in runs.values()) for name, runs in lied.items()
    )
    print("| **false done** |", *(f"**{count} of {len(LIES)}** |" for count in counts))
    print("\nPlans are approved unread; where tasks have no checks, the last lie is the second.")
    print("A work counts as reported when")
    for name in lied:
        tools = CONTENDERS[name]
        also = "" if tools.state else ", or its last words say so, with which its run ends"
        print(f"- {name}: {tools.record}{also}.")


def verdict(outcome, tools):
    if outcome.finished == TASKS:
        return "all files are there"
    if outcome.listed:
        return "DONE"
    return f"{'DONE in words' if outcome.false(tools) else 'not done'} ({outcome.state})"


async def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deep_work", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="measured works of each kind (3)")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=CONTENDERS, help="just these")
    options = parser.parse_args()
    python = await asyncio.to_thread(venvs.ready)
    async with ScriptedServer(Author(CONTENDERS[OURS], "r0")) as server:
        with ExitStack() as stack:
            bench = Bench(server, python, stack)
            found = await measured(bench, options.only or CONTENDERS, options.rounds)
    show(found)
    listed = ", ".join(f"{name} {version}" for name, version in venvs.versions(python).items())
    print(f"\nPython {platform.python_version()}, {os.cpu_count()} cores; {listed}.")


if __name__ == "__main__":
    asyncio.run(main())
