"""The schema of jobs and their firings; the other tables are in `tables.py`."""

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
    metadata,
    optional,
    required,
    table,
)

jobs = table(
    "jobs",
    *keys("owner", "id"),
    *required(Text, "name", "schedule", "prompt", "note"),
    *required(String, "zone", "state", "agent", "session_mode", "missed", "overlap"),
    Column("created_by", String, nullable=False),
    Column("session_id", String),
    *optional(Float, "max_age", "seconds"),
    Column("jitter", Float, nullable=False),
    # What one run may use, with the seconds above.
    *optional(BigInteger, "steps", "tokens"),
    Column("cost", Dollars),
    Column("deep_work", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    *required(Moment, "anchor", "cursor", "created_at", "updated_at"),
    Column("next_at", Moment),
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

SCHEMA = metadata
"""All tables, those of `tables.py` too."""
