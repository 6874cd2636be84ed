"""Skills, their versions, and files among them that cannot be skills."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make room for skills."""
    op.create_table(
        "skills",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("failures", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("failures_in_a_row", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("used_at", sa.BigInteger()),
        sa.Column("note", sa.Text(), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("owner", "name"),
    )
    op.create_table(
        "skill_versions",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("standing", sa.String(), nullable=False),
        sa.Column("decided_by", sa.String(), nullable=False, server_default=""),
        sa.Column("decided_at", sa.BigInteger()),
        sa.Column("turn_id", sa.String()),
        sa.Column("call_id", sa.String()),
        sa.ForeignKeyConstraint(
            ["owner", "name"], ["skills.owner", "skills.name"], ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("owner", "name", "number"),
    )
    op.create_index("skill_versions_by_call", "skill_versions", ["turn_id", "call_id"])
    op.create_table(
        "skill_problems",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "path"),
    )


def downgrade() -> None:
    """Forget all skills."""
    for table in ("skill_problems", "skill_versions", "skills"):
        op.drop_table(table)
