"""The schema of jobs, notices and what is learned; the other tables are in `tables.py`."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Text,
)

from long_running_agents.store.tables import (
    Dollars,
    Moment,
    keys,
    memory_column,
    metadata,
    optional,
    required,
    session_column,
    table,
)

jobs = table(
    "jobs",
    *keys("owner", "id"),
    *required(Text, "name", "schedule", "prompt", "watch", "note"),
    *required(String, "zone", "state", "agent", "session_mode", "missed", "overlap"),
    # What is told of it, with spaces between.
    *required(String, "notify", "created_by"),
    Column("session_id", String),
    *optional(Float, "max_age", "expect_every", "seconds"),
    Column("jitter", Float, nullable=False),
    # What one run may use, with the seconds above.
    *optional(BigInteger, "steps", "tokens"),
    Column("cost", Dollars),
    Column("deep_work", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    *required(Moment, "anchor", "cursor", "created_at", "updated_at"),
    Column("next_at", Moment),
    # What a watch saw last.
    *required(Text, "seen", default=""),
    Index("jobs_by_next", "next_at"),
)

firings = table(
    "firings",
    # The key is the moment, or who asked: the same is never fired twice.
    *keys("owner", "job_id", "key"),
    Column("planned", Moment, nullable=False),
    Column("outcome", String, nullable=False),
    # No foreign keys: that something was planned stays known when a session is deleted.
    *optional(String, "turn_id", "session_id"),
    Column("seen_at", Moment, nullable=False),
    Column("note", Text, nullable=False),
    ForeignKeyConstraint(["owner", "job_id"], ["jobs.owner", "jobs.id"], ondelete="CASCADE"),
    Index("firings_by_time", "owner", "job_id", "planned"),
    Index("firings_by_turn", "turn_id"),
)

# What is to be told to somebody outside, each once.
notices = table(
    "notices",
    *keys("owner", "key", "target"),
    *required(String, "kind", "job_id"),
    *required(Text, "title", "text", "error"),
    Column("attempts", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    # When it is tried next; null once it is sent or given up.
    *optional(Moment, "next_at", "sent_at"),
    Index("notices_by_next", "next_at"),
)

# Up to which turn of a session was reflected on.
reflections = table(
    "reflections",
    session_column(primary_key=True),
    Column("number", Integer, nullable=False),
    Column("at", Moment, nullable=False),
)

learned = table(
    "learned",
    Column("number", Integer, primary_key=True, autoincrement=True),
    *required(String, "owner", "kind", "state"),
    *required(Text, "text", "quote", "reason"),
    # No foreign keys: what was learned outlives the session it came from.
    *optional(String, "session_id", "turn_id"),
    # Forgotten with its memory.
    memory_column(primary_key=False, nullable=True),
    Column("at", Moment, nullable=False),
    Index("learned_by_owner", "owner", "number"),
    Index("learned_by_memory", "memory_id"),
    sqlite_autoincrement=True,
)

# How often a memory was recalled, and what came of it.
memory_uses = table(
    "memory_uses",
    memory_column(),
    *required(Integer, "shown", "used", "harmed", default="0"),
    *optional(Moment, "shown_at", "used_at"),
    # Whether a person took it back from rest: it is not put aside again.
    Column("kept", Boolean, nullable=False, server_default="0"),
)

# When an owner's memories and skills were last looked through.
curations = table("curations", *keys("owner"), Column("at", Moment, nullable=False))

SCHEMA = metadata
"""All tables, those of `tables.py` too."""
