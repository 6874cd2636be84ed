"""Kills a real process in the midst of a work, and compares that with a work that nobody killed.

As in chaos.py, a zygote forks one child per life. The work is planned, approved, changed once,
carried out in five tasks of which one is refuted and mended, and reviewed. The first home dies on
both sides of every change of phase; others on both sides of every turn, of all evidence, or
anywhere. Whatever was written at last has to be what is written where nobody dies.
Run it by hand for a longer time: ``python -m tests.e2e.work_chaos --kills 1000``.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from pathlib import Path

from pydantic_ai import FunctionToolset, RunContext
from tests.e2e import examination
from tests.e2e.chaos import (
    QUICK,
    Countdown,
    Point,
    Report,
    append,
    fork_life,
    lines,
    wait_for,
    warm_up,
)
from tests.scripted_process import scripted_process

from long_running_agents.app import open_app
from long_running_agents.config import load
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.session import Mode
from long_running_agents.domain.tool import Effect
from long_running_agents.domain.turn import Terms
from long_running_agents.domain.work import WorkPhase
from long_running_agents.errors import Busy
from long_running_agents.store import events
from long_running_agents.store.database import Database
from long_running_agents.testing import Rule, Script, call, say
from long_running_agents.tools.deps import effect

SESSION, GOAL = SessionId("chaos"), "Report on the herons"
SENT = ("a", "b")
SETTINGS = {**QUICK, "LRA_MEMORY__ENABLED": "false"}


def task(title, criterion, *depends_on, path):
    given = {"title": title, "criterion": criterion, "depends_on": depends_on, "paths": [path]}
    return call("manage_tasks", action="create", **given)


def file(path, contains="heron"):
    return {"kind": "file", "path": path, "contains": contains}


def write(path, content="a heron"):
    return call("write_file", path=path, content=content)


def done(number):
    return call("manage_tasks", action="complete", task_id=number, result="done")


def turn(when, *replies):
    return Rule(f"(?s){when}", (*replies, say("That was it.", chunk_delay=0.001)))


FOUND = {"kind": "command", "command": "grep -c heron notes.txt", "contains": "1"}
MORE = {"op": "add", "title": "Archive", "depends_on": [4], "criterion": file("archive.txt")}
SCRIPT = Script(
    (
        turn(
            f"^{GOAL}",
            task("Take notes", file("notes.txt"), path="notes.txt"),
            task("Check them", FOUND, 1, path="notes.txt"),
            task("Sum them up", file("sum.txt", "two herons"), 1, 2, path="sum.txt"),
            task("Send that", file("sent.txt"), 3, path="sent.txt"),
        ),
        turn("0 of 4 .*#1", call("send", tag="a"), write("notes.txt"), done(1)),
        turn("1 of 4 .*#2", done(2)),
        turn("2 of 4 .*#3.*last looked at", write("sum.txt", "two herons"), done(3)),
        turn("2 of 4 .*#3", write("sum.txt"), done(3)),
        turn("3 of 4 .*#4", call("propose_change", reason="It gets lost.", patch=[MORE])),
        turn("3 of 5 .*#4", call("send", tag="b"), write("sent.txt"), done(4)),
        turn("4 of 5 .*#5", write("archive.txt"), done(5)),
        turn("Every task is proven", call("list_files")),
    )
)


def hands(home: Path) -> FunctionToolset:
    """A tool with an effect outside our database."""
    tools = FunctionToolset(id="hands")

    async def send(ctx, tag: str) -> str:
        append(home / "effects", ctx.deps.turn.id, ctx.tool_call_id, tag)
        await asyncio.sleep(0.001)
        return f"sent {tag}"

    send.__annotations__["ctx"] = RunContext
    tools.add_function(send, takes_ctx=True, metadata=effect(Effect.ONCE))
    return tools


def watch(countdown: Countdown) -> None:
    """Points around every event: in its transaction, and when it is on disk but untold."""
    run, store, noted = Database._run, events.append, threading.local()

    def append_watched(tx, session_id, turn_id, new, now):
        recorded = store(tx, session_id, turn_id, new, now)
        for event in new:
            noted.kinds.append(event.type)
            countdown.at(f"before {event.type}")
        return recorded

    def run_watched(self, begin, work):
        noted.kinds = []
        result = run(self, begin, work)
        for kind in noted.kinds:
            countdown.at(f"after {kind}")
        return result

    events.append, Database._run = append_watched, run_watched


async def life(home: Path, url: str, countdown: Countdown) -> None:
    """Open the home, begin the work unless it was begun, and approve whatever it asks."""
    environ = {"AGENT_MODEL": "scripted", "AGENT_MODEL_URL": url, **SETTINGS}
    watch(countdown)
    async with open_app(load(home=home, environ=environ), toolsets=[hands(home)]) as app:
        await app.turns.start(SESSION, GOAL, terms=Terms(mode=Mode.DEEP_WORK, key="goal"))
        while True:
            for unfinished in await app.turns.unfinished():
                await app.turns.settled(unfinished.id)
            [work] = await app.works.every()
            if await app.turns.unfinished():
                continue
            if work.phase is not WorkPhase.PLAN_READY and work.pause is None:
                break
            with suppress(Busy):
                await app.works.approve(work.id)
                continue
            break


@dataclass
class WorkReport(Report):
    """What became of all the homes, and of their works."""

    evidence: int = 0

    def as_json(self):
        return json.dumps({**json.loads(super().as_json()), "evidence": self.evidence})


def story(database):
    """Everything about a work that no death may change."""

    def rows(query):
        return [tuple(row) for row in database.execute(query)]

    told = database.execute("SELECT type, body FROM events ORDER BY seq").fetchall()
    news = [json.loads(body) for kind, body in told if kind in ("work_phase", "evidence")]
    kept = ("phase", "pause", "note", "plan_version", "task", "state", "proof")
    return {
        "turns": rows("SELECT number, origin, status, prompt, answer FROM turns ORDER BY number"),
        "work": rows("SELECT phase, pause, note, plan_version, turns, rounds, nudges FROM works"),
        "tasks": rows("SELECT number, title, status, planned FROM tasks ORDER BY number"),
        "evidence": rows(
            "SELECT number, task, kind, state, proof, turn, step FROM evidence ORDER BY number"
        ),
        "plans": rows("SELECT number, version, state, tasks FROM plans ORDER BY number"),
        "events": [{name: each[name] for name in kept if name in each} for each in news],
    }


def examine(home: Path, expected: dict[str, list] | None, report: WorkReport) -> dict[str, list]:
    """Compare a home with one in which nobody died, and what it knows with what happened."""
    with closing(sqlite3.connect(home / "lra.db")) as database:
        found = story(database)
        database.row_factory = sqlite3.Row
        turns = {row["id"]: row for row in database.execute("SELECT * FROM turns")}
        calls = list(database.execute("SELECT * FROM tool_calls"))
        log = list(database.execute("SELECT * FROM events ORDER BY seq"))
        problems = [
            *examination._doubled(lines(home / "effects")),
            *examination._unresolved(calls, lines(home / "effects")),
            *examination._unfinished(turns, log),
            *examination._gaps(log),
            *examination._messages(database, turns),
            *_work(database, turns),
        ]
        if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            problems.append("the database is damaged")
    report.evidence += len(found["evidence"])
    conclude(home, report, turns, calls, [*problems, *differences(found, expected or {})])
    return found


def differences(found, expected):
    """What is told otherwise than in a home in which nobody died."""
    for name, wanted in expected.items():
        for place, (mine, other) in enumerate(zip(found[name], wanted, strict=False), 1):
            if mine != other:
                yield f"{name} {place} is {mine}, and not {other}"
        if len(found[name]) != len(wanted):
            yield f"{name}: {len(found[name])}, and not {len(wanted)}"


def conclude(home, report, turns, calls, problems):
    """Count a home and what was found in it."""
    report.homes += 1
    report.turns += len(turns)
    report.uncertain += sum(each["state"] == "uncertain" for each in calls)
    broken = [f"a life broke: {words}" for words in lines(home / "broken")]
    report.problems += [f"home {report.homes}: {problem}" for problem in [*problems, *broken]]


def _work(database, turns):
    """Whether all is proven, and each turn, nudge and check was there once."""
    [work] = database.execute("SELECT * FROM works").fetchall()
    own = {f"turn_{work['id']}_{number}" for number in range(1, work["turns"] + 1)}
    if work["phase"] != "complete":
        yield f"the work is {work['phase']}, {work['pause']}: {work['note']}"
    if own != {each["id"] for each in turns.values() if each["origin"] == "work"}:
        yield "the work's turns are not numbered without a gap"
    if sorted(each["number"] for each in turns.values()) != list(range(1, len(turns) + 1)):
        yield "the turns are not numbered without a gap"
    twice = "SELECT {0}, count(*) FROM {1} GROUP BY {0} HAVING count(*) > 1"
    for table, columns in (("turns", "prompt"), ("evidence", "task, cause")):
        for row in database.execute(twice.format(columns, table)):
            yield f"{table}: {tuple(row)} is there twice"
    newest = "SELECT task, state, max(number) FROM evidence GROUP BY task"
    states = {row["task"]: row["state"] for row in database.execute(newest)}
    if states != dict.fromkeys(range(1, 6), "verified"):
        yield f"the tasks are {states}"


def around(kind):
    """A death on both sides of each event of a kind, as long as there are any."""
    return chain.from_iterable(repeat((Point(f"before {kind}", 1), Point(f"after {kind}", 1))))


def anywhere(rng, kinds):
    """Deaths without end; None for one at a random moment."""
    while True:
        side = rng.choice(("before", "after"))
        yield rng.choice((None, Point(f"{side} {rng.choice(kinds)}", rng.randint(1, 4))))


def live_and_die(home, begin, points, most, rng, report):
    """Let one home live through deaths, and then to its end."""
    for _ in range(most):
        point = next(points)
        child = begin(point)
        status = wait_for(child, rng.uniform(0.0, 1.5) if point is None else 120)
        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            report.kills["random moment" if point is None else "too late"] += 1
        elif os.WIFSIGNALED(status):
            report.kills[point.kind] += 1
        else:
            break
    last = begin(None)
    if (status := wait_for(last, 120)) is None:
        os.kill(last, signal.SIGKILL)
        os.waitpid(last, 0)
    if status != 0:
        report.problems.append(f"the last life ended with {status}: {lines(home / 'broken')}")


def one_home(url, points, most, rng, report, expected):
    """What a home has to tell that lived through deaths."""
    home = Path(tempfile.mkdtemp(prefix="lra-work-"))
    live_and_die(home, partial(fork_life, home, url, live=life), points, most, rng, report)
    found = examine(home, expected, report)
    shutil.rmtree(home, ignore_errors=True)
    return found


KINDS = ("work_phase", "evidence", "message", "done", "tool_call", "tool_result")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="deaths of a process")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    rng, report = random.Random(options.seed), WorkReport(kills=Counter())
    kinds = iter(("work_phase", "evidence", "message", "done", "tool_call", "plan_ready"))
    warm_up()
    with scripted_process(SCRIPT) as url:
        expected = one_home(url, iter(()), 0, rng, report, None)
        while (left := options.kills - sum(report.kills.values())) > 0:
            kind = next(kinds, None)
            points = anywhere(rng, KINDS) if kind is None else around(kind)
            one_home(url, points, min(left, 40 if kind else 8), rng, report, expected)
    sys.stdout.write(report.as_json() + "\n")


if __name__ == "__main__":
    main()
