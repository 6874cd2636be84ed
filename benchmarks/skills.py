"""Measures what skills cost: `python -m benchmarks.skills [--calls N] [--turns N]`.

A call of a skill beside a bare call of its sandbox; what listing and choosing skills adds to a
step; and how many tokens of a request they take. The bars in milliseconds are for an idle machine.
Processor time says more on a busy one.
"""

import argparse
import asyncio
import gc
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median

from pydantic_ai import FunctionToolset
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RunUsage
from tests.contract.skills.shelf import WeighingModel, shelve

from long_running_agents.clock import SystemClock
from long_running_agents.domain.ids import SessionId, TurnId
from long_running_agents.domain.skill import SkillCreator, SkillOrigin
from long_running_agents.domain.tool import Effect
from long_running_agents.testing import call, make_app, say
from long_running_agents.tools.deps import TurnDeps, effect

SIZES = (0, 10, 1000)
CALL_BAR, STEP_BAR, TOKEN_BAR = 10.0, 5.0, 1.2
STEPS = 10
WARM_UPS = 10
TALK = SessionId("talk")
ITEMS = {"items": ["pear", "apple", "plum"], "limit": 2}


class Home:
    """A home with so many skills."""

    def __init__(self, app, model, count):
        self.app = app
        self.model = model
        self.count = count
        self.turns = 0

    async def turn(self):
        """Milliseconds of processor time of one step of a turn."""
        self.turns += 1
        session = SessionId(f"talk-{self.turns}")
        # What a turn leaves to be done later is not the next one's to pay.
        await self.app.remembered()
        gc.collect()
        begun = time.process_time()
        turn = await self.app.turns.start(session, "Sort my wires and my lamps, please.")
        ended = await self.app.turns.settled(turn.id)
        spent = time.process_time() - begun
        assert ended.answer == "done", ended
        return spent * 1000 / (STEPS + 1)

    async def listings(self, count):
        """Milliseconds to list the tools: at the first step of a turn, and at a later one."""
        turn = await self.app.turns.start(TALK, "Count my coins and compare my teas.")
        turn = await self.app.turns.settled(turn.id)
        first, later = [], []
        for number in range(count):
            context = self.context(replace(turn, id=TurnId(f"turn-{number}")))
            for kept in (first, later):
                begun = time.perf_counter()
                await self.app.workshop.toolset.get_tools(context)
                kept.append((time.perf_counter() - begun) * 1000)
        return first[WARM_UPS:], later[WARM_UPS:]

    def context(self, turn):
        deps = TurnDeps(
            turn=turn,
            clock=SystemClock(),
            database=self.app.database,
            announce=lambda _: None,
            owner=self.app.settings.owner,
            skills=self.app.workshop.library,
        )
        return RunContext(deps=deps, model=self.model, usage=RunUsage())


def nothing_to_do():
    """A toolset of one tool that does nothing, so that a step is nothing but a step."""
    tools = FunctionToolset(id="bench")

    def nod() -> str:
        """Nod."""
        return "yes"

    tools.add_function(nod, metadata=effect(Effect.READ))
    return tools


async def homes(stack, folder, turns):
    """A home of each size."""
    found = []
    for count in SIZES:
        one_turn = [*([call("nod")] * STEPS), say("done")]
        model = WeighingModel([*(one_turn * turns), say("done")])
        app = await stack.enter_async_context(
            make_app(folder / str(count), model=model, toolsets=[nothing_to_do()])
        )
        await shelve(app, count)
        found.append(Home(app, model, count))
    return found


async def timed(work):
    begun = time.perf_counter()
    result = await work
    return (time.perf_counter() - begun) * 1000, result


async def calls(home, count):
    """Milliseconds of calls of a skill, and of its sandbox alone, by turns."""
    library = home.app.workshop.library
    where = SkillOrigin(origin=SkillCreator.MODEL, session_id=TALK)
    version = await library.version("sort_wires")
    sandboxes = library._room.place(home.app.settings.owner).sandboxes  # noqa: SLF001
    skill, bare = [], []
    for _ in range(count + WARM_UPS):
        spent, returned = await timed(library.call("sort_wires", ITEMS, where=where, context={}))
        assert returned.value == ["apple", "pear"], returned
        skill.append(spent)
        async with sandboxes.entered(TALK) as entered:
            spent, result = await timed(entered.sandbox.call(version.source, version.name, ITEMS))
        assert result.success, result.error
        bare.append(spent)
    return skill[WARM_UPS:], bare[WARM_UPS:]


def spread(values):
    """What 95 of 100 stay below, and the best."""
    return f" ({sorted(values)[len(values) * 95 // 100]:.2f}; {min(values):.2f})"


class Report:
    """Prints rows, and remembers whether a bar was missed."""

    def __init__(self):
        self.missed = False

    def row(self, what, value, bar=None, beside=""):
        verdict = ""
        if bar is not None:
            verdict = "met" if value <= bar else "MISSED"
            self.missed |= value > bar
        print(f"| {what} | {value:.2f}{beside} | {'' if bar is None else bar} | {verdict} |")


def head(title, unit):
    print(f"\n## {title}\n\n| | {unit} | bar | |\n|---|---|---|---|")


async def measure(options):
    report = Report()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-skills-")))
        every = await homes(stack, folder, options.turns + 1)
        few, many = every[1], every[2]

        spent = {home.count: [] for home in every}
        for number in range(options.turns + 1):
            for home in every:
                step = await home.turn()
                if number:
                    spent[home.count].append(step)
        listings = {home.count: await home.listings(options.calls) for home in every}
        skill, bare = await calls(many, options.calls)

        head("A call", "median ms (95 of 100; best)")
        report.row("a skill", median(skill), CALL_BAR, spread(skill))
        report.row("its sandbox alone", median(bare), None, spread(bare))
        head("Listing, per step", "median ms (95 of 100; best)")
        for count, (first, later) in listings.items():
            bar = STEP_BAR if count == SIZES[-1] else None
            report.row(f"first step, {count:,} skills", median(first), bar, spread(first))
            report.row(f"later step, {count:,} skills", median(later), bar, spread(later))
        head("Processor time of a step", "median ms")
        least = median(spent[0])
        report.row("no skills", least)
        for count in SIZES[1:]:
            bar = STEP_BAR if count == SIZES[-1] else None
            report.row(f"more with {count:,}", median(spent[count]) - least, bar)
        head("A request", "tokens")
        for home in every:
            print(f"| {home.count:,} skills | {home.model.tokens[0]:,} | | |")
        report.row("1,000 to 10, times", many.model.tokens[0] / few.model.tokens[0], TOKEN_BAR)
    return int(report.missed)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.skills", description=__doc__)
    parser.add_argument("--calls", type=int, default=200, help="measured calls (200)")
    parser.add_argument("--turns", type=int, default=15, help="measured turns of each home (15)")
    return asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
