"""The first schema."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_file(op.get_bind(), revision)
