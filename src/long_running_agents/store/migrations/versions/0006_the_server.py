"""The server: whose each turn and each request is, tokens, keys of requests, conversations."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_OWNER = "COALESCE((SELECT owner FROM sessions WHERE sessions.id = session_id), 'me')"


def upgrade() -> None:
    """Give turns and usage their owner, and make room for what clients bring along."""
    for table in ("turns", "usage"):
        op.add_column(table, sa.Column("owner", sa.String(), nullable=False, server_default="me"))
        op.execute(f"UPDATE {table} SET owner = {_OWNER}")
    op.add_column("turns", sa.Column("mode", sa.String(), nullable=False, server_default="bounded"))
    op.add_column("turns", sa.Column("client_tools", sa.Text()))
    op.add_column(
        "sessions", sa.Column("cleared", sa.Integer(), nullable=False, server_default="0")
    )
    op.create_index("usage_by_owner", "usage", ["owner", "at"])
    op.create_index("events_by_time", "events", ["at"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("revoked_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "requests",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("owner", "key"),
    )
    op.create_index("requests_by_time", "requests", ["at"])
    op.create_table(
        "conversations",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("owner", "digest"),
    )


def downgrade() -> None:
    """Forget it; turns that wait for a client's tools can only be stopped."""
    for table in ("conversations", "requests", "tokens"):
        op.drop_table(table)
    op.drop_index("events_by_time", "events")
    op.drop_index("usage_by_owner", "usage")
    op.drop_column("sessions", "cleared")
    for column in ("client_tools", "mode", "owner"):
        op.drop_column("turns", column)
    op.drop_column("usage", "owner")
