"""What models were found to lack while they worked."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make room for it."""
    op.create_table(
        "model_lacks",
        sa.Column("endpoint", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("learned_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("endpoint", "model", "what"),
    )


def downgrade() -> None:
    """Forget it."""
    op.drop_table("model_lacks")
