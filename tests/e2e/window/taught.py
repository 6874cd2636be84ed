"""A home in which something was learned, of each state one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from long_running_agents.clock import SystemClock
from long_running_agents.domain.memory import MemoryDraft, Viewer
from long_running_agents.domain.reflection import Learned, LearnedKind, LearnedState
from long_running_agents.domain.session import MINE
from long_running_agents.store import learned, memories
from long_running_agents.store.learned import MemoryUse
from long_running_agents.testing import ScriptedModel, make_app

FACT = "The invoices are in the folder accounts."
LESSON = "List the folder before a file of it is read."
SESSION = "garden"
REASON = "it was recalled 25 times and not used for 60 days"


def teach(home):
    """Write it down, before the home is served."""
    # In a thread of its own: the driver of the browser has a loop that runs in this one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, _teach(home)).result()


async def _teach(home):
    now = SystemClock().now()

    def row(kind, state, text, **more):
        return Learned(
            number=0, kind=kind, state=state, text=text, at=now, **({"session_id": SESSION} | more)
        )

    async with make_app(home, model=ScriptedModel([])) as app:
        me = Viewer(owner=MINE)
        fact, lesson = [
            (await app.memories.write(me, MemoryDraft(content=text))).memory.id
            for text in (FACT, LESSON)
        ]
        new = row(LearnedKind.FACT, LearnedState.NEW, FACT, quote=FACT, memory_id=fact)
        known = row(LearnedKind.FACT, LearnedState.MERGED, FACT, quote=FACT, memory_id=fact)
        rule = row(LearnedKind.RULE, LearnedState.SUGGESTED, "Answer in French.", quote="in French")
        rested = row(
            LearnedKind.LESSON,
            LearnedState.RESTING,
            LESSON,
            reason=REASON,
            memory_id=lesson,
            session_id=None,
        )
        refused = row(
            LearnedKind.FACT,
            LearnedState.REFUSED,
            "The user is called John Doe.",
            reason="the quotation is not in the log",
        )

        def work(tx):
            for each in (new, known, rule, rested, refused):
                learned.add(tx, each)
            use = MemoryUse(memory=memories.get(tx, MINE, fact), shown=1, used=1)
            learned.count(tx, use, now)
            memories.switch(tx, memories.get(tx, MINE, lesson), enabled=False)

        await app.database.write(work)
