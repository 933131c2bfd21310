"""The same signal id may come again: for another account, or after its key has expired."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run_file(op.get_bind(), revision)
