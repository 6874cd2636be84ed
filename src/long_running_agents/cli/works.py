"""`lra work`: begin, list, show, approve, revise, pause, resume and abandon works, and report."""

import asyncio
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import click

from long_running_agents.cli.access import open_agent, with_database
from long_running_agents.cli.main import OK, CommandGroup, Options
from long_running_agents.cli.output import note, print_either, print_list, session_option, shown
from long_running_agents.domain.budget import Limits
from long_running_agents.domain.ids import SessionId, WorkId
from long_running_agents.domain.task import Scope
from long_running_agents.domain.work import PauseReason, PlanPolicy, WorkPhase
from long_running_agents.errors import Busy, LimitReached

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from long_running_agents.cli.access import AgentApi
    from long_running_agents.domain.ids import TurnId
    from long_running_agents.domain.work import Work, WorkDetails

work_argument = click.argument("work_id", metavar="ID")
_tokens = click.option("--tokens", type=click.IntRange(min=1), help="So many tokens.")
_cost = click.option("--cost", type=click.FloatRange(min=0, min_open=True), help="So many dollars.")
_steps = click.option("--steps", type=click.IntRange(min=1), help="So many requests.")
_task = partial(click.option, type=click.IntRange(min=1), multiple=True, metavar="TASK")


@click.group(cls=CommandGroup)
def work() -> None:
    """Let the agent work through a plan until every task of it is proven."""


@work.subcommand()
@click.argument("goal")
@session_option("The session it is for; a new one unless given.")
@click.option(
    "--policy", type=click.Choice([str(each) for each in PlanPolicy]), help="Who approves its plan."
)
@click.option("--path", "paths", multiple=True, help="A file or folder that it may write.")
@click.option("--host", "hosts", multiple=True, help="A host that it may reach.")
@_tokens
@_cost
@_steps
def start(  # noqa: PLR0913, PLR0917 - one for each option
    options: Options,
    goal: str,
    session: SessionId | None,
    policy: str | None,
    paths: tuple[str, ...],
    hosts: tuple[str, ...],
    tokens: int | None,
    cost: float | None,
    steps: int | None,
) -> int:
    """Begin a work: the agent plans it first, and then waits for your approval."""
    scope = Scope(paths=paths, hosts=hosts) if paths or hosts else None
    return _followed(
        options,
        lambda agent: agent.works.start(
            goal,
            session_id=session,
            policy=None if policy is None else PlanPolicy(policy),
            scope=scope,
            limits=_limits(tokens, cost, steps),
        ),
    )


@work.subcommand("list", json=True)
@click.option("--all", "ended", is_flag=True, help="Show those that have ended, too.")
@session_option("Only this session's.")
def list_works(options: Options, ended: bool, session: SessionId | None, as_json: bool) -> None:
    """List works, those changed last first."""
    from long_running_agents.store import works

    owner = options.load().settings.owner
    print_list(
        with_database(
            options,
            lambda database: database.read(
                lambda tx: works.of_owner(tx, owner, ended=ended, limit=100, session_id=session)
            ),
            empty=[],
        ),
        "id, changed, state, session, goal",
        lambda each: (each.id, each.updated_at, each.state, each.session_id, each.goal),
        as_json=as_json,
        nothing="No work is under way: 'lra work start GOAL' begins one.",
    )


@work.subcommand(json=True)
@work_argument
def show(options: Options, work_id: str, as_json: bool) -> None:
    """Show a work: its tasks, evidence, budget and forecast."""
    print_either(_details(options, work_id), as_json, lambda found: click.echo(shown(told(found))))


@work.subcommand()
@work_argument
def report(options: Options, work_id: str) -> None:
    """Print what became of a work, as Markdown."""
    from long_running_agents.agent.works import report as written

    click.echo(shown(written(_details(options, work_id))))


@work.subcommand()
@work_argument
def approve(options: Options, work_id: str) -> int:
    """Approve the plan, or the change of it that is proposed; this waits for what comes."""
    return _followed(options, lambda agent: agent.works.approve(WorkId(work_id)))


@work.subcommand()
@work_argument
@click.argument("feedback")
def revise(options: Options, work_id: str, feedback: str) -> int:
    """Ask for another plan, and say what is to be different."""
    return _followed(options, lambda agent: agent.works.revise(WorkId(work_id), feedback))


@work.subcommand()
@work_argument
def decline(options: Options, work_id: str) -> int:
    """Decline a change of the plan and go on without it; or the plan, which ends the work."""
    return _followed(options, lambda agent: agent.works.decline(WorkId(work_id)))


@work.subcommand()
@work_argument
def pause(options: Options, work_id: str) -> int:
    """Let a work wait; a turn that runs is stopped."""
    return _followed(options, lambda agent: agent.works.pause(WorkId(work_id)))


@work.subcommand()
@work_argument
@_task("--accept", help="A task that you have looked at and that is done.")
@_task("--reject", help="A task that is not.")
@_task("--waive", help="A task that you do without.")
@click.option("-m", "--message", default="", help="Something to say to the agent.")
@_tokens
@_cost
@_steps
def resume(  # noqa: PLR0913, PLR0917 - one for each option
    options: Options,
    work_id: str,
    accept: tuple[int, ...],
    reject: tuple[int, ...],
    waive: tuple[int, ...],
    message: str,
    tokens: int | None,
    cost: float | None,
    steps: int | None,
) -> int:
    """Let a paused work go on; a limit that stopped it is raised, by as much again unless said."""
    return _followed(
        options,
        lambda agent: agent.works.resume(
            WorkId(work_id),
            accept=accept,
            reject=reject,
            waive=waive,
            message=message,
            limits=_limits(tokens, cost, steps),
        ),
    )


@work.subcommand()
@work_argument
def abandon(options: Options, work_id: str) -> int:
    """End a work; what it has done stays."""
    return _followed(options, lambda agent: agent.works.abandon(WorkId(work_id)))


def _limits(tokens: int | None, cost: float | None, steps: int | None) -> Limits | None:
    money = None if cost is None else Decimal(str(cost))
    found = Limits(tokens=tokens, cost=money, steps=steps)
    return None if found == Limits() else found


def _details(options: Options, work_id: str) -> "WorkDetails":
    from long_running_agents.agent.works import work_details

    owner = options.load().settings.owner
    look = partial(work_details, work_id=WorkId(work_id), owner=owner)
    return with_database(options, lambda database: database.read(look))


def told(found: "WorkDetails") -> str:
    """A work as a terminal shows it."""
    each = found.work
    lines = [each.goal, f"{each.id}: {each.state}; {found.summary}", *each.note.splitlines()]
    newest = {seen.task: seen for seen in found.evidence}
    for task in found.tasks:
        seen = newest.get(task.number)
        state = task.status if seen is None else f"{seen.state}: {seen.proof}"
        stale = " (stale)" if task.number in found.stale else ""
        lines.append(f"  #{task.number} {task.title} [{state}{stale}]")
        if task.criterion is not None and (seen is None or not seen.state.proves):
            lines.append(f"     done when: {task.criterion}")
    used = ", ".join(map(str, found.budget))
    lines += [f"used: {used}"] if used else []
    if each.open and found.forecast.tasks:
        lines.append(f"left: {found.forecast}")
    outside = [*found.drift.paths, *found.drift.hosts]
    lines += [f"outside the scope: {', '.join(outside)}"] if outside else []
    return "\n".join(lines)


def _followed(options: Options, act: "Callable[[AgentApi], Awaitable[Work]]") -> int:
    """Do something with a work, and show what comes of it until it waits for somebody."""

    async def run() -> int:
        async with open_agent(options.load(), None, terminal=False, resuming=True) as (agent, _):
            return await _follow(agent, await act(agent))

    return asyncio.run(run())


async def _follow(agent: "AgentApi", begun: "Work") -> int:
    from long_running_agents.cli.render import PlainScreen, Renderer

    renderer, session_id = Renderer(PlainScreen(words=False)), begun.session_id

    async def hear() -> None:
        async for heard in agent.turns.listen(session_id, await agent.last_event(session_id)):
            await renderer.show(heard)

    hearing = asyncio.create_task(hear())
    try:
        while turn := await _unfinished(agent, session_id):
            if not (await agent.turns.settled(turn)).status.ended:
                break
    except asyncio.CancelledError:
        # Ctrl-C: what was given up must not go on by itself.
        await agent.works.pause(begun.id)
        raise
    finally:
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing
    found = await agent.works.get(begun.id)
    click.echo(shown(told(found)))
    for asked in await agent.turns.open_questions(session_id):
        note(f"{asked.tool} waits for an approval: 'lra approvals allow {asked.id}'")
    return _exit_code(found.work)


async def _unfinished(agent: "AgentApi", session_id: SessionId) -> "TurnId | None":
    found = await agent.turns.unfinished()
    return next((turn.id for turn in found if turn.session_id == session_id), None)


def _exit_code(found: "Work") -> int:
    """What the shell is told: 5 for a limit, 75 while somebody has to answer."""
    if found.phase is WorkPhase.PLAN_READY and found.pause is None:
        note(f"'lra work approve {found.id}' carries it out, 'lra work revise' asks for another")
    elif found.pause is not None:
        note(f"'lra work resume {found.id}' lets it go on")
    if found.pause is PauseReason.LIMIT:
        return LimitReached.exit_code
    return Busy.exit_code if found.pause in (PauseReason.QUESTION, PauseReason.STUCK) else OK
