"""What was learned, how often its memory was shown, and up to which turn sessions were read."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, literal, select, union, update
from sqlalchemy.dialects.sqlite import insert

from long_running_agents.domain.ids import SessionId
from long_running_agents.domain.memory import Memory, MemoryId, MemoryKind
from long_running_agents.domain.reflection import Learned, LearnedState
from long_running_agents.domain.turn import Turn, TurnStatus
from long_running_agents.errors import NotFound
from long_running_agents.store.database import Transaction
from long_running_agents.store.job_tables import curations, learned, memory_uses, reflections
from long_running_agents.store.memories import memory_of
from long_running_agents.store.sql import row_reader, row_values
from long_running_agents.store.tables import memories, sessions, skills, turns, usage
from long_running_agents.store.turns import turn_of

_learned = row_reader(Learned)
_COUNTS = ("shown", "used", "harmed")
_LARGEST = 2**63


def _rows() -> Any:
    counts = [func.coalesce(memory_uses.c[name], 0).label(name) for name in _COUNTS]
    uses = memory_uses.c.memory_id == learned.c.memory_id
    return select(learned, *counts).outerjoin(memory_uses, uses)


def add(tx: Transaction, found: Learned) -> Learned:
    """Write down something that was learned, or was not; the database gives it its number."""
    found = _redacted(tx, found)
    values = row_values(learned, found)
    del values["number"]
    number = tx.execute(insert(learned).returning(learned.c.number), values).scalar_one()
    return replace(found, number=number)


def every(
    tx: Transaction, owner: str, *, state: LearnedState | None = None, limit: int = 100
) -> Sequence[Learned]:
    """What an owner's agent has learned, the newest first."""
    query = _rows().where(learned.c.owner == owner).order_by(learned.c.number.desc()).limit(limit)
    rows = tx.execute(query if state is None else query.where(learned.c.state == state))
    return [_learned(row) for row in rows]


def get(tx: Transaction, owner: str, number: int) -> Learned:
    """One thing that was learned.

    Raises:
        NotFound: There is none of this number.
    """
    query = _rows().where(learned.c.number == number, learned.c.owner == owner)
    row = tx.execute(query).first() if 0 < number < _LARGEST else None
    if row is None:
        raise NotFound(f"Nothing was learned as {number}.", hint="'lra learned' shows the numbers.")
    return _learned(row)


def change(tx: Transaction, found: Learned) -> Learned:
    """Write something that was learned anew, under its number."""
    found = _redacted(tx, found)
    values = row_values(learned, found)
    tx.execute(update(learned).where(learned.c.number == found.number).values(values))
    return found


def remove(tx: Transaction, found: Learned) -> None:
    """Delete something that was learned."""
    tx.execute(delete(learned).where(learned.c.number == found.number))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """A memory, how often it was shown, and what came of it."""

    memory: Memory
    shown: int = 0
    used: int = 0
    harmed: int = 0
    used_at: datetime | None = None


_use = row_reader(MemoryUse, memory=memory_of)


def count(tx: Transaction, use: MemoryUse, now: datetime) -> None:
    """Add to what is counted of a memory, unless it was forgotten meanwhile."""
    counted = {name: getattr(use, name) for name in _COUNTS}
    at = {"shown_at": now, **({"used_at": now} if use.used else {})}
    values = {
        name: literal(each, memory_uses.c[name].type) for name, each in (counted | at).items()
    }
    there = select(memories.c.id, *values.values()).where(memories.c.id == use.memory.id)
    more = {name: memory_uses.c[name] + each for name, each in counted.items()}
    tx.execute(
        insert(memory_uses)
        .from_select(["memory_id", *values], there)
        .on_conflict_do_update(index_elements=["memory_id"], set_=more | at)
    )


def keep(tx: Transaction, number: MemoryId) -> None:
    """Write down that a person wants a memory in use."""
    kept = insert(memory_uses).values(memory_id=number, kept=True)
    tx.execute(kept.on_conflict_do_update(index_elements=["memory_id"], set_={"kept": True}))


def in_use(tx: Transaction, owner: str, kinds: Collection[MemoryKind]) -> list[MemoryUse]:
    """The memories that the curator may put aside, the oldest first.

    Not those that somebody has woken after they were put aside.
    """
    counts = [func.coalesce(memory_uses.c[name], 0).label(name) for name in _COUNTS]
    rested = select(learned.c.memory_id).where(
        learned.c.owner == owner, learned.c.state == LearnedState.RESTING
    )
    query = (
        select(memories, *counts, memory_uses.c.used_at)
        .outerjoin(memory_uses, memory_uses.c.memory_id == memories.c.id)
        .where(memories.c.owner == owner, memories.c.kind.in_(kinds))
        .where(memories.c.valid_to.is_(None), memories.c.enabled)
        .where(memory_uses.c.kept.is_not(True), memories.c.id.not_in(rested.where(_KNOWN)))
    )
    return [_use(row) for row in tx.execute(query.order_by(memories.c.id))]


_KNOWN = learned.c.memory_id.is_not(None)


def curated(tx: Transaction, owner: str, now: datetime) -> None:
    """Write down that an owner's memories and skills were looked through."""
    done = insert(curations).values(owner=owner, at=now)
    tx.execute(done.on_conflict_do_update(index_elements=["owner"], set_={"at": now}))


def uncurated(tx: Transaction, since: datetime) -> tuple[list[str], datetime | None]:
    """The owners whose things were not looked through since then, and when the next one's were."""
    lately = curations.c.at > since
    every_owner = union(select(memories.c.owner), select(skills.c.owner)).subquery()
    done = select(curations.c.owner).where(lately)
    waiting = select(every_owner.c.owner).where(every_owner.c.owner.not_in(done))
    earliest = select(func.min(curations.c.at)).where(lately)
    return list(tx.execute(waiting).scalars()), tx.execute(earliest).scalar()


def _redacted(tx: Transaction, found: Learned) -> Learned:
    texts = {name: tx.redact(getattr(found, name)) for name in ("text", "quote", "reason")}
    return replace(found, **texts)


_ENDED = [status for status in TurnStatus if status.ended]
_READ = func.coalesce(reflections.c.number, 0)
_ended_at = func.max(turns.c.ended_at)
_UNREAD = (
    select(sessions.c.id, _ended_at.label("ended"))
    .outerjoin(reflections, reflections.c.session_id == sessions.c.id)
    .join(turns, turns.c.session_id == sessions.c.id)
    # By the counter: the turns of sessions that were read are not even looked at.
    .where(sessions.c.last_turn > _READ)
    .group_by(sessions.c.id)
    .having(func.count() == func.sum(turns.c.status.in_(_ENDED)))
    .having(func.max(turns.c.number) > _READ)
)
CHORE = "reflect"
"""How the ids begin that its requests have in the usage."""


def unread(
    tx: Transaction,
    *,
    until: datetime,
    after: datetime | None = None,
    owner: str | None = None,
    limit: int | None = None,
) -> list[SessionId]:
    """The sessions with turns to be read whose last one ended until a moment, the oldest first."""
    query = _UNREAD.having(_ended_at <= until).order_by(_ended_at).limit(limit)
    if after is not None:
        query = query.having(_ended_at > after)
    if owner is not None:
        query = query.where(sessions.c.owner == owner)
    return [SessionId(row.id) for row in tx.execute(query)]


def earliest(tx: Transaction, after: datetime) -> datetime | None:
    """When the first session came to rest, of those with turns to be read that did so later."""
    row = tx.execute(_UNREAD.having(_ended_at > after).order_by(_ended_at).limit(1)).first()
    return None if row is None else row.ended


def cursor(tx: Transaction, session_id: SessionId) -> int:
    """The number of the last turn that was read; 0 for none."""
    query = select(reflections.c.number).where(reflections.c.session_id == session_id)
    return tx.execute(query).scalar() or 0


def move(tx: Transaction, session_id: SessionId, number: int, now: datetime) -> None:
    """Note that the turns up to a number were read."""
    values = {"number": number, "at": now}
    read = insert(reflections).values(session_id=session_id, **values)
    tx.execute(read.on_conflict_do_update(index_elements=["session_id"], set_=values))


def after_cursor(tx: Transaction, session_id: SessionId, limit: int) -> list[Turn]:
    """The next turns to be read, in order, up to the first that has not ended."""
    query = (
        select(turns)
        .where(turns.c.session_id == session_id, turns.c.number > cursor(tx, session_id))
        .order_by(turns.c.number)
        .limit(limit)
    )
    found: list[Turn] = []
    for turn in map(turn_of, tx.execute(query)):
        if not turn.status.ended:
            break
        found.append(turn)
    return found


def tokens_since(tx: Transaction, owner: str, since: datetime | None) -> int:
    """What an owner's reflections have used since a moment."""
    query = select(func.sum(usage.c.input_tokens + usage.c.output_tokens)).where(
        usage.c.owner == owner, usage.c.turn_id.startswith(f"{CHORE}_", autoescape=True)
    )
    return tx.execute(query if since is None else query.where(usage.c.at >= since)).scalar() or 0
