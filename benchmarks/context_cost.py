"""What a long session costs: `python -m benchmarks.context_cost [--turns N]`.

A turn with a standing block and folds beside one without; the start of a turn, until the model is
asked, after 10,000 messages beside one after 100; and how much of a prompt is the beginning of the
one before. Processor time, the best of several, in turns by both: only the ratios mean something.
"""

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from tests.integration.test_prompt_cache import share

from benchmarks.skills import Report, head, nothing_to_do
from long_running_agents.agent import transcript
from long_running_agents.domain.compaction import END
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.tool import CallState, Effect, ToolCallRecord
from long_running_agents.store import ledger
from long_running_agents.testing import (
    Rule,
    Script,
    ScriptedModel,
    ScriptedServer,
    call,
    make_app,
    say,
)

BLOCK_BAR, LENGTH_BAR, PREFIX_BAR = 1.1, 1.5, 95
STEPS = 10
SHORT, LONG = 100, 10_000
WINDOWS = (None, 128_000, 32_768)
TALK = SessionId("talk")
SCRIPT = Script(
    (
        Rule("^## Turn", (say(f"They talked about the kestrel house.\n{END}"),)),
        Rule("^Plan", (call("create_task", title="Count the windows"), say("Planned."))),
        Rule("^Write", (call("write_file", path="report.md", content="42"), say("Written."))),
        Rule("^Work", (*[call("nod")] * STEPS, say("done"))),
        Rule("", (say("It stands at the river, and nobody has lived there for years."),)),
    )
)
AT = "2026-01-01T00:00:00Z"


class Asked(ScriptedModel):
    """Keeps the processor time at which a turn first asks it."""

    at = None

    async def _open(self, messages, parameters):
        self.at = self.at or time.process_time()
        return await super()._open(messages, parameters)


async def said(app, text, session=TALK):
    turn = await app.turns.start(session, text)
    return await app.turns.settled(turn.id)


async def fold(app):
    """Let a session have tasks, files and three summaries."""
    for text in ("Plan it.", "Write it."):
        await said(app, text)
    for part in range(3):
        for number in range(10):
            await said(app, f"What of room {part} and door {number}?")
        assert (await app.contexts.compact(TALK)).text


def exported(messages):
    """A session of so many messages, as it is written out."""
    lines = [{"kind": "session", "id": "old", "title": "Old", "created_at": AT}]
    for number in range(messages // 2):
        prompt = f"What of door {number} of the kestrel house?"
        answer = "It stands at the river, and nobody has lived there for years."
        turn = {"id": f"t{number}", "prompt": prompt, "answer": answer, "status": "done"}
        lines.append({"kind": "turn", **turn, "created_at": AT, "ended_at": AT})
        log = ModelRequest([UserPromptPart(prompt)]), ModelResponse([TextPart(answer)])
        for message in log:
            body = json.loads(transcript.stored(message, 1).body)
            lines.append({"kind": "message", "turn_id": turn["id"], "step": 1, "message": body})
    return "\n".join(map(json.dumps, lines))


def called(turn):
    """A file that was written in a turn."""
    return ToolCallRecord(
        turn_id=turn.id,
        session_id=turn.session_id,
        call_id="call",
        step=1,
        position=0,
        tool="write_file",
        args=json.dumps({"path": f"door-{turn.number}.md", "content": "closed"}),
        effect=Effect.IDEMPOTENT,
        state=CallState.DONE,
        result="Written. " * 40,
    )


class Home:
    """A home with one session."""

    def __init__(self, app, model, session=TALK):
        self.app, self.model, self.session = app, model, session

    async def turn(self, text, forked=True):
        """Milliseconds of processor time until the model is asked, and of the whole turn.

        In a fork, what is measured first is not shorter than what is measured last.
        """
        session = (await self.app.sessions.fork(TALK)).id if forked else self.session
        # What a turn leaves to be done later is not the next one's to pay.
        await self.app.remembered()
        await self.app.compactor.done()
        gc.collect()
        self.model.at, begun = None, time.process_time()
        ended = await said(self.app, text, session)
        spent = time.process_time() - begun
        assert ended.answer, ended
        return (self.model.at - begun) * 1000, spent * 1000


async def opened(stack, folder, messages=0, **settings):
    """A home with a session of so many messages."""
    model = Asked(SCRIPT)
    app = await stack.enter_async_context(
        make_app(folder, model=model, toolsets=[nothing_to_do()], summaries=True, **settings)
    )
    if not messages:
        return Home(app, model)
    session = (await app.sessions.take_over(exported(messages))).id
    calls = [called(turn) for turn in await app.sessions.turns(session)]
    await app.database.write(lambda tx: ledger.request(tx, calls))
    return Home(app, model, session)


async def by_turns(homes, text, turns, **how):
    """The best of each home: the start of a turn, and all of it."""
    spent = [[await home.turn(text, **how) for home in homes] for _ in range(turns + 1)][1:]
    return [tuple(map(min, zip(*each, strict=True))) for each in zip(*spent, strict=True)]


async def prefix(folder, window):
    """How much of the prompts of a folded session was in the one before."""
    async with ScriptedServer(SCRIPT) as server:
        settings = {"agent__model__model_id": "any", "agent__model__base_url": server.url}
        settings |= {"agent__model__context_window": window} if window else {}
        tools = [nothing_to_do()]
        async with make_app(folder, toolsets=tools, summaries=True, **settings) as app:
            await fold(app)
            before = len(server.requests)
            for _ in range(3):
                await said(app, "Work on.")
            assert "left out here" in json.dumps(server.requests[-1])
            return share(server.requests[before:])


async def measure(turns):
    report = Report()
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-context-")))
        plain, folded = [await opened(stack, folder / name) for name in ("plain", "folded")]
        await fold(folded.app)
        await said(plain.app, "What of the house?")
        short, long = [await opened(stack, folder / str(n), n) for n in (SHORT, LONG)]
        (_, without), (_, having) = await by_turns([plain, folded], "Work on.", turns)
        (few, _), (many, _) = await by_turns([short, long], "And then?", turns, forked=False)
        shares = {window: await prefix(folder / f"w{window}", window) for window in WINDOWS}

    head(f"A turn of {STEPS + 1} steps", "CPU ms")
    report.row("without a standing block", without)
    report.row("with one, and folds", having)
    report.row("times", having / without, BLOCK_BAR)
    head("The start of a turn", "CPU ms")
    report.row(f"after {SHORT} messages", few)
    report.row(f"after {LONG:,} messages", many)
    report.row("times", many / few, LENGTH_BAR)
    head("The part of a prompt", "%")
    for window, found in shares.items():
        what = f"that is not the beginning of the one before, window {window or 'not known'}"
        report.row(what, 100 * (1 - found), 100 - PREFIX_BAR)
    return int(report.missed)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.context_cost", description=__doc__)
    parser.add_argument("--turns", type=int, default=15, help="measured turns of each kind (15)")
    return asyncio.run(measure(parser.parse_args().turns))


if __name__ == "__main__":
    sys.exit(main())
