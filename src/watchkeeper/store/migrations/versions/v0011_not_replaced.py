"""Rows that are final refuse to be replaced, on SQLite."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run_file(op.get_bind(), revision)
