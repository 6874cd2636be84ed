"""Kills a real `lra serve` while it answers, is steered and compacts, and then looks at the home.

Somebody speaks through the client, which waits for a server that is away. Every other death comes
at a random moment; the others when an archive or a fold has just come to be.
Run it by hand for a longer time: ``python -m tests.e2e.compaction_chaos --kills 1000``.
"""

import argparse
import asyncio
import hashlib
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx2
from tests.e2e import examination
from tests.e2e.chaos import QUICK, Report, append, lines
from tests.e2e.served import served
from tests.e2e.steering_chaos import _counted, _given
from tests.scripted_process import scripted_process
from tests.zygote import forking

from long_running_agents.client import Address, Client
from long_running_agents.clock import SystemClock
from long_running_agents.domain.compaction import END
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.turn import Terms
from long_running_agents.errors import LraError
from long_running_agents.testing import Rule, Script, call, say

SESSION = SessionId("chaos")
RULE = "Never send mail to anyone outside example.com."
SCRIPT = Script(
    (
        Rule("^## Turn", (say(f"They told each other stories.\n{END}", chunk_delay=0.002),)),
        Rule(
            "^say",
            (
                call("write_file", path="notes.md", content="A story was told."),
                say("Story: " + "word " * 150, chunks=20, chunk_delay=0.001),
            ),
        ),
        Rule("^steer", (say("Heard."),)),
    )
)
SETTINGS = {
    **QUICK,
    "LRA_AGENT__MODEL__CONTEXT_WINDOW": "4096",
    # Never reached: each request is reserved and settled all the same.
    "LRA_BUDGET__DAY__TOKENS": "1000000000",
    "LRA_BUDGET__SESSION__TOKENS": "1000000000",
}
AT_ONCE = 20
"""Deaths of one home."""
AROUND, ANYWHERE = "around a fold", "random moment"


@dataclass
class FoldReport(Report):
    """What became of all the homes, and of what they folded."""

    folds: int = 0
    steered: int = 0

    def as_json(self):
        more = {"folds": self.folds, "steered": self.steered}
        return json.dumps({**json.loads(super().as_json()), **more})


class Speaker:
    """Speaks without end to a server that dies; some messages steer, and some ask to compact."""

    def __init__(self, home):
        self.home, self.address, self.ending = home, None, asyncio.Event()

    async def speak(self):
        async with Client.found(lambda: self.address, SystemClock(), patience=600) as client:
            numbers = count()
            while not self.ending.is_set():
                number = next(numbers)
                turn = await self.send(client, f"say {number}")
                if number % 3:
                    await self.send(client, f"steer {number}", steer=True)
                await client.turns.settled(turn.id)
                if number % 7 == 5:
                    # A turn may be at work again, or the server be dead.
                    with suppress(LraError):
                        await client.sessions.compact(SESSION)
            return await self.finish(client)

    async def send(self, client, text, *, steer=False):
        turn = await client.turns.start(SESSION, text, terms=Terms(steer=steer))
        append(self.home / "acknowledged", turn.id, text)
        return turn

    async def finish(self, client):
        """Wait for all, and say what the next request has."""
        while unfinished := await client.turns.unfinished():
            await asyncio.gather(*(client.turns.settled(each.id) for each in unfinished))
        return await client.sessions.context(SESSION)


def archives(home):
    return sorted((home / "sessions" / SESSION).glob("archive-*.md"))


def folded(home):
    """How many archives there are, and how many folds."""
    with closing(sqlite3.connect(f"file:{home / 'lra.db'}?mode=ro", uri=True)) as database:
        return len(archives(home)), database.execute("SELECT count(*) FROM folds").fetchone()[0]


async def wait(home, kind, rng):
    """Until it is time to die."""
    if kind == ANYWHERE:
        await asyncio.sleep(rng.uniform(0.0, 1.0))
        return
    known = folded(home)
    for _ in range(10_000):
        if folded(home) != known:
            break
        await asyncio.sleep(0.001)
    # At once, or until after the summary that is on its way was stored.
    await asyncio.sleep(rng.choice((0.0, rng.uniform(0.0, 0.06))))


async def one_home(url, deaths, rng, report):
    """Let one home live through deaths, and then to its end."""
    home = Path(tempfile.mkdtemp(prefix="lra-compaction-"))
    speaker, talking = Speaker(home), None
    for number in range(deaths + 1):
        serving = served(home, url, **SETTINGS)
        server = await asyncio.to_thread(serving.__enter__)
        try:
            speaker.address = Address(server.address)
            if talking is None:
                async with Client.at(server.address) as client:
                    await client.rules.pin(RULE, session_id=SESSION)
                talking = asyncio.create_task(speaker.speak())
            if number < deaths:
                kind = (ANYWHERE, AROUND)[number % 2]
                await wait(home, kind, rng)
                server.kill()
                report.kills[kind] += 1
            else:
                speaker.ending.set()
                shown = await asyncio.wait_for(talking, 300)
        finally:
            await asyncio.to_thread(serving.__exit__, None, None, None)
    problems = [*examine(home, report), *_requests(url, shown)]
    report.problems += [f"home {report.homes}: {problem}" for problem in problems]
    shutil.rmtree(home, ignore_errors=True)


def examine(home, report):
    """Everything that was promised about messages and folds."""
    database = sqlite3.connect(home / "lra.db")
    database.row_factory = sqlite3.Row
    turns = {row["id"]: row for row in database.execute("SELECT * FROM turns ORDER BY number")}
    events = list(database.execute("SELECT * FROM events ORDER BY seq"))
    acknowledged = lines(home / "acknowledged")
    said = {text for _, text in acknowledged}
    folds = list(database.execute("SELECT * FROM folds ORDER BY first"))
    report.homes += 1
    report.turns += len(turns)
    report.folds += len(folds)
    report.steered += sum(turn["status"] == "steered" for turn in turns.values())
    yield from examination._lost(acknowledged, turns)
    yield from examination._gaps(events)
    yield from examination._messages(database, turns)
    yield from _counted("stored", said, [turn["prompt"] for turn in turns.values()])
    yield from _counted("given to the model", said, _given(database))
    for turn in turns.values():
        steers = turn["prompt"].startswith("steer")
        if turn["status"] not in ("done", "steered")[: 1 + steers]:
            yield f"{turn['prompt']!r} is {turn['status']}: {turn['error']}"
    if [turn["number"] for turn in turns.values()] != list(range(1, len(turns) + 1)):
        yield "the turns are not numbered without a gap"
    told = [json.loads(each["body"]) for each in events if each["type"] == "compacted"]
    yield from _folds(folds, turns, told)
    yield from _archives(home, folds, turns)
    yield from _budget(database)
    rules = [row["text"] for row in database.execute("SELECT * FROM rules WHERE state = 'active'")]
    if rules != [RULE]:
        yield f"the rules are {rules}"
    if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        yield "the database is damaged"
    database.close()


def _folds(folds, turns, told):
    spans = [(fold["first"], fold["last"]) for fold in folds]
    if not spans:
        yield "nothing was compacted"
    following = [1, *(last + 1 for _, last in spans)]
    if [first for first, _ in spans] != following[:-1] or any(a > b for a, b in spans):
        yield f"the folds have gaps or overlap: {spans}"
    if following[-1] > len(turns):
        yield "the newest turn was folded"
    if [(each["first"], each["last"]) for each in told] != spans:
        yield f"the folds {spans} are told as {told}"


def _budget(database):
    """Nothing is held by the dead, and what turns have used is in the books."""
    if database.execute("SELECT count(*) FROM holds").fetchone()[0]:
        yield "something is held, and nobody asks"
    tokens = "SELECT sum(input_tokens + output_tokens) FROM"
    [turns], [used] = (
        database.execute(f"{tokens} {each}").fetchone() for each in ("turns", "usage")
    )
    if turns > used:
        yield f"the turns have used {turns} tokens, and {used} are in the books"


def _archives(home, folds, turns):
    found = archives(home)
    done = [turn for turn in turns.values() if turn["status"] == "done"]
    prompts = {turn["number"]: turn["prompt"] for turn in done}
    # One more may be there whose fold was not stored; it is written again with the next.
    if len(found) not in (len(folds), len(folds) + 1):
        yield f"{len(folds)} folds have {len(found)} archives"
    for fold, path in zip(folds, found, strict=False):
        words = path.read_text(encoding="utf-8").removesuffix("\n")
        if hashlib.sha256(words.encode()).hexdigest() != fold["digest"]:
            yield f"{path.name} is not what its fold was made of"
        for number in range(fold["first"], fold["last"] + 1):
            if prompts.get(number, "") not in words:
                yield f"{path.name} lacks {prompts[number]!r}"
    if any(path.stat().st_mode & 0o077 for path in found):
        yield "an archive can be read by others"


def _requests(url, shown):
    """Whether the rule was in every request, and will be in the next one."""
    asked = httpx2.get(f"{url.removesuffix('/v1')}/requests").json()
    # What sums up is told what was said, not what has to hold.
    turns = [str(each) for each in asked if "Sum up this part" not in str(each)]
    if lacking := sum(RULE not in each for each in turns):
        yield f"{lacking} of {len(turns)} requests lack the rule"
    if not any(RULE in part["text"] for part in shown["instructions"]):
        yield "the next request lacks the rule"
    if "left out here" not in shown["block"]:
        yield "the next request has no standing block"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="deaths of the server")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng, report = random.Random(options.seed), FoldReport()
    with forking():
        for begun in range(0, options.kills, AT_ONCE):
            deaths = min(AT_ONCE, options.kills - begun)
            # Each home has a model of its own, which keeps what it was asked.
            with scripted_process(SCRIPT) as url:
                asyncio.run(one_home(url, deaths, rng, report))
    sys.stdout.write(report.as_json() + "\n")


if __name__ == "__main__":
    main()
