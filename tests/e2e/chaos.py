"""Kills a real agent process over and over, and then looks whether anything is missing.

A zygote that has imported everything forks one child per life, so that a life takes a tenth of a
second and not two. The child opens the home as any program does, talks to a scripted model over
HTTP, and is killed with SIGKILL: at a chosen point by itself, or at a random moment by its parent.
Run it by hand for a longer time: ``python -m tests.e2e.chaos --random 1000``; ``--part 2/3`` takes
every third point, from the second on.
"""

import argparse
import asyncio
import gc
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from pydantic_ai import FunctionToolset
from tests.kept import keep
from tests.scripted_process import scripted_process

from long_running_agents.app import open_app
from long_running_agents.config import load
from long_running_agents.domain.events import WordsArrived
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.tool import Effect
from long_running_agents.memory.embedding import bundled
from long_running_agents.store import schema
from long_running_agents.store.database import Database
from long_running_agents.testing import Rule, Script, call, calls, say
from long_running_agents.tools.catalog import families
from long_running_agents.tools.deps import effect

MESSAGES = ("job one", "job two")
SESSION = SessionId("chaos")
SCRIPT = Script(
    [
        Rule(
            "job",
            (
                calls(call("send", tag="a"), call("note", tag="a"), call("look")),
                call("send", tag="b"),
                call("create_task", title="Tidy up"),
                say("All of it is done, word by word.", chunk_delay=0.001),
            ),
        )
    ]
)
QUICK = {"LRA_STORAGE__SYNCHRONOUS": "NORMAL"}
"""A killed process leaves what it wrote with the system; only a power cut would not."""
SENT = ("a", "b")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Point:
    """Where a life ends: at the nth time something happens."""

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} #{self.number}"


@dataclass
class Countdown:
    """Ends the process when its point is reached."""

    point: Point | None
    seen: Counter[str] = field(default_factory=Counter)

    def at(self, kind: str) -> None:
        self.seen[kind] += 1
        if self.point is not None and (kind, self.seen[kind]) == (
            self.point.kind,
            self.point.number,
        ):
            die()


def append(path: Path, *words: object) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(handle, (json.dumps(words) + "\n").encode())
    os.close(handle)


def lines(path: Path) -> list[list[str]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def hands(home: Path, countdown: Countdown) -> FunctionToolset:
    """A tool with an effect outside our database, and two that may be repeated."""
    tools = FunctionToolset(id="hands")

    async def send(ctx, tag: str) -> str:
        countdown.at("before the effect")
        append(home / "effects", ctx.deps.turn.id, ctx.tool_call_id, tag)
        countdown.at("after the effect")
        await asyncio.sleep(0.001)
        countdown.at("at the end of the tool")
        return f"sent {tag}"

    async def note(tag: str) -> str:
        await asyncio.sleep(0)
        return f"noted {tag}"

    async def look() -> str:
        return "nothing new"

    from pydantic_ai import RunContext  # noqa: PLC0415 - the annotation a tool needs

    send.__annotations__["ctx"] = RunContext
    tools.add_function(send, takes_ctx=True, metadata=effect(Effect.ONCE))
    tools.add_function(note, metadata=effect(Effect.IDEMPOTENT))
    tools.add_function(look, metadata=effect(Effect.READ))
    return tools


def watch_database(countdown: Countdown) -> Callable[[sa.Engine], None]:
    """Points around every transaction: before it, in it, and when it is on disk but untold."""
    run = Database._run

    def run_watched(self: Database, *args: object) -> object:
        result = run(self, *args)
        countdown.at("after a commit")
        return result

    Database._run = run_watched

    # SQLite tells of a statement before it does anything.
    kinds = {"BEGIN": "before a transaction", "COMMIT": "before a commit"}

    def connected(connection: sqlite3.Connection, _: object) -> None:
        connection.set_trace_callback(
            lambda text: countdown.at(kinds.get(text.partition(" ")[0], "statement"))
        )

    def install(engine: sa.Engine) -> None:
        sa.event.listen(engine, "connect", connected)

    return install


async def life(home: Path, url: str, countdown: Countdown) -> None:
    """Open the home, send what was not acknowledged yet, and wait for all answers."""
    environ = {"AGENT_MODEL": "scripted", "AGENT_MODEL_URL": url, **QUICK}
    install = watch_database(countdown)
    prepare = schema.prepare

    def prepare_watched(engine: sa.Engine, *args: object, **options: object) -> None:
        install(engine)
        prepare(engine, *args, **options)

    schema.prepare = prepare_watched
    async with open_app(load(home=home, environ=environ), toolsets=[hands(home, countdown)]) as app:
        words = asyncio.create_task(hear_words(app, countdown))
        known = {text for _, text in lines(home / "acknowledged")}
        for text in MESSAGES:
            if text not in known:
                turn = await app.turns.start(SESSION, text)
                append(home / "acknowledged", turn.id, text)
        for turn_id, _ in lines(home / "acknowledged"):
            await app.turns.settled(turn_id)
        words.cancel()


async def hear_words(app, countdown: Countdown) -> None:
    async for news in app.turns.listen(SESSION):
        if isinstance(getattr(news, "delta", None), WordsArrived):
            countdown.at("word")


def fork_life(home: Path, url: str, point: Point | None, live=life) -> int:
    """Begin a life in a child process."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        asyncio.run(live(home, url, Countdown(point)))
        code = 0
    except BaseException as error:  # noqa: BLE001 - told to the parent by a file
        append(home / "broken", repr(error))
    os._exit(code)


def wait_for(child: int, within: float | None) -> int | None:
    """The exit status of a child, or None when it is still alive after a while."""
    deadline = None if within is None else time.monotonic() + within
    while True:
        done, status = os.waitpid(child, 0 if deadline is None else os.WNOHANG)
        if done:
            return status
        if deadline is not None and time.monotonic() >= deadline:
            return None
        time.sleep(0.001)


@dataclass
class Report:
    """What became of all the homes."""

    homes: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    turns: int = 0
    uncertain: int = 0

    def as_json(self) -> str:
        return json.dumps(
            {
                "homes": self.homes,
                "kills": sum(self.kills.values()),
                "by_kind": dict(self.kills),
                "turns": self.turns,
                "uncertain": self.uncertain,
                "problems": self.problems,
            }
        )


def examine(home: Path, name: str, report: Report) -> None:
    """Everything that was promised about a home that lived through deaths."""
    from tests.e2e.examination import findings  # noqa: PLC0415 - the story first

    found = findings(home, SESSION, lines(home / "acknowledged"), lines(home / "effects"), SENT)
    report.homes += 1
    report.turns += found.turns
    report.uncertain += found.uncertain
    broken = [f"{name}: a life broke: {words}" for words in lines(home / "broken")]
    report.problems += [f"{name}: {problem}" for problem in found.problems] + broken


def one_home(
    url: str, points: list[Point], rng: random.Random, report: Report, deaths: int
) -> None:
    """Let one home live through deaths at points, or at random moments, and then to its end."""
    home = Path(tempfile.mkdtemp(prefix="lra-chaos-"))
    name = ", ".join(str(point) for point in points) or f"{deaths} random deaths"
    for point in points:
        status = wait_for(fork_life(home, url, point), None)
        if os.WIFSIGNALED(status):
            report.kills[point.kind] += 1
    for _ in range(deaths):
        child = fork_life(home, url, None)
        if wait_for(child, rng.uniform(0.0, 0.22)) is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            report.kills["random moment"] += 1
    status = wait_for(fork_life(home, url, None), 60)
    if status != 0:
        report.problems.append(
            f"{name}: the last life ended with {status}: {lines(home / 'broken')}"
        )
    examine(home, name, report)
    shutil.rmtree(home, ignore_errors=True)


def targeted() -> list[list[Point]]:
    """Every point of a turn once, and some pairs of deaths in a row."""
    singles = [
        Point(kind, n) for kind in ("before a commit", "after a commit") for n in range(1, 30)
    ]
    singles += [Point("before a transaction", n) for n in range(1, 30, 3)]
    singles += [Point("statement", n) for n in range(1, 300, 27)]  # The schema comes first.
    for kind in ("before the effect", "after the effect", "at the end of the tool"):
        singles += [Point(kind, n) for n in (1, 2, 3)]
    singles += [Point("word", n) for n in (1, 4, 7, 9)]
    pairs = [[Point("after the effect", 1)] * 2, [Point("before a commit", 9)] * 4]
    pairs += [[Point("word", 2), Point("after a commit", 3), Point("before the effect", 1)]]
    return [[point] for point in singles] + pairs


def warm_up() -> None:
    """Do in the zygote what every life would do again."""
    families(network=False)
    keep()
    bundled._load(bundled._installed())
    # Nobody here speaks TLS, and reading whom this machine trusts takes 24 ms.
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = tempfile.gettempdir()
    # What is not looked at by the collector stays shared with the children.
    gc.collect()
    gc.freeze()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=40, help="homes killed at random moments")
    parser.add_argument("--deaths", type=int, default=4, help="random deaths of each such home")
    parser.add_argument("--part", default="1/1", help="which points, of how many parts")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    rng = random.Random(options.seed)
    report = Report()
    warm_up()
    with scripted_process(SCRIPT) as url:
        for points in targeted()[part - 1 :: parts]:
            one_home(url, points, rng, report, 0)
        for _ in range(options.random):
            one_home(url, [], rng, report, options.deaths)
    sys.stdout.write(report.as_json() + "\n")


if __name__ == "__main__":
    main()
