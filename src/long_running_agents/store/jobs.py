"""Jobs and their firings: each planned moment of a job has one row."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, select, tuple_, update

from long_running_agents.domain.budget import Limits
from long_running_agents.domain.ids import TurnId, WorkId
from long_running_agents.domain.job import (
    Firing,
    FiringView,
    Job,
    JobId,
    JobState,
    Notice,
    NoticeKind,
)
from long_running_agents.domain.turn import TurnStatus
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.job_tables import firings, jobs, notices
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import turns

_job = row_reader(
    Job,
    limits=row_reader(Limits, tool_calls=lambda _: None),
    notify=lambda row: tuple(map(NoticeKind, row.notify.split())),
)
_firing = row_reader(Firing)
_ENDED = [status for status in TurnStatus if status.ended]
_SHOWN = 300


def save(tx: Transaction, job: Job) -> Job:
    """Store a job, new or changed; it comes back without the secrets that were in it."""
    shown = ("name", "prompt", "note", "watch")
    texts = {name: tx.redact(getattr(job, name)) for name in shown}
    job = replace(job, **texts)
    values = row_values(jobs, job, notify=" ".join(job.notify)) | row_values(jobs, job.limits)
    if (known := find(tx, job.owner, job.id)) is None:
        tx.execute(insert(jobs), values)
    else:
        if job.watch != known.watch:
            values["seen"] = None
        tx.execute(update(jobs).where(*_named(jobs, job.owner, job.id)).values(values))
    return job


def find(tx: Transaction, owner: str, job_id: JobId) -> Job | None:
    """A job, if it is there."""
    row = tx.execute(select(jobs).where(*_named(jobs, owner, job_id))).first()
    return None if row is None else _job(row)


def get(tx: Transaction, owner: str, job_id: JobId) -> Job:
    """A job that must be there."""
    if (found := find(tx, owner, job_id)) is None:
        raise NotFound(f"No job {job_id!r}.", hint="'lra jobs list' shows them.")
    return found


def of_owner(tx: Transaction, owner: str) -> list[Job]:
    """An owner's jobs, by id."""
    return [_job(row) for row in tx.execute(select(jobs).where(jobs.c.owner == owner))]


def remove(tx: Transaction, owner: str, job_id: JobId) -> None:
    """Delete a job with its firings."""
    tx.execute(delete(jobs).where(*_named(jobs, owner, job_id)))


_ACTIVE = jobs.c.state == JobState.ACTIVE


def due(tx: Transaction, now: datetime) -> list[Job]:
    """The jobs of all owners with a moment that has come, the earliest first."""
    query = select(jobs).where(_ACTIVE, jobs.c.next_at <= now).order_by(jobs.c.next_at)
    return [_job(row) for row in tx.execute(query)]


def earliest(tx: Transaction, without: Collection[tuple[str, JobId]] = ()) -> datetime | None:
    """The next moment of any job but some."""
    others = tuple_(jobs.c.owner, jobs.c.id).not_in(list(without))
    return tx.execute(select(func.min(jobs.c.next_at)).where(_ACTIVE, others)).scalar()


def silent(tx: Transaction, now: datetime) -> list[Job]:
    """The jobs of all owners that have done nothing for longer than expected."""
    query = select(jobs).where(_ACTIVE, jobs.c.silent_at <= now)
    return [_job(row) for row in tx.execute(query)]


def next_silence(tx: Transaction) -> datetime | None:
    """When the next job has done nothing for longer than expected."""
    return tx.execute(select(func.min(jobs.c.silent_at)).where(_ACTIVE)).scalar()


def at_startup(tx: Transaction) -> list[Job]:
    """The jobs of all owners that run when the program starts."""
    return [_job(row) for row in tx.execute(select(jobs).where(_ACTIVE, jobs.c.next_at.is_(None)))]


def seen(tx: Transaction, job: Job) -> str | None:
    """What a job's watch saw last; None before its first look."""
    return tx.execute(select(jobs.c.seen).where(*_named(jobs, job.owner, job.id))).scalar()


def see(tx: Transaction, job: Job, text: str) -> None:
    """Keep what a job's watch has seen."""
    tx.execute(update(jobs).where(*_named(jobs, job.owner, job.id)).values(seen=text))


def set_hook_secret(tx: Transaction, job: Job, secret: str) -> None:
    """Keep what the deliveries of a job's webhook are signed with."""
    tx.execute(update(jobs).where(*_named(jobs, job.owner, job.id)).values(hook_secret=secret))


def hook_secrets(tx: Transaction, job_id: JobId) -> dict[str, str]:
    """The secrets of all owners' jobs of an id that have one, by owner."""
    having = (jobs.c.id == job_id, jobs.c.hook_secret.is_not(None))
    return {row.owner: row.hook_secret for row in tx.execute(select(jobs).where(*having))}


def add_firing(tx: Transaction, firing: Firing) -> Firing:
    """Store what became of a planned moment."""
    firing = replace(firing, note=tx.redact(firing.note))
    tx.execute(insert(firings), row_values(firings, firing))
    return firing


_TURN = [
    turns.c.status.label("turn_status"),
    turns.c.answer,
    turns.c.error,
    (turns.c.input_tokens + turns.c.output_tokens).label("tokens"),
    turns.c.cost,
    turns.c.seconds,
]


def history(
    tx: Transaction, owner: str, job_id: JobId, *, limit: int, key: str | None = None
) -> list[FiringView]:
    """What became of a job's moments, the newest first; of one that a key names, that alone."""
    query = (
        select(firings, *_TURN)
        .outerjoin(turns, turns.c.id == firings.c.turn_id)
        .where(*_named(firings, owner, job_id))
        .order_by(firings.c.planned.desc())
        .limit(limit)
    )
    rows = tx.execute(query if key is None else query.where(firings.c.key == key))
    return [_view(row) for row in rows]


def _view(row: Any) -> FiringView:
    if row.turn_status is None:
        return FiringView(firing=_firing(row))
    return FiringView(
        firing=_firing(row),
        status=TurnStatus(row.turn_status),
        answer=(row.answer or row.error)[:_SHOWN],
        tokens=row.tokens,
        cost=None if row.cost is None else float(row.cost),
        seconds=row.seconds,
    )


def running(tx: Transaction, owner: str, job_id: JobId) -> bool:
    """Whether a run of a job has not ended."""
    query = (
        select(firings.c.turn_id)
        .join(turns, turns.c.id == firings.c.turn_id)
        .where(*_named(firings, owner, job_id), turns.c.status.not_in(_ENDED))
    )
    return tx.execute(query.limit(1)).first() is not None


def begins_at(tx: Transaction, turn_id: TurnId) -> datetime | None:
    """Before which the turn of a firing does not begin."""
    return tx.execute(select(firings.c.begins_at).where(firings.c.turn_id == turn_id)).scalar()


def last_answer(tx: Transaction, owner: str, job_id: JobId) -> tuple[datetime, str] | None:
    """When a job was last done, and what it answered."""
    query = (
        select(turns.c.ended_at, turns.c.answer)
        .join(firings, turns.c.id == firings.c.turn_id)
        .where(*_named(firings, owner, job_id), turns.c.status == TurnStatus.DONE)
        .order_by(firings.c.planned.desc())
        .limit(1)
    )
    row = tx.execute(query).first()
    return None if row is None else (row.ended_at, row.answer)


def of_turn(tx: Transaction, turn_id: TurnId, work_id: WorkId | None = None) -> Job | None:
    """The job whose run a turn is, or is a part of by its work."""
    query = select(jobs).join(
        firings, (firings.c.owner == jobs.c.owner) & (firings.c.job_id == jobs.c.id)
    )
    if work_id is None:
        query = query.where(firings.c.turn_id == turn_id)
    else:
        query = query.join(turns, turns.c.id == firings.c.turn_id).where(turns.c.work_id == work_id)
    row = tx.execute(query.limit(1)).first()
    return None if row is None else _job(row)


def _named(table: Any, owner: str, job_id: JobId) -> Sequence[ColumnElement[bool]]:
    name = table.c.id if table is jobs else table.c.job_id
    return (table.c.owner == owner, name == job_id)


_notice = row_reader(Notice)
_AT_ONCE = 100


def add_notice(tx: Transaction, notice: Notice) -> None:
    """Store a notice that is to be sent, unless its address has one of this key already."""
    texts = {"title": tx.redact(notice.title), "text": tx.redact(notice.text)}
    tx.execute(insert(notices).prefix_with("OR IGNORE"), row_values(notices, notice, **texts))


def save_notice(tx: Transaction, notice: Notice) -> None:
    """Store what came of an attempt to send a notice."""
    told = {name: getattr(notice, name) for name in ("attempts", "next_at", "sent_at")}
    tx.execute(
        update(notices)
        .where(
            notices.c.owner == notice.owner,
            notices.c.key == notice.key,
            notices.c.target == notice.target,
        )
        .values(told | {"error": tx.redact(notice.error)})
    )


def due_notices(tx: Transaction, now: datetime) -> Sequence[Notice]:
    """The notices whose time to be tried has come, the earliest first, up to a hundred."""
    query = select(notices).where(notices.c.next_at <= now).order_by(notices.c.next_at)
    return [_notice(row) for row in tx.execute(query.limit(_AT_ONCE))]


def earliest_notice(tx: Transaction) -> datetime | None:
    """When the next notice is to be tried."""
    return tx.execute(select(func.min(notices.c.next_at))).scalar()


def notices_of(tx: Transaction, owner: str, *, limit: int) -> Sequence[Notice]:
    """What was told about an owner's jobs, or is to be told, the newest first."""
    query = select(notices).where(notices.c.owner == owner).order_by(notices.c.created_at.desc())
    return [_notice(row) for row in tx.execute(query.limit(limit))]
