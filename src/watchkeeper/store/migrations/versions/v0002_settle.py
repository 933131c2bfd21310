"""Turns, quota, and where events go."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_file(op.get_bind(), revision)
