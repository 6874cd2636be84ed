"""The schema of what is remembered, as the newest migration leaves it.

``memories`` and ``memory_links`` are the truth, ``memory_vectors`` what it costs to compute.
``memory_entries`` and the full-text table ``memory_words`` are made from them alone, in the same
transaction, and can be made again.
"""

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from long_running_agents.store.tables import Moment, metadata

memories = Table(
    "memories",
    metadata,
    # Never used twice: what was forgotten must not come back under its number as something else.
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("owner", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("trust", String, nullable=False),
    Column("actor", String, nullable=False),
    Column("source", String, nullable=False),
    Column("content", Text, nullable=False),
    Column("digest", String, nullable=False),
    # No foreign keys: a memory outlives the session it was heard in.
    Column("agent", String),
    Column("session_id", String),
    Column("turn_id", String),
    Column("previous_id", Integer),
    Column("event_at", Moment, nullable=False),
    Column("recorded_at", Moment, nullable=False),
    Column("valid_to", Moment),
    Column("expires_at", Moment),
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


def _memory_column(name: str = "memory_id", *, primary_key: bool = True) -> Column[int]:
    return Column(
        name,
        Integer,
        ForeignKey("memories.id", ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=False,
        autoincrement=False,
    )


memory_links = Table(
    "memory_links",
    metadata,
    _memory_column(),
    _memory_column("derived_from"),
    Index("memory_links_by_origin", "derived_from"),
)

memory_vectors = Table(
    "memory_vectors",
    metadata,
    Column("space", Integer, ForeignKey("memory_spaces.id", ondelete="CASCADE"), primary_key=True),
    _memory_column(),
    # Half-precision floats, one after another.
    Column("vector", LargeBinary, nullable=False),
    Index("memory_vectors_by_memory", "memory_id"),
)

memory_spaces = Table(
    "memory_spaces",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String, nullable=False, unique=True),
    Column("dimensions", Integer, nullable=False),
)

memory_names = Table(
    "memory_names",
    metadata,
    Column("code", Integer, primary_key=True, autoincrement=True),
    Column("name", String, nullable=False, unique=True),
)

memory_entries = Table(
    "memory_entries",
    metadata,
    _memory_column(),
    # What ranking needs of a memory, packed: see memory_entries.py.
    Column("entry", LargeBinary, nullable=False),
)

memory_changes = Table(
    "memory_changes",
    metadata,
    Column("revision", Integer, primary_key=True, autoincrement=True),
    # No foreign key: a memory that is gone is a change too.
    Column("memory_id", Integer, nullable=False),
    sqlite_autoincrement=True,
)

memory_trash = Table(
    "memory_trash",
    metadata,
    Column("batch", String, primary_key=True),
    Column("memory_id", Integer, primary_key=True, autoincrement=False),
    Column("owner", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("forgotten_at", Moment, nullable=False),
    Column("until", Moment, nullable=False),
    Index("memory_trash_by_end", "until"),
)

memory_turns = Table(
    "memory_turns",
    metadata,
    # Turns that are remembered already, so that one whose memory was forgotten is not read again.
    Column("turn_id", String, ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    # A turn that was retried has ended anew and is read anew.
    Column("ended_at", Moment, nullable=False),
)
