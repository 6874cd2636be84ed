"""Memory: what is remembered across sessions, its index, and whose sessions are whose."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_WORDS = """
CREATE VIRTUAL TABLE memory_words USING fts5(
  words, owner,
  tokenize = "porter unicode61 remove_diacritics 2",
  columnsize = 0
)
"""


def upgrade() -> None:
    """Make room for memories."""
    op.add_column("sessions", sa.Column("owner", sa.String(), nullable=False, server_default="me"))
    op.create_index("sessions_by_owner", "sessions", ["owner", "updated_at"])
    _create_memories()
    _create_index_tables()
    _create_bookkeeping()
    op.execute(_WORDS)


def _create_memories() -> None:
    op.create_table(
        "memories",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("trust", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("agent", sa.String()),
        sa.Column("session_id", sa.String()),
        sa.Column("turn_id", sa.String()),
        sa.Column("previous_id", sa.Integer()),
        sa.Column("event_at", sa.BigInteger(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("valid_to", sa.BigInteger()),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("superseded_by", sa.Integer()),
        sa.Column("seen", sa.Integer(), nullable=False, server_default="1"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("memories_by_owner", "memories", ["owner", "kind", "id"])
    op.create_index("memories_by_digest", "memories", ["owner", "digest"])
    op.create_index("memories_by_session", "memories", ["session_id", "id"])
    op.create_index("memories_by_source", "memories", ["owner", "source"])
    op.create_index("memories_by_turn", "memories", ["turn_id"])
    op.create_index("memories_by_previous", "memories", ["previous_id"])
    op.create_index("memories_by_successor", "memories", ["superseded_by"])


def _create_index_tables() -> None:
    op.create_table(
        "memory_links",
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.Column("derived_from", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["memory_id"], ["memories.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["derived_from"], ["memories.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("memory_id", "derived_from"),
    )
    op.create_index("memory_links_by_origin", "memory_links", ["derived_from"])
    op.create_table(
        "memory_spaces",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "memory_vectors",
        sa.Column("space", sa.Integer(), nullable=False),
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["space"], ["memory_spaces.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["memory_id"], ["memories.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("space", "memory_id"),
    )
    op.create_index("memory_vectors_by_memory", "memory_vectors", ["memory_id"])
    op.create_table(
        "memory_names",
        sa.Column("code", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("code"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "memory_entries",
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.Column("entry", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["memory_id"], ["memories.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("memory_id"),
    )


def _create_bookkeeping() -> None:
    op.create_table(
        "memory_changes",
        sa.Column("revision", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("revision"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "memory_trash",
        sa.Column("batch", sa.String(), nullable=False),
        sa.Column("memory_id", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("forgotten_at", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("batch", "memory_id"),
    )
    op.create_index("memory_trash_by_end", "memory_trash", ["until"])
    op.create_table(
        "memory_turns",
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn_id"),
    )


def downgrade() -> None:
    """Forget everything."""
    for table in (
        "memory_words",
        "memory_turns",
        "memory_trash",
        "memory_changes",
        "memory_entries",
        "memory_names",
        "memory_vectors",
        "memory_spaces",
        "memory_links",
        "memories",
    ):
        op.drop_table(table)
    op.drop_index("sessions_by_owner", "sessions")
    op.drop_column("sessions", "owner")
