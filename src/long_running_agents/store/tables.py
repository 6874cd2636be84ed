"""The schema, as the newest migration leaves it."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    event,
)
from sqlalchemy.schema import SchemaItem
from typing_extensions import override

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NANO = Decimal(1_000_000_000)


def microseconds(moment: datetime) -> int:
    """A moment as the database keeps it."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(kept: int) -> datetime:
    """What the database keeps, as a moment."""
    return _EPOCH + timedelta(microseconds=kept)


def nanodollars(amount: Decimal) -> int:
    """Money as the database keeps it."""
    return round(amount * _NANO)


class Moment(TypeDecorator[datetime]):
    """A UTC moment, kept as microseconds since 1970: exact and the same on every database."""

    impl = BigInteger
    cache_ok = True

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """To the database."""
        return None if value is None else microseconds(value)

    @override
    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """From the database."""
        return None if value is None else moment(value)


class Dollars(TypeDecorator[Decimal]):
    """Money, kept as whole billionths of a dollar: sums stay exact."""

    impl = BigInteger
    cache_ok = True

    @override
    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        """To the database."""
        return None if value is None else nanodollars(value)

    @override
    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:
        """From the database."""
        return None if value is None else Decimal(value) / _NANO


metadata = MetaData()
HEAD = "0100"
"""The newest revision. A test holds it equal to what is in the folder of migrations."""


def table(name: str, *items: SchemaItem, **options: Any) -> Table:
    """A table of the schema."""
    return Table(name, metadata, *items, **options)


def required(kind: Any, *names: str, default: str | None = None) -> list[Column[Any]]:
    """Columns that every row has a value in."""
    return [Column(name, kind, nullable=False, server_default=default) for name in names]


def optional(kind: Any, *names: str) -> list[Column[Any]]:
    """Columns that may be null."""
    return [Column(name, kind) for name in names]


def keys(*names: str) -> list[Column[str]]:
    """Columns that name a row together."""
    return [Column(name, String, primary_key=True) for name in names]


def _reference(
    name: str, to: str, kind: Any = String, *, primary_key: bool = False, nullable: bool = False
) -> Column[Any]:
    """A column of rows that go with another one."""
    return Column(
        name,
        kind,
        ForeignKey(f"{to}.id", ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=nullable,
        autoincrement=False,
    )


session_column = partial(_reference, "session_id", "sessions")
_turn_column = partial(_reference, "turn_id", "turns")
memory_column = partial(_reference, "memory_id", "memories", Integer, primary_key=True)


sessions = table(
    "sessions",
    Column("id", String, primary_key=True),
    Column("title", Text, nullable=False),
    Column("mode", String, nullable=False),
    Column("model", String),
    *required(Moment, "created_at", "updated_at"),
    *optional(String, "forked_from", "forked_at"),
    Column("owner", String, nullable=False, server_default="me"),
    # Counters, so that the next number is found without looking through the log.
    *required(Integer, "last_turn", "last_message", "last_event", "last_task", default="0"),
    # The last message that the model is not shown any more, nor anything in its place; and the
    # last one for which a fold stands because a person wanted it so.
    *required(Integer, "cleared", "compacted", default="0"),
    Column("origin", String, nullable=False, server_default="own"),
    # The agent whose turns these are; null for the home's own.
    Column("agent", String),
    Index("sessions_by_update", "updated_at"),
    Index("sessions_by_owner", "owner", "updated_at"),
)

turns = table(
    "turns",
    Column("id", String, primary_key=True),
    session_column(),
    Column("number", Integer, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("origin", String, nullable=False),
    Column("attended", Boolean, nullable=False),
    Column("status", String, nullable=False),
    Column("model", String),
    *required(Text, "answer", "error", default=""),
    *required(Integer, "steps", "tool_calls", default="0"),
    *required(BigInteger, "input_tokens", "output_tokens", default="0"),
    Column("cost", Dollars, nullable=False, server_default="0"),
    Column("seconds", Float, nullable=False, server_default="0"),
    *required(Integer, "renewals", "attempts", default="0"),
    Column("created_at", Moment, nullable=False),
    Column("ended_at", Moment),
    Column("owner", String, nullable=False, server_default="me"),
    Column("mode", String, nullable=False, server_default="bounded"),
    # Tools that whoever asked runs itself, as JSON.
    Column("client_tools", Text),
    # For the turn that runs, at its next step; a turn that begins is no such message any more.
    Column("steer", Boolean, nullable=False, server_default="0"),
    # The work that it is a part of.
    Column("work_id", String),
    # The agent and its version; empty for the home's own.
    Column("agent", String, nullable=False, server_default=""),
    UniqueConstraint("session_id", "number"),
    Index("turns_by_status", "status", "session_id", "number"),
    Index("turns_by_work", "work_id"),
    Index("turns_by_agent", "owner", "agent", "created_at"),
)

pictures = table(
    "pictures",
    session_column(primary_key=True),
    # What it holds, in short: the same picture is kept once in a session.
    Column("id", String, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

messages = table(
    "messages",
    session_column(primary_key=True),
    Column("seq", Integer, primary_key=True),
    _turn_column(),
    Column("step", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("messages_by_turn", "turn_id"),
)

events = table(
    "events",
    session_column(primary_key=True),
    Column("seq", Integer, primary_key=True),
    _turn_column(nullable=True),
    Column("type", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Index("events_by_turn", "turn_id"),
    Index("events_by_time", "at"),
)

tool_calls = table(
    "tool_calls",
    _turn_column(primary_key=True),
    Column("call_id", String, primary_key=True),
    session_column(),
    *required(Integer, "step", "position"),
    Column("tool", String, nullable=False),
    Column("args", Text, nullable=False),
    *required(String, "effect", "state"),
    Column("result", Text),
    *optional(Moment, "started_at", "ended_at"),
    Index("tool_calls_by_session", "session_id", "state"),
)

approvals = table(
    "approvals",
    Column("id", String, primary_key=True),
    session_column(),
    _turn_column(),
    *required(String, "call_id", "tool"),
    *required(Text, "args", "question"),
    Column("state", String, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Column("asked_at", Moment, nullable=False),
    Column("answered_at", Moment),
    Column("offer", Text),
    Column("lasting", String, nullable=False, server_default="once"),
    Column("expires_at", Moment),
    UniqueConstraint("turn_id", "call_id"),
    Index("approvals_by_session", "session_id", "state"),
)

grants = table(
    "grants",
    Column("id", String, primary_key=True),
    Column("owner", String, nullable=False),
    session_column(nullable=True),
    Column("tool", String, nullable=False),
    Column("scope", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("used", Integer, nullable=False, server_default="0"),
    Column("revoked_at", Moment),
    Index("grants_by_owner", "owner"),
)

taints = table(
    "taints",
    _turn_column(primary_key=True),
    Column("call_id", String, primary_key=True),
    Column("source", Text, primary_key=True),
    session_column(),
    Column("at", Moment, nullable=False),
    Index("taints_by_session", "session_id"),
)

file_origins = table(
    "file_origins",
    Column("owner", String, primary_key=True),
    # Of the content: a copy is as foreign, and what a person has changed is theirs.
    Column("digest", String, primary_key=True),
    *required(Text, "path", "source"),
)

decisions = table(
    "decisions",
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("owner", String, nullable=False),
    # No foreign keys: that something was decided stays known when a session is deleted.
    *required(String, "session_id", "turn_id", "call_id", "tool"),
    Column("args", Text, nullable=False),
    Column("decision", String, nullable=False),
    Column("why", Text, nullable=False),
    Column("who", String, nullable=False),
    Index("decisions_by_session", "session_id"),
)

usage = table(
    "usage",
    Column("id", Integer, primary_key=True, autoincrement=True),
    # No foreign keys: what was spent stays spent when a session is deleted.
    *required(String, "session_id", "turn_id"),
    Column("step", Integer, nullable=False),
    Column("model", String, nullable=False),
    *required(BigInteger, "input_tokens", "output_tokens", "cache_read_tokens"),
    *required(BigInteger, "cache_write_tokens"),
    Column("cost", Dollars),
    Column("estimated", Boolean, nullable=False),
    Column("seconds", Float, nullable=False, server_default="0"),
    Column("at", Moment, nullable=False),
    Column("owner", String, nullable=False, server_default="me"),
    UniqueConstraint("turn_id", "step"),
    Index("usage_by_time", "at"),
    Index("usage_by_owner", "owner", "at"),
    Index("usage_by_session", "session_id"),
)

# What is reserved for requests under way, and what limits were raised by.
holds = table(
    "holds",
    *keys("id"),
    *required(String, "owner", "session_id", "model"),
    *required(BigInteger, "input_tokens", "output_tokens"),
    Column("input_cost", Dollars),
    Column("output_cost", Dollars, nullable=False),
    Column("at", Moment, nullable=False),
)

raises = table(
    "raises",
    *keys("owner", "scope", "key"),
    *required(BigInteger, "steps", "tokens", default="0"),
    Column("cost", Dollars, nullable=False, server_default="0"),
    Column("seconds", Float, nullable=False, server_default="0"),
)

tasks = table(
    "tasks",
    session_column(primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("status", String, nullable=False),
    Column("parent", Integer),
    Column("result", Text, nullable=False, server_default=""),
    # The call that made the task: the same call never makes it twice.
    Column("made_by", String),
    *required(Moment, "created_at", "updated_at"),
    # As JSON, these and the criterion.
    *required(Text, "depends_on", "notes", default="[]"),
    Column("scope", Text, nullable=False, server_default="{}"),
    Column("criterion", Text),
    Column("estimate", Integer),
    Column("work_id", String),
    Column("planned", Boolean, nullable=False, server_default="0"),
    UniqueConstraint("session_id", "made_by"),
)

works = table(
    "works",
    Column("id", String, primary_key=True),
    session_column(),
    Column("owner", String, nullable=False),
    *required(Text, "goal", "note"),
    *required(String, "phase", "policy", "progress"),
    Column("pause", String),
    Column("scope", Text, nullable=False),
    # What all its turns may use together.
    *optional(BigInteger, "steps", "tokens"),
    Column("cost", Dollars),
    Column("seconds", Float),
    Column("attended", Boolean, nullable=False),
    *required(Integer, "plan_version", "turns", "rounds", "nudges"),
    *required(Integer, "alerts", "alerted", "looked", "replan"),
    *required(Moment, "created_at", "updated_at"),
    Column("ended_at", Moment),
    Index("works_by_session", "session_id"),
    Index("works_by_owner", "owner", "updated_at"),
)

_work_column = partial(_reference, "work_id", "works", primary_key=True)

plans = table(
    "plans",
    _work_column(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    *required(String, "state", "by"),
    # The tasks, or the patch that is proposed, and the digests of what must not change: JSON.
    *required(Text, "tasks", "reason", "frozen"),
    Column("at", Moment, nullable=False),
)

evidence = table(
    "evidence",
    _work_column(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    *required(Integer, "task", "turn", "step"),
    *required(String, "kind", "state", "by"),
    Column("proof", Text, nullable=False),
    # What it was looked for: the same call never finds it twice.
    Column("cause", String, nullable=False),
    Column("at", Moment, nullable=False),
    UniqueConstraint("work_id", "task", "cause"),
)

agents = table(
    "agents",
    *keys("owner", "name"),
    Column("version", Integer, primary_key=True, autoincrement=False),
    *required(String, "stage", "digest", "origin"),
    # What it is, and what an import left out, as JSON.
    *required(Text, "body", "warnings"),
    # Grows with every change of an owner's agents: an index of them is known to be old.
    Column("revision", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("agents_by_stage", "owner", "stage", "name"),
    Index("agents_by_revision", "owner", "revision"),
)

agent_examples = table(
    "agent_examples",
    # What people said and for which agent it was: versions never change, and these are learned.
    *keys("owner", "agent", "text"),
    Column("at", Moment, nullable=False),
)

delegations = table(
    "delegations",
    # The delegate's turn; its id is made of the parent's turn, the call and the place.
    _turn_column(primary_key=True),
    _reference("parent_id", "turns"),
    Column("call_id", String, nullable=False),
    *required(Integer, "place", "depth", "parallel"),
    Column("background", Boolean, nullable=False),
    # What it did, as JSON; null until it has ended.
    Column("receipt", Text),
    Column("created_at", Moment, nullable=False),
    Column("ended_at", Moment),
    UniqueConstraint("parent_id", "call_id", "place"),
)

rules = table(
    "rules",
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("owner", String, nullable=False),
    # Null for a rule that holds in all of an owner's sessions.
    session_column(nullable=True),
    # No foreign key: an owner's rule outlives the session it was said in.
    Column("turn_id", String),
    Column("text", Text, nullable=False),
    *required(String, "scope", "state", "source"),
    Column("created_at", Moment, nullable=False),
    *optional(Moment, "pinned_at", "ended_at"),
    # What the gate enforces of it, as JSON.
    Column("enforced", Text, nullable=False, server_default="[]"),
    Index("rules_by_session", "session_id"),
    Index("rules_by_owner", "owner", "session_id"),
    # Never used twice: whoever lifts a number means the rule they have read.
    sqlite_autoincrement=True,
)

folds = table(
    "folds",
    session_column(primary_key=True),
    Column("first", Integer, primary_key=True),
    *required(Integer, "last", "tokens", "steps"),
    *required(Text, "text", "faults"),
    *required(String, "digest", "model"),
    Column("cost", Dollars),
    Column("created_at", Moment, nullable=False),
)

model_cards = table(
    "model_cards",
    *keys("endpoint", "model"),
    *required(Boolean, "native_tools", "text_tools", "streaming", "streamed_calls", "usage"),
    Column("context_window", Integer),
    Column("cuts_silently", Boolean, nullable=False),
    Column("checked_at", Moment, nullable=False),
)

model_lacks = table(
    "model_lacks",
    *keys("endpoint", "model", "what"),
    Column("learned_at", Moment, nullable=False),
)

tokens = table(
    "tokens",
    Column("id", String, primary_key=True),
    *required(String, "owner", "name"),
    # Of the token, which nobody but its bearer knows.
    Column("digest", String, nullable=False, unique=True),
    Column("scopes", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    *optional(Moment, "used_at", "expires_at", "revoked_at"),
)

requests = table(
    "requests",
    *keys("owner", "key"),
    # Of the request, so that a key is not used for another one.
    Column("digest", String, nullable=False),
    _turn_column(),
    Column("at", Moment, nullable=False),
    Index("requests_by_time", "at"),
)

conversations = table(
    "conversations",
    Column("owner", String, primary_key=True),
    # Of everything that was said so far, as a client tells it.
    Column("digest", String, primary_key=True),
    session_column(),
    _turn_column(),
    Column("at", Moment, nullable=False),
)

audit = table(
    "audit",
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    *required(String, "actor", "action", "subject"),
    Column("detail", Text, nullable=False, server_default=""),
)


skills = table(
    "skills",
    *keys("owner", "name"),
    Column("kind", String, nullable=False),
    Column("enabled", Boolean, nullable=False),
    # The one in use; null while none was approved.
    Column("version", Integer),
    *required(Moment, "created_at", "updated_at"),
    *required(Integer, "calls", "failures", "failures_in_a_row", default="0"),
    # The newest calls since it was enabled: an x for each that failed, a dot for each other.
    Column("recent", String, nullable=False, server_default=""),
    Column("used_at", Moment),
    Column("note", Text, nullable=False, server_default=""),
)

skill_versions = table(
    "skill_versions",
    *keys("owner", "name"),
    Column("number", Integer, primary_key=True),
    *required(String, "kind", "digest"),
    Column("source", Text, nullable=False),
    # What a version is beside its source, as JSON: interface, limits, examples, files, trial …
    *required(Text, "about", "description"),
    Column("created_at", Moment, nullable=False),
    Column("standing", String, nullable=False),
    Column("decided_by", String, nullable=False, server_default=""),
    Column("decided_at", Moment),
    # The call that proposed it. No foreign key: a skill outlives the session it came from.
    *optional(String, "turn_id", "call_id"),
    ForeignKeyConstraint(["owner", "name"], ["skills.owner", "skills.name"], ondelete="CASCADE"),
    Index("skill_versions_by_call", "turn_id", "call_id"),
)

skill_problems = table(
    "skill_problems",
    *keys("owner", "path"),
    Column("digest", String, nullable=False),
    Column("error", Text, nullable=False),
    Column("seen_at", Moment, nullable=False),
)


memories = table(
    "memories",
    # Never used twice: what was forgotten must not come back under its number as something else.
    Column("id", Integer, primary_key=True, autoincrement=True),
    *required(String, "owner", "kind", "scope", "trust", "actor", "source"),
    Column("content", Text, nullable=False),
    Column("digest", String, nullable=False),
    # No foreign keys: a memory outlives the session it was heard in.
    *optional(String, "agent", "session_id", "turn_id"),
    Column("previous_id", Integer),
    *required(Moment, "event_at", "recorded_at"),
    *optional(Moment, "valid_to", "expires_at"),
    Column("superseded_by", Integer),
    Column("seen", Integer, nullable=False, server_default="1"),
    Column("enabled", Boolean, nullable=False, server_default="1"),
    Index("memories_by_owner", "owner", "kind", "id"),
    Index("memories_by_digest", "owner", "digest"),
    Index("memories_by_session", "session_id", "id"),
    Index("memories_by_source", "owner", "source"),
    Index("memories_by_turn", "turn_id"),
    Index("memories_by_previous", "previous_id"),
    Index("memories_by_successor", "superseded_by"),
    sqlite_autoincrement=True,
)
# Few: whoever counts the current ones counts all, and takes these off.
_ENDED = memories.c.valid_to.is_not(None)
Index("memories_ended", memories.c.owner, memories.c.kind, sqlite_where=_ENDED)


memory_links = table(
    "memory_links",
    memory_column(),
    _reference("derived_from", "memories", Integer, primary_key=True),
    Index("memory_links_by_origin", "derived_from"),
)

memory_vectors = table(
    "memory_vectors",
    _reference("space", "memory_spaces", Integer, primary_key=True),
    memory_column(),
    # Half-precision floats, one after another.
    Column("vector", LargeBinary, nullable=False),
    Index("memory_vectors_by_memory", "memory_id"),
)

memory_spaces = table(
    "memory_spaces",
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String, nullable=False, unique=True),
    Column("dimensions", Integer, nullable=False),
)

memory_names = table(
    "memory_names",
    Column("code", Integer, primary_key=True, autoincrement=True),
    Column("name", String, nullable=False, unique=True),
)

memory_entries = table(
    "memory_entries",
    memory_column(),
    # What ranking needs of a memory, packed: see memory_entries.py.
    Column("entry", LargeBinary, nullable=False),
)

memory_changes = table(
    "memory_changes",
    Column("revision", Integer, primary_key=True, autoincrement=True),
    # No foreign key: a memory that is gone is a change too.
    Column("memory_id", Integer, nullable=False),
    sqlite_autoincrement=True,
)

memory_trash = table(
    "memory_trash",
    Column("batch", String, primary_key=True),
    Column("memory_id", Integer, primary_key=True, autoincrement=False),
    Column("owner", String, nullable=False),
    Column("body", Text, nullable=False),
    *required(Moment, "forgotten_at", "until"),
    Index("memory_trash_by_end", "until"),
)

memory_turns = table(
    "memory_turns",
    # Turns that are remembered already, so that one whose memory was forgotten is not read again.
    _turn_column(primary_key=True),
    # A turn that was retried has ended anew and is read anew.
    Column("ended_at", Moment, nullable=False),
)

# The full-text index (FTS5) is no table of SQLAlchemy's; its rows are the memories' numbers.
_MEMORY_WORDS = """CREATE VIRTUAL TABLE memory_words USING fts5(
  words, owner,
  tokenize = "porter unicode61 remove_diacritics 2",
  columnsize = 0
)"""
event.listen(metadata, "after_create", DDL(_MEMORY_WORDS))
