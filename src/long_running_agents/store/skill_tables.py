"""The tables of skills, as the newest migration leaves them."""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
)

from long_running_agents.store.tables import Moment, metadata

skills = Table(
    "skills",
    metadata,
    Column("owner", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("enabled", Boolean, nullable=False),
    # The one in use; null while none was approved.
    Column("version", Integer),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("calls", Integer, nullable=False, server_default="0"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("failures_in_a_row", Integer, nullable=False, server_default="0"),
    Column("used_at", Moment),
    Column("note", Text, nullable=False, server_default=""),
)

skill_versions = Table(
    "skill_versions",
    metadata,
    Column("owner", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("source", Text, nullable=False),
    # What a version is beside its source, as JSON: interface, limits, examples, files, trial …
    Column("about", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("standing", String, nullable=False),
    Column("decided_by", String, nullable=False, server_default=""),
    Column("decided_at", Moment),
    # The call that proposed it. No foreign key: a skill outlives the session it came from.
    Column("turn_id", String),
    Column("call_id", String),
    ForeignKeyConstraint(["owner", "name"], ["skills.owner", "skills.name"], ondelete="CASCADE"),
    Index("skill_versions_by_call", "turn_id", "call_id"),
)

skill_problems = Table(
    "skill_problems",
    metadata,
    Column("owner", String, primary_key=True),
    Column("path", String, primary_key=True),
    Column("digest", String, nullable=False),
    Column("error", Text, nullable=False),
    Column("seen_at", Moment, nullable=False),
)
