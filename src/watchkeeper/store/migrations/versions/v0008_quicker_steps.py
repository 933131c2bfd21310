"""What guards plans costs less where it has nothing to refuse."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_file(op.get_bind(), revision)
