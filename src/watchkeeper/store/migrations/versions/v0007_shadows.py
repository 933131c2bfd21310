"""What each version of the policy means, for ever; and shadow policies."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run_file(op.get_bind(), revision)
