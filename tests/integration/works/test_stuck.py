"""A work that goes in circles is told, then looks for another way, then waits for a person."""

from decimal import Decimal
from itertools import count

import pytest
from pydantic_ai import RunContext
from tests.integration.stories import hands, told
from tests.integration.works.players import Player, carried_out, prompts
from tests.integration.works.stories import FILE, done, settled, write

from long_running_agents.domain.compaction import Fold
from long_running_agents.domain.events import TurnLimited, WorkStuck
from long_running_agents.domain.stuck import StuckSignal
from long_running_agents.domain.tool import Effect
from long_running_agents.domain.work import PauseReason, WorkPhase
from long_running_agents.store import folds
from long_running_agents.testing import call, make_app, say
from long_running_agents.tools.deps import TurnDeps

pytestmark = pytest.mark.anyio

WRITE = {"title": "Write the file", "criterion": FILE}
CIRCLES = "You are going in circles"


def files(home):
    """Twelve files to read."""
    folder = home / "workspace"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.txt").write_text(f"bird {number}\n")


def read(number):
    return call("read_file", path=f"{number}.txt")


CALLS = {
    "repeated_call": (4, lambda _: call("list_files")),
    "repeated_error": (3, lambda _: call("read_file", path="heron.txt")),
    "alternating": (6, lambda n: read(n % 2)),
    "same_error": (4, lambda n: call("edit_file", path="1.txt", old_text=f"{n}x", new_text="y")),
    "only_reads": (26, lambda n: read(n % 12)),
    "idle_calls": (5, lambda n: call("shell", command=f"true # {n}")),
}
"""By the signal: after how many calls it is shown, and the calls."""


@pytest.mark.parametrize("signal", CALLS)
async def test_a_loop_is_told_then_looked_into_then_left_to_a_person(tmp_path, signal):
    bound, loop = CALLS[signal]
    numbers = count()
    model = Player(then=lambda _: loop(next(numbers)), most=100)
    files(tmp_path)
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        stuck = await told(app, WorkStuck)
        ends = [each.limit for each in await told(app, TurnLimited)]
    assert [each.alerts for each in stuck] == [1, 2, 3]
    assert stuck[0].signal == signal
    assert len(model.requests) <= 3 * bound + 1
    # It was told once, at the first chance, and then was not.
    heard = [place for place, text in enumerate(model.told) if CIRCLES in text]
    assert heard == [bound]
    assert stuck[0].detail in model.told[bound]
    # Then it had to find another way, with tools that only read.
    second = next(place for place, said in enumerate(prompts(model)) if "The work is stuck" in said)
    assert bound < second <= 2 * bound
    assert {"write_file", "shell", "edit_file"}.isdisjoint(model.tools_offered[second])
    assert {"read_file", "manage_tasks", "propose_change"} <= set(model.tools_offered[second])
    assert "write_file" in model.tools_offered[0]
    # Then a person is told what was tried, and what is open.
    assert ends == ["stuck", "stuck"]
    assert (found.work.phase, found.work.pause) == (WorkPhase.EXECUTING, PauseReason.STUCK)
    assert stuck[-1].detail in found.work.note
    assert "#1 Write the file" in found.work.note


async def test_a_person_lets_it_begin_anew(tmp_path):
    loop = [call("list_files")] * 12
    model = Player(
        *loop, call("list_files"), write("out.txt", "heron"), done(1), say("Done."), then="Well."
    )
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        assert found.work.pause is PauseReason.STUCK
        await app.works.resume(found.work.id)
        found = await settled(app)
        assert [each.alerts for each in await told(app, WorkStuck)] == [1, 2, 3]
    assert (found.work.phase, found.work.alerts) == (WorkPhase.COMPLETE, 0)


async def test_who_finds_another_way_goes_on(tmp_path):
    loop = [call("list_files")] * 8
    model = Player(
        *loop,
        call("manage_tasks", action="note", task_id=1, note="Just write it."),
        say("I know now."),
        write("out.txt", "heron"),
        done(1),
        say("Done."),
        then="All is well.",
    )
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
    assert found.work.phase is WorkPhase.COMPLETE
    assert found.tasks[0].notes == ("Just write it.",)


async def test_words_without_calls_are_answered_once_and_then_left_to_a_person(tmp_path):
    model = Player(then="I shall begin soon.")
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        assert len(model.requests) == 2
        assert "Your last turn achieved nothing" in prompts(model)[1]
        assert found.work.pause is PauseReason.STUCK
        assert "nothing was achieved in 2 turns" in found.work.note
        assert "#1 Write the file" in found.work.note
        await app.works.resume(found.work.id)
        found = await settled(app)
        [signal] = [each.signal for each in await told(app, WorkStuck)]
    assert (found.work.pause, signal) == (PauseReason.STUCK, StuckSignal.NO_CALLS)
    assert len(model.requests) == 4


async def test_answers_that_are_cut_off_are_a_loop(tmp_path):
    model = Player(then=call("list_files"), finish="length")
    async with make_app(tmp_path, model=model) as app:
        found = await carried_out(app, WRITE)
        stuck = await told(app, WorkStuck)
    assert [each.signal for each in stuck] == [StuckSignal.CUT_OFF] * 3
    assert [place for place, text in enumerate(model.told) if CIRCLES in text] == [2]
    assert found.work.pause is PauseReason.STUCK
    assert len(model.requests) <= 6


async def test_a_history_that_is_summed_up_all_the_time_is_a_loop(tmp_path):
    numbers = count(1)

    async def sum_up(ctx: RunContext[TurnDeps]) -> str:
        """Sum up."""
        turn, now = ctx.deps.turn, ctx.deps.clock.now()
        await ctx.deps.database.write(
            lambda tx: folds.add(
                tx,
                Fold(
                    session_id=turn.session_id, first=turn.number, last=turn.number, text="",
                    digest="", model="", tokens=0, cost=Decimal(0), faults=(),
                    steps=folds.steps(tx, turn.session_id), created_at=now,
                ),
            )
        )  # fmt: skip
        return f"Summed up {next(numbers)} times."

    turns = [(call("sum_up"), write(f"{n}.txt", "bird"), say("Next.")) for n in range(20)]
    model = Player(*(reply for turn in turns for reply in turn), most=60)
    tools = [hands(sum_up, Effect.READ)]
    async with make_app(tmp_path, model=model, toolsets=tools) as app:
        found = await carried_out(app, WRITE)
        stuck = await told(app, WorkStuck)
    assert [each.signal for each in stuck] == [StuckSignal.COMPACTING] * 3
    assert found.work.pause is PauseReason.STUCK
    assert [place for place, text in enumerate(model.told) if CIRCLES in text] == [12]
    assert len(model.requests) <= 40


def varied(number):
    """A step of somebody who gets on."""
    part, place = number % 10, number // 10
    path = f"part{place}.md"
    steps = [
        call("list_files"),
        write(path, f"# Part {place}\n"),
        call("read_file", path=path),
        call("edit_file", path=path, old_text="# Part", new_text="## Part"),
        call("read_file", path=path),
        write(f"notes/{place}.txt", f"note {place}"),
        call("search_files", pattern=f"Part {place}"),
        call("read_file", path=f"missing{place}.md"),
        call("manage_tasks", action="note", task_id=1, note=f"part {place} is written"),
        call("write_file", path="out.txt", content=f"heron {place}\n", mode="append"),
    ]
    return steps[part]


@pytest.mark.parametrize("steps", [60, pytest.param(200, marks=pytest.mark.heavy)])
async def test_a_long_work_that_gets_on_is_never_taken_for_a_loop(tmp_path, steps):
    model = Player(
        *(varied(number) for number in range(steps)), done(1), say("Done."), most=steps + 10
    )
    limits = {"agent__deep_work__max_iterations": 400, "agent__deep_work__token_budget": 10**8}
    async with make_app(tmp_path, model=model, **limits) as app:
        found = await carried_out(app, WRITE)
        assert await told(app, WorkStuck) == []
    assert found.work.phase is WorkPhase.COMPLETE
    assert len(model.requests) == steps + 3
