"""Capability cards: what a model at a server turned out to be able to do."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make room for cards."""
    op.create_table(
        "model_cards",
        sa.Column("endpoint", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("native_tools", sa.Boolean(), nullable=False),
        sa.Column("text_tools", sa.Boolean(), nullable=False),
        sa.Column("streaming", sa.Boolean(), nullable=False),
        sa.Column("streamed_calls", sa.Boolean(), nullable=False),
        sa.Column("usage", sa.Boolean(), nullable=False),
        sa.Column("context_window", sa.Integer(), nullable=True),
        sa.Column("cuts_silently", sa.Boolean(), nullable=False),
        sa.Column("checked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("endpoint", "model"),
    )


def downgrade() -> None:
    """Forget them."""
    op.drop_table("model_cards")
