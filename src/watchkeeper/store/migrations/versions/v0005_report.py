"""Reports, their milestones, and what they are counted from."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_file(op.get_bind(), revision)
