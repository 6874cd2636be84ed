"""Kills a real agent process while messages are given to the turn that runs, and counts them.

As in chaos.py, a zygote forks one child per life. A tool of the turn sends the messages, so that
each comes while the turn is at work, and one more comes with the first word of the last answer.
Run it by hand for a longer time: ``python -m tests.e2e.steering_chaos --random 200``.
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
from collections import Counter
from pathlib import Path

import sqlalchemy as sa
from pydantic_ai import FunctionToolset, RunContext
from tests.e2e import examination
from tests.e2e.chaos import (
    QUICK,
    Countdown,
    Point,
    Report,
    append,
    lines,
    wait_for,
    warm_up,
    watch_database,
)
from tests.scripted_process import scripted_process

from long_running_agents.app import open_app
from long_running_agents.config import load
from long_running_agents.domain.events import WordsArrived
from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.tool import Effect
from long_running_agents.domain.turn import Terms
from long_running_agents.store import schema
from long_running_agents.testing import Rule, Script, call, calls, say
from long_running_agents.tools.deps import effect

SESSION = SessionId("steering")
JOBS = ("job one", "job two")
SCRIPT = Script(
    (
        Rule("^job", (calls(call("nudge", tag="a"), call("look")), say("Nobody spoke."))),
        Rule("^steer a", (call("nudge", tag="b"), say("Nobody spoke again."))),
        Rule("^steer b", (say("All of it is done, word by word.", chunk_delay=0.001),)),
        Rule("^steer late", (say("Late."),)),
    )
)


def tools(home, countdown, send):
    """A tool that lets somebody steer the turn that it is a part of, and one that does nothing."""
    found = FunctionToolset(id="hands")

    async def nudge(ctx, tag: str) -> str:
        countdown.at("before it is sent")
        await send(f"steer {tag}, {ctx.deps.turn.prompt}", steer=True)
        countdown.at("after it was sent")
        return "sent"

    async def look() -> str:
        return "nothing new"

    nudge.__annotations__["ctx"] = RunContext
    found.add_function(nudge, takes_ctx=True, metadata=effect(Effect.IDEMPOTENT))
    found.add_function(look, metadata=effect(Effect.READ))
    return found


async def life(home: Path, url: str, countdown: Countdown) -> None:
    """Open the home, say what was not acknowledged yet, and wait for everything."""
    environ = {"AGENT_MODEL": "scripted", "AGENT_MODEL_URL": url, **QUICK}
    install, prepare = watch_database(countdown), schema.prepare

    def prepare_watched(engine: sa.Engine, *args: object, **options: object) -> None:
        install(engine)
        prepare(engine, *args, **options)

    schema.prepare = prepare_watched
    opened = asyncio.get_running_loop().create_future()

    async def send(text, *, steer=False):
        app = await opened
        # Under a key, so that whoever does not know whether it arrived may send it again.
        turn = await app.turns.start(SESSION, text, terms=Terms(steer=steer, key=text))
        append(home / "acknowledged", turn.id, text)

    settings = load(home=home, environ=environ)
    async with open_app(settings, toolsets=[tools(home, countdown, send)]) as app:
        opened.set_result(app)
        hearing = asyncio.create_task(speak_late(app, send))
        known = {text for _, text in lines(home / "acknowledged")}
        for text in JOBS:
            if text not in known:
                await send(text)
        while any(text.startswith("job") for text in await unfinished(app)):
            await asyncio.gather(*(app.turns.settled(each.id) for each in await jobs(app)))
        hearing.cancel()
        for text in (f"steer late, {job}" for job in JOBS):
            # Whoever was killed before the first word comes back to say it.
            await send(text, steer=True)
        for turn in await app.sessions.turns(SESSION):
            await app.turns.settled(turn.id)


async def jobs(app):
    return [turn for turn in await app.sessions.turns(SESSION) if turn.prompt in JOBS]


async def unfinished(app):
    return [turn.prompt for turn in await app.turns.unfinished()]


async def speak_late(app, send):
    """Speak with the first word of a last answer."""
    async for news in app.turns.listen(SESSION):
        if isinstance(getattr(news, "delta", None), WordsArrived):
            prompt = (await app.turns.get(news.turn_id)).prompt
            if prompt in JOBS:
                await send(f"steer late, {prompt}", steer=True)


def examine(home: Path, name: str, report: Report) -> None:
    """Everything that was promised about messages that steer."""
    database = sqlite3.connect(home / "lra.db")
    database.row_factory = sqlite3.Row
    turns = {row["id"]: row for row in database.execute("SELECT * FROM turns")}
    events = list(database.execute("SELECT * FROM events ORDER BY seq"))
    # One that comes late may go to the next job, and that then does something else.
    said = {text for _, text in lines(home / "acknowledged")}
    said |= {*JOBS, *(f"steer late, {job}" for job in JOBS)}
    problems = [
        *examination._lost(lines(home / "acknowledged"), turns),
        *examination._gaps(events),
        *examination._messages(database, turns),
        *_counted("stored", said, [turn["prompt"] for turn in turns.values()]),
        *_counted("given to the model", said, _given(database)),
        *_ended(turns, events, database),
        *(f"a life broke: {words}" for words in lines(home / "broken")),
    ]
    report.homes += 1
    report.turns += sum(turn["status"] == "steered" for turn in turns.values())
    report.problems += [f"{name}: {problem}" for problem in problems]
    database.close()


def _given(database):
    """The user's words in all that a model was asked and has answered."""
    return [
        part["content"]
        for row in database.execute("SELECT body FROM messages WHERE kind = 'request'")
        for part in json.loads(row["body"])["parts"]
        if part["part_kind"] == "user-prompt"
    ]


def _counted(how, wanted, found):
    times = Counter(found)
    yield from (f"{text!r} was {how} {times[text]} times" for text in wanted if times[text] != 1)
    yield from (f"{text!r} was {how}, and never said" for text in times if text not in wanted)


def _ended(turns, events, database):
    for turn in turns.values():
        own = [each["type"] for each in events if each["turn_id"] == turn["id"]]
        steered = turn["status"] == "steered"
        if turn["status"] not in ("done", "steered") or (steered and turn["prompt"] in JOBS):
            yield f"{turn['prompt']!r} is {turn['status']}: {turn['error']}"
        if own.count("done") + own.count("steered") != 1 or own.count("steered") != steered:
            yield f"{turn['prompt']!r} ended with {own}"
        log = database.execute("SELECT count(*) FROM messages WHERE turn_id = ?", (turn["id"],))
        if (log.fetchone()[0] == 0) != steered:
            yield f"{turn['prompt']!r} is {turn['status']}, and its log says otherwise"


def fork_life(home: Path, url: str, point: Point | None) -> int:
    """Begin a life in a child process."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        asyncio.run(life(home, url, Countdown(point)))
        code = 0
    except BaseException as error:  # noqa: BLE001 - told to the parent by a file
        append(home / "broken", repr(error))
    os._exit(code)


def one_home(url, points, rng, report, deaths):
    """Let one home live through deaths at points, or at random moments, and then to its end."""
    home = Path(tempfile.mkdtemp(prefix="lra-steering-"))
    name = ", ".join(str(point) for point in points) or f"{deaths} random deaths"
    for point in points:
        if os.WIFSIGNALED(wait_for(fork_life(home, url, point), None)):
            report.kills[point.kind] += 1
    for _ in range(deaths):
        child = fork_life(home, url, None)
        if wait_for(child, rng.uniform(0.0, 0.3)) is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            report.kills["random moment"] += 1
    child = fork_life(home, url, None)
    status = wait_for(child, 120)
    if status is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if status != 0:
        report.problems.append(f"{name}: the last life ended with {status}")
    examine(home, name, report)
    shutil.rmtree(home, ignore_errors=True)


def targeted() -> list[list[Point]]:
    """Around everything that is written of a message that steers."""
    kinds = ("before a commit", "after a commit")
    singles = [Point(kind, n) for n in range(4, 40) for kind in kinds]
    singles += [Point(kind, n) for n in (1, 2, 3, 4) for kind in ("before it is sent", SENT)]
    pairs = [[Point(SENT, 1)] * 2, [Point(SENT, 2), Point("before a commit", 8)]]
    return [[point] for point in singles] + pairs


SENT = "after it was sent"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=20, help="homes killed at random moments")
    parser.add_argument("--every", type=int, default=1, help="take every nth of the points")
    options = parser.parse_args()
    rng, report = random.Random(7), Report()
    warm_up()
    with scripted_process(SCRIPT) as url:
        for points in targeted()[:: options.every]:
            one_home(url, points, rng, report, 0)
        for _ in range(options.random):
            one_home(url, [], rng, report, 3)
    sys.stdout.write(report.as_json() + "\n")


if __name__ == "__main__":
    main()
