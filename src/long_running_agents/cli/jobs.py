"""`lra jobs`: add, list, show, run, hook, pause, resume, edit, remove, history, import, export."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from long_running_agents.cli.access import with_jobs
from long_running_agents.cli.main import FAILED, OK, CommandGroup, Options
from long_running_agents.cli.output import moment, note, print_either, print_list, shown
from long_running_agents.domain.job import (
    ALERTS,
    FiringOutcome,
    JobId,
    JobSession,
    MissedPolicy,
    NoticeKind,
    OverlapPolicy,
)
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from long_running_agents.domain.job import FiringView, JobView, ScheduleView

job_argument = click.argument("job_id", metavar="ID")
_FIELDS: "tuple[Callable[[Any], Any], ...]" = (
    click.option("--zone", help="Time zone of the schedule, such as Europe/Berlin."),
    click.option("--agent", help="The agent that runs it; the usual one unless given."),
    click.option("--session", "session_id", help="A session that all runs go on in."),
    click.option(
        "--session-mode",
        type=click.Choice([str(each) for each in JobSession]),
        help="Where it runs.",
    ),
    click.option(
        "--missed",
        type=click.Choice([str(each) for each in MissedPolicy]),
        help="What missed moments do.",
    ),
    click.option("--max-age", type=float, help="Seconds after which a missed moment is too old."),
    click.option(
        "--overlap",
        type=click.Choice([str(each) for each in OverlapPolicy]),
        help="If one still runs.",
    ),
    click.option("--jitter", type=float, help="Seconds by which a run may be late."),
    click.option("--tokens", type=click.IntRange(min=1), help="Tokens that one run may use."),
    click.option("--deep-work/--no-deep-work", default=None, help="Whether a run is a deep work."),
    click.option("--watch", help="A command or address; a run begins if what it shows changes."),
    click.option("--expect-every", help="Tell if no run ends for so long: 26h, 2d, or seconds."),
    click.option(
        "--notify",
        multiple=True,
        type=click.Choice([*map(str, NoticeKind), "none"]),
        help="What is told; repeat it.",
    ),
)


def _fields(command: "Callable[..., Any]") -> "Callable[..., Any]":
    for option in reversed(_FIELDS):
        command = option(command)
    return command


def _said(given: dict[str, Any]) -> dict[str, Any]:
    """The fields that options give; a session that is named is the one to run in."""
    tokens, told = given.pop("tokens", None), given.pop("notify")
    said = {name: value for name, value in given.items() if value is not None}
    if told:
        said["notify"] = [kind for kind in told if kind != "none"]
    if "expect_every" in said:
        said["expect_every"] = _seconds(said["expect_every"])
    if tokens is not None:
        said["limits"] = {"tokens": tokens}
    if "session_id" in said:
        said.setdefault("session_mode", JobSession.NAMED)
    return said


_LENGTHS = {"": 1, "m": 60, "h": 3600, "d": 86_400}


def _seconds(text: str) -> float:
    """How many seconds a length of time has."""
    if not (found := re.fullmatch(r"(\d{1,9})([mhd]?)", text.strip().lower())):
        raise UsageError(f"{text!r} is no length of time.", hint="Write 45m, 26h, 2d, or seconds.")
    return float(int(found[1]) * _LENGTHS[found[2]])


@click.group(cls=CommandGroup)
def jobs() -> None:
    """Let prompts run on a schedule, while 'lra serve' runs."""


@jobs.subcommand(json=True)
@click.argument("name")
@click.argument("schedule")
@click.argument("prompt")
@click.option("--id", "job_id", help="A short name; made of the name unless given.")
@_fields
def add(
    options: Options, name: str, schedule: str, prompt: str, as_json: bool, **given: Any
) -> None:
    """Add a job: when it fires ("daily 09:00", "every 2h", "0 9 * * mon-fri") and what it does."""
    given["id"] = given.pop("job_id")
    said = {"name": name, "schedule": schedule, "prompt": prompt, **_said(given)}
    _print(with_jobs(options, lambda service: service.add(said)), as_json=as_json)


@jobs.subcommand("list", json=True)
def list_jobs(options: Options, as_json: bool) -> None:
    """List the jobs."""
    print_list(
        with_jobs(options, lambda service: service.every()),
        "id, state, next, last, schedule",
        lambda view: (
            view.job.id,
            view.job.state,
            view.job.next_at or "",
            _outcome(view.last),
            view.schedule.words,
        ),
        as_json=as_json,
        nothing="There are no jobs: 'lra jobs add NAME SCHEDULE PROMPT' adds one.",
    )


@jobs.subcommand(json=True)
@job_argument
def show(options: Options, job_id: str, as_json: bool) -> None:
    """Show a job: its schedule in words, its next moments, its last run."""
    _print(with_jobs(options, lambda service: service.get(JobId(job_id))), as_json=as_json)


@jobs.subcommand(json=True)
@job_argument
@click.option("--name", help="What it is called.")
@click.option("--schedule", help="When it fires.")
@click.option("--prompt", help="What is to be done.")
@_fields
def edit(options: Options, job_id: str, as_json: bool, **given: Any) -> None:
    """Change a job; moments that were planned before keep what became of them."""
    said = _said(given)
    view = with_jobs(options, lambda service: service.edit(JobId(job_id), said))
    _print(view, as_json=as_json)


@jobs.subcommand(json=True)
@job_argument
def run(options: Options, job_id: str, as_json: bool) -> int:
    """Let a job run now; without a server this waits until it has ended."""
    view = with_jobs(options, lambda service: service.run(JobId(job_id)), wait=True)
    print_either(view, as_json, lambda found: click.echo(shown(_told(found))))
    good = view.status in (None, TurnStatus.DONE, TurnStatus.QUEUED, TurnStatus.RUNNING)
    unchanged = view.firing.outcome is FiringOutcome.SKIPPED
    return OK if good and (unchanged or view.firing.turn_id is not None) else FAILED


@jobs.subcommand(json=True)
@job_argument
def hook(options: Options, job_id: str, as_json: bool) -> None:
    """Make a secret for a job's webhook and print it, this once; one before is worth nothing."""
    made = with_jobs(options, lambda service: service.hook(JobId(job_id)))
    note(f"Deliveries go to POST {made.path}, signed after Standard Webhooks with this secret.")
    note("Save it now: it is shown only once.")
    print_either(made, as_json, lambda found: click.echo(found.secret))


@jobs.subcommand(json=True)
@job_argument
def pause(options: Options, job_id: str, as_json: bool) -> None:
    """Let a job fire no more; a run that is under way goes on."""
    _print(with_jobs(options, lambda service: service.pause(JobId(job_id))), as_json=as_json)


@jobs.subcommand(json=True)
@job_argument
def resume(options: Options, job_id: str, as_json: bool) -> None:
    """Let a job fire that was paused, or that the agent has proposed."""
    _print(with_jobs(options, lambda service: service.resume(JobId(job_id))), as_json=as_json)


@jobs.subcommand()
@job_argument
def remove(options: Options, job_id: str) -> None:
    """Delete a job with its history; its sessions stay."""
    with_jobs(options, lambda service: service.remove(JobId(job_id)))
    note(f"Removed {job_id}.")


@jobs.subcommand(json=True)
@job_argument
@click.option("--limit", type=click.IntRange(1, 1000), default=50, help="At most so many.")
def history(options: Options, job_id: str, limit: int, as_json: bool) -> None:
    """Show what became of each planned moment of a job, the newest first."""
    print_list(
        with_jobs(options, lambda service: service.history(JobId(job_id), limit=limit)),
        "planned, outcome, turn, tokens, session, note",
        lambda view: (
            view.firing.planned,
            view.firing.outcome,
            view.status or "",
            view.tokens or "",
            view.firing.session_id or "",
            view.firing.note,
        ),
        as_json=as_json,
        nothing="Nothing was planned yet.",
    )


@jobs.subcommand("notices", json=True)
@click.option("--limit", type=click.IntRange(1, 1000), default=50, help="At most so many.")
def list_notices(options: Options, limit: int, as_json: bool) -> None:
    """Show what was told about jobs to the addresses in notices.urls, or is to be."""
    print_list(
        with_jobs(options, lambda service: service.notices(limit=limit)),
        "at, to, sent, what, error",
        lambda notice: (
            notice.created_at,
            notice.target,
            notice.sent_at or (f"next {moment(notice.next_at)}" if notice.next_at else "given up"),
            notice.title,
            notice.error,
        ),
        as_json=as_json,
        nothing="Nothing was told: notices.urls says where to, and a job's notify what.",
    )


@jobs.subcommand("import", json=True)
@click.argument("path", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def bring_in(options: Options, path: Path, as_json: bool) -> None:
    """Take jobs in from a file such as cron.json; those of the same id are changed."""
    text, name = path.read_text(encoding="utf-8"), path.name
    print_list(
        with_jobs(options, lambda service: service.bring_in(text, file=name)),
        "id, state, schedule",
        lambda view: (view.job.id, view.job.state, view.schedule.words),
        as_json=as_json,
    )


@jobs.subcommand()
def export(options: Options) -> None:
    """Print all jobs as JSON that can be imported."""
    click.echo(with_jobs(options, lambda service: service.export()), nl=False)


def _print(view: "JobView", *, as_json: bool) -> None:
    print_either(view, as_json, lambda found: click.echo(shown(_job_text(found))))


def _job_text(view: "JobView") -> str:
    job = view.job
    lines = [f"{job.id} ({job.state}): {job.name}", *_schedule_lines(view.schedule)]
    if job.note:
        lines.append(f"Note: {job.note}")
    lines.append(f"Prompt: {job.prompt}")
    if job.watch:
        lines.append(f"Watches: {job.watch}")
    if job.expect_every:
        lines.append(f"Expected every {timedelta(seconds=job.expect_every)}")
    if job.notify != ALERTS:
        lines.append(f"Tells of: {', '.join(job.notify) or 'nothing'}")
    if view.last is not None:
        lines.append(f"Last: {_told(view.last)}")
    return "\n".join(lines)


def _schedule_lines(view: "ScheduleView") -> list[str]:
    return [f"{view.words}.", *(f"  {_moment(each)}" for each in view.next_times)]


def _moment(at: datetime) -> str:
    return f"{at:%a %d %b %Y %H:%M} {at.strftime('%z')}"


def _outcome(view: "FiringView | None") -> str:
    return "" if view is None else f"{view.firing.outcome} {view.status or ''}".strip()


def _told(view: "FiringView") -> str:
    why = view.firing.note or view.answer
    where = f", session {view.firing.session_id}" if view.firing.session_id else ""
    return f"{_outcome(view)}{where}{f': {why}' if why else ''}"
