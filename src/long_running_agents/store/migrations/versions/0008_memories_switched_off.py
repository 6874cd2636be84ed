"""Memories can be switched off without being forgotten."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Let every memory be in use."""
    op.add_column(
        "memories", sa.Column("enabled", sa.Boolean(), nullable=False, server_default="1")
    )


def downgrade() -> None:
    """Use all memories again."""
    op.drop_column("memories", "enabled")
