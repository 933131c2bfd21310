"""An Idempotency-Key is written with the change that it stands for."""

from __future__ import annotations

from alembic import op

from watchkeeper.store.migrations import run_file

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_file(op.get_bind(), revision)
