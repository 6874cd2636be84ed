"""The gate: grants, foreign words that were read, and every decision about a call."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make room for what the gate has to know."""
    op.add_column("approvals", sa.Column("offer", sa.Text()))
    op.add_column(
        "approvals", sa.Column("lasting", sa.String(), nullable=False, server_default="once")
    )
    op.add_column("approvals", sa.Column("expires_at", sa.BigInteger()))
    op.create_table(
        "grants",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("session_id", sa.String()),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("revoked_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("grants_by_owner", "grants", ["owner"])
    op.create_table(
        "taints",
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("call_id", sa.String(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn_id", "call_id", "source"),
    )
    op.create_index("taints_by_session", "taints", ["session_id"])
    op.create_table(
        "decisions",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("call_id", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("decision", sa.String(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("decisions_by_session", "decisions", ["session_id"])


def downgrade() -> None:
    """Forget it; questions that are open stay open."""
    for table in ("decisions", "taints", "grants"):
        op.drop_table(table)
    # The older program knows no questions that have expired.
    op.execute("UPDATE approvals SET state = 'withdrawn' WHERE state = 'expired'")
    for column in ("expires_at", "lasting", "offer"):
        op.drop_column("approvals", column)
