"""Kills a real process while agents work for each other, and compares that with one nobody killed.

As in chaos.py, a zygote forks one child per life; one home in each round lives in `lra serve`. Six
sessions are at work at once: twenty delegates side by side, three below each other, two calls in
one step, a chain, one in the background, and a tree that has less to spend than it wants. Homes die
on both sides of what is told of a delegate, or anywhere. Each delegate has to be there once, and
whoever it works for to be told once, with nobody left over.
Run it by hand for a longer time: ``python -m tests.e2e.delegation_chaos --kills 1000``.
"""

import argparse
import asyncio
import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from itertools import chain, repeat
from pathlib import Path

from tests.e2e import examination
from tests.e2e.chaos import QUICK, Countdown, Report, fork_life, warm_up
from tests.e2e.served import served
from tests.e2e.work_chaos import anywhere, around, conclude, differences, live_and_die, watch
from tests.scripted_process import scripted_process

from long_running_agents.app import open_app
from long_running_agents.client import Client
from long_running_agents.config import load
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.turn import Terms
from long_running_agents.testing import Rule, Script, call, calls, say

# A request of unknown length would hold all that is left, and take it when its process dies.
SETTINGS = {**QUICK, "LRA_MEMORY__ENABLED": "false", "LRA_AGENT__MODEL__MAX_TOKENS": "300"}
MOST = 30_000
"""Tokens that the spender may use with all that work for it."""
SPENDER = "spend"
PROMPTS = {
    "fan": ("Hand twenty parts out", None),
    "deep": ("Dig first", None),
    "both": ("Ask two at once", None),
    "chain": ("My poem", "pipeline"),
    "later": ("Begin something", None),
    SPENDER: ("Spend all of it", "spender"),
}
SCORE = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
LINKS = [
    {"agent": "scorer", "input": "Score this: {{input}}"},
    {
        "agent": "coder",
        "input": "Note {{1.output.score}}",
        "when": {"field": "1.output.score", "gt": 5},
    },
    {"agent": "coder", "input": "Never", "when": {"field": "1.output.score", "lt": 5}},
    {"agent": "scorer", "input": "Score again: {{input}}"},
]
AGENTS = (
    {"name": "scorer", "output_schema": SCORE},
    {"name": "pipeline", "chain": {"strategy": "sequential", "links": LINKS}},
    {"name": "spender", "budget": {"tokens": MOST}},
)
PARTS, WORDS, RESULT = 20, 8, "tool_result"


def hand(task, **more):
    return call("delegate", agent="coder", task=task, **more)


def rule(when, *replies):
    return Rule(f"(?s)^{when}", replies)


def noted(words):
    return call("create_task", title="Noted"), say(words, chunk_delay=0.001)


SCRIPT = Script(
    (
        rule(
            "Hand twenty",
            hand([f"Part {number}" for number in range(PARTS)], max_parallel=6),
            say("All told."),
        ),
        rule("Part", *noted("That part is done.")),
        rule("Dig first", hand("Dig second"), say("Dug.")),
        rule("Dig second", hand("Dig third"), say("Dug below.")),
        rule("Dig third", hand("Dig last"), say("Dug deeper.")),
        rule("Dig last", *noted("Dug to the ground.")),
        rule("Ask two", calls(hand("Left"), hand("Right")), say("Both told.")),
        rule("Left", *noted("Left is done.")),
        rule("Right", *noted("Right is done.")),
        rule("Score this", say('{"score": 7}')),
        rule("Score again", say('{"score": 8}')),
        rule("Note 7", *noted("Seven.")),
        rule("Begin", hand("Take your time", background=True), say("It is on its way.")),
        rule("Take your time", *noted("Here it is.")),
        rule("A delegate that you began", say("It came.")),
        rule(
            "Spend",
            hand([f"Word {number}" for number in range(WORDS)], max_parallel=WORDS),
            say("Spent."),
        ),
        rule("Word", *noted("word " * 100)),
    )
)


async def ask(home, turns):
    """Say everything that was not said in an earlier life."""
    with closing(sqlite3.connect(home / "lra.db")) as database:
        known = {session for (session,) in database.execute("SELECT session_id FROM turns")}
    for session, (text, agent) in PROMPTS.items():
        if session not in known:
            await turns.start(SessionId(session), text, terms=Terms(agent=agent))


async def life(home: Path, url: str, countdown: Countdown) -> None:
    """Open the home, say what was not said yet, and wait until nobody is at work."""
    watch(countdown)
    async with open_app(load(home=home, environ=environ(url))) as app:
        await ask(home, app.turns)
        while left := await app.turns.unfinished():
            await app.turns.settled(left[0].id)


def environ(url):
    return {"AGENT_MODEL": "scripted", "AGENT_MODEL_URL": url, **SETTINGS}


async def publish(home: Path, url: str) -> None:
    """Make the agents."""
    async with open_app(load(home=home, environ=environ(url))) as app:
        for each in AGENTS:
            await app.agents.save(each)
            await app.agents.publish(each["name"])


async def ask_server(home, address):
    async with Client.at(address) as client:
        await ask(home, client.turns)


def die_served(home, url, rng, report):
    """A life as `lra serve`, which is killed a while after it was asked."""
    with served(home, url, **SETTINGS) as server:
        asyncio.run(ask_server(home, server.address))
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(rng.uniform(0.0, 0.5))
        server.kill()
    report.kills["lra serve"] += 1


_TOOK = re.compile(r"\d+ tokens, [\d.]+ s\.")
_OF_SESSION = "SELECT * FROM turns WHERE session_id = ? ORDER BY number"
_BELOW = """SELECT d.*, t.session_id FROM delegations d JOIN turns t ON t.id = d.turn_id
WHERE d.parent_id = ? ORDER BY t.prompt"""


def tree(database, session):
    """What was said in a session and below it, without what another run says otherwise."""
    found = []
    for turn in database.execute(_OF_SESSION, (session,)).fetchall():
        told = [turn[name] for name in ("number", "origin", "status", "agent", "answer")]
        below = [
            (
                *(each[name] for name in ("place", "depth", "parallel", "background")),
                json.loads(each["receipt"] or "{}").get("tool_calls"),
                tree(database, each["session_id"]),
            )
            for each in database.execute(_BELOW, (turn["id"],)).fetchall()
        ]
        found.append((*told, _TOOK.sub("", turn["prompt"]), below))
    tasks = "SELECT title, status FROM tasks WHERE session_id = ? ORDER BY number"
    return [*found, *map(tuple, database.execute(tasks, (session,)))]


_FAMILY = """WITH RECURSIVE family(id) AS (SELECT id FROM turns WHERE session_id = ?
UNION SELECT turn_id FROM delegations JOIN family ON parent_id = family.id)
SELECT t.* FROM turns t JOIN family ON family.id = t.id"""


def examine(home: Path, expected, report: Report):
    """Compare a home with one in which nobody died, and look for what is doubled or left."""
    with closing(sqlite3.connect(home / "lra.db")) as database:
        database.row_factory = sqlite3.Row
        found = {name: tree(database, name) for name in PROMPTS if name != SPENDER}
        turns = {row["id"]: row for row in database.execute("SELECT * FROM turns")}
        log = list(database.execute("SELECT * FROM events ORDER BY seq"))
        spent = {row["id"] for row in database.execute(_FAMILY, (SPENDER,))}
        calls = list(database.execute("SELECT * FROM tool_calls"))
        begun = list(database.execute("SELECT * FROM delegations"))
        certain = {key: row for key, row in turns.items() if key not in spent}
        problems = [
            *examination._unresolved([c for c in calls if c["turn_id"] in certain], []),
            *examination._unfinished(certain, log),
            *examination._messages(database, certain),
            *_gaps(log),
            *_left(turns, begun),
            *_told(turns, begun, log, calls),
            *_budget(database, [turns[key] for key in spent]),
        ]
        if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            problems.append("the database is damaged")
    conclude(home, report, turns, calls, [*problems, *differences(found, expected or {})])
    return found


def _gaps(log):
    for session in {row["session_id"] for row in log}:
        yield from examination._gaps([row for row in log if row["session_id"] == session])


def _left(turns, begun):
    """Whether anybody is still at work, or works for nobody."""
    own = {row["turn_id"] for row in begun}
    for turn in turns.values():
        if turn["status"] not in ("done", "limited", "failed"):
            yield f"turn {turn['id']} is left as {turn['status']}"
        receipt = turn["id"].removesuffix("_receipt")
        if turn["origin"] == "delegate" and turn["id"] not in own and receipt not in own:
            yield f"nobody delegated {turn['id']}"


def _told(turns, begun, log, calls):
    """Whether each delegate and each call was told of once."""
    bodies = [(row["turn_id"], row["type"], json.loads(row["body"])) for row in log]
    news = Counter((kind, told.get("delegate_id")) for _, kind, told in bodies)
    results = Counter((turn, told["tool_call_id"]) for turn, kind, told in bodies if kind == RESULT)
    for row in begun:
        name = f"delegate {row['place']} of {turns[row['parent_id']]['prompt']!r}"
        for kind in ("delegate_started", "delegate_done"):
            if (times := news[kind, row["turn_id"]]) != 1:
                yield f"{name} has {times} times {kind}"
        if row["receipt"] is None:
            yield f"{name} has no receipt"
        if row["background"] and f"{row['turn_id']}_receipt" not in turns:
            yield f"{name} brought no message"
    for each in calls:
        if (times := results[each["turn_id"], each["call_id"]]) != 1:
            prompt = turns[each["turn_id"]]["prompt"]
            yield f"{each['tool']} of {prompt!r} has {times} results"


def _budget(database, family):
    used = sum(row["input_tokens"] + row["output_tokens"] for row in family)
    if used > MOST:
        yield f"{used} of {MOST} tokens were used"
    if held := database.execute("SELECT count(*) FROM holds").fetchone()[0]:
        yield f"{held} holds are left"


KINDS = ("message", "delegate_started", "tool_call", RESULT, "done", "delegate_done")


def one_home(fresh, url, points, most, rng, report, expected=None, *, serve=False):
    """What a home has to tell that lived through deaths."""
    home = Path(tempfile.mkdtemp(prefix="lra-delegation-"))
    shutil.copytree(fresh, home, dirs_exist_ok=True)
    for _ in range(most if serve else 0):
        die_served(home, url, rng, report)
    begin = partial(fork_life, home, url, live=life)
    live_and_die(home, begin, points, 0 if serve else most, rng, report)
    found = examine(home, expected, report)
    shutil.rmtree(home, ignore_errors=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="deaths of a process")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng, report, nobody = random.Random(options.seed), Report(), iter(())
    warm_up()
    with scripted_process(SCRIPT) as url, tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        asyncio.run(publish(fresh, url))
        expected = one_home(fresh, url, nobody, 0, rng, report)
        rounds = chain.from_iterable(
            repeat(("delegate_done", "serve", "delegate_started", "tool_call", None, "done"))
        )
        while (left := options.kills - sum(report.kills.values())) > 0:
            kind = next(rounds)
            points = anywhere(rng, KINDS) if kind is None else around(kind)
            # More deaths than ten without a step between them are given up, as they should be.
            most = min(left, 2 if kind == "serve" else 6)
            one_home(fresh, url, points, most, rng, report, expected, serve=kind == "serve")
    sys.stdout.write(report.as_json() + "\n")


if __name__ == "__main__":
    main()
