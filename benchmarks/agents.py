"""Measures what agents cost: `python -m benchmarks.agents [--calls N]`.

Looking one up, for the first time and again; routing a message without a model, first with the
index to be made, then again. Processor time says more on a busy machine; the bars are for that.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from tests.unit.domain.routing_set import AGENTS, SENTENCES

from long_running_agents.agent.router import Router
from long_running_agents.domain.agent import AgentDraft
from long_running_agents.store import agents as store
from long_running_agents.testing import make_app

SIZES = (10, 100, 1000)
WARM_BAR, COLD_BAR, ROUTE_BAR = 0.2, 5.0, 1.0
"""Milliseconds."""
WARM_UPS = 20
TEXTS = [text for texts in SENTENCES.values() for text in texts]


def drafts(count):
    """So many agents, each made of the sentences of several."""
    chance = random.Random(7)
    lines = [line for each in AGENTS for line in each.instructions.splitlines() if line]
    for number in range(count):
        like = chance.choice(AGENTS)
        yield AgentDraft(
            name=f"agent-{number}",
            description=f"{like.description} Number {number}.",
            instructions="\n".join(chance.sample(lines, 14)),
            capabilities=like.capabilities,
            examples=tuple(chance.sample(TEXTS, 3)),
            tools=like.tools,
        )


async def publish(app, count):
    """Publish so many agents, in one transaction."""
    service = app.agents

    def work(tx):
        for draft in drafts(count):
            store.publish(tx, store.add(tx, service._version(draft, "person")))  # noqa: SLF001

    await service.every()
    await app.database.write(work)


async def spent(work):
    """Milliseconds of processor time and of waiting."""
    cpu, wall = time.process_time(), time.perf_counter()
    await work
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


async def measured(app, count, calls):
    """Medians of processor time and of waiting, by what was done."""
    # Words and vectors alone: the scripted model would be asked where they do not decide.
    service = replace(app.agents, router=Router(app.memories.embedder))
    store._draft.cache_clear()  # noqa: SLF001
    told = {"look up, first": [await spent(service.get(f"agent-{count - 1}"))]}
    again = [await spent(service.get(f"agent-{n % count}")) for n in range(calls + count)]
    told["look up, again"] = again[count:]
    told["route, first"] = [await spent(service.route(TEXTS[0]))]
    routed = [await spent(service.route(TEXTS[n % len(TEXTS)])) for n in range(calls + WARM_UPS)]
    told["route, again"] = routed[WARM_UPS:]
    return {
        what: [median(each) for each in zip(*times, strict=True)] for what, times in told.items()
    }


async def main(calls):
    """Measure, print, and say whether the bars hold."""
    bars = {"look up, first": COLD_BAR, "look up, again": WARM_BAR, "route, again": ROUTE_BAR}
    held = True
    print(f"{'agents':>6}  {'':16}{'CPU ms':>10}{'wall ms':>10}{'bar':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for count in SIZES:
            async with make_app(Path(folder) / str(count)) as app:
                await publish(app, count)
                for what, (cpu, wall) in (await measured(app, count, calls)).items():
                    bar = bars.get(what)
                    held = held and (bar is None or cpu <= bar)
                    limit = "" if bar is None else f"{bar:8.1f}"
                    print(f"{count:>6}  {what:16}{cpu:10.3f}{wall:10.3f}{limit}")
    return 0 if held else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    sys.exit(asyncio.run(main(parser.parse_args().calls)))
