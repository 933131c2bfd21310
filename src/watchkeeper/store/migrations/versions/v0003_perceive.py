"""Heat, pulls, their budgets and limits."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_file(op.get_bind(), revision)
